; The result of a matrix instruction is read after its wait states: independent work takes the place of the nop, and a nop makes up
; what is missing.
; RUN: asmevo opt %s --passes "list-schedule" --verify static | filecheck %s
; CHECK-LABEL: mfma:
; CHECK-NEXT: v_mfma_f32_16x16x16_f16 v[0:3], v[8:9], v[10:11], v[0:3]
; CHECK-NEXT: v_mul_f32_e32 v4, v5, v5
; CHECK-NEXT: v_mul_f32_e32 v6, v7, v7
; CHECK-NEXT: s_nop 4
; CHECK-NEXT: v_add_f32_e32 v12, v0, v1
; CHECK-NEXT: s_endpgm
mfma:
  v_mfma_f32_16x16x16_f16 v[0:3], v[8:9], v[10:11], v[0:3]
  s_nop 6
  v_add_f32_e32 v12, v0, v1
  v_mul_f32_e32 v4, v5, v5
  v_mul_f32_e32 v6, v7, v7
  s_endpgm
