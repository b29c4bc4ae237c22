; As basic.s with the nop that is needed: nothing changes.
; RUN: asmevo opt %s --passes "nop-trim" --stats 2>&1 | filecheck %s
; CHECK-LABEL: not_applied:
; CHECK-NEXT: v_cmp_lt_f32_e32 vcc, v0, v1
; CHECK-NEXT: s_nop 3
; CHECK-NEXT: v_div_fmas_f32 v2, v3, v4, v5
; CHECK-NEXT: s_endpgm
; CHECK: nop-trim: {}
not_applied:
  v_cmp_lt_f32_e32 vcc, v0, v1
  s_nop 3
  v_div_fmas_f32 v2, v3, v4, v5
  s_endpgm
