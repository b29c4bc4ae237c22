; VALU writes VCC, v_div_fmas reads it as a mask: four wait states, so five slots are one too many.
; RUN: asmevo opt %s --passes "nop-trim" --verify static | filecheck %s
; CHECK-LABEL: basic:
; CHECK-NEXT: v_cmp_lt_f32_e32 vcc, v0, v1
; CHECK-NEXT: s_nop 3
; CHECK-NEXT: v_div_fmas_f32 v2, v3, v4, v5
; CHECK-NEXT: s_endpgm
basic:
  v_cmp_lt_f32_e32 vcc, v0, v1
  s_nop 4
  v_div_fmas_f32 v2, v3, v4, v5
  s_endpgm
