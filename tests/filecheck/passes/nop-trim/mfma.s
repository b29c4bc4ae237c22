; The result of a matrix instruction of four passes may be read by VALU after seven wait states; the nop after that is for nothing.
; RUN: asmevo opt %s --passes "nop-trim" --verify static | filecheck %s
; CHECK-LABEL: mfma:
; CHECK-NEXT: v_mfma_f32_16x16x16_f16 v[0:3], v[8:9], v[10:11], v[0:3]
; CHECK-NEXT: s_nop 6
; CHECK-NEXT: v_add_f32_e32 v4, v0, v1
; CHECK-NEXT: v_mov_b32_e32 v5, v6
; CHECK-NEXT: s_endpgm
mfma:
  v_mfma_f32_16x16x16_f16 v[0:3], v[8:9], v[10:11], v[0:3]
  s_nop 15
  v_add_f32_e32 v4, v0, v1
  s_nop 3
  v_mov_b32_e32 v5, v6
  s_endpgm
