; The time that a transcendental takes itself is no wait state for who reads its result; another instruction between is one.
; RUN: asmevo opt %s --passes "nop-trim{physical=true}" --verify static | filecheck %s
; CHECK-LABEL: trans:
; CHECK-NEXT: v_rcp_f32_e32 v1, v2
; CHECK-NEXT: s_nop 0
; CHECK-NEXT: v_mul_f32_e32 v3, v1, v4
; CHECK-NEXT: v_exp_f32_e32 v5, v2
; CHECK-NEXT: v_add_f32_e32 v6, v2, v4
; CHECK-NEXT: v_mul_f32_e32 v7, v5, v4
trans:
  v_rcp_f32_e32 v1, v2
  s_nop 3
  v_mul_f32_e32 v3, v1, v4
  v_exp_f32_e32 v5, v2
  v_add_f32_e32 v6, v2, v4
  s_nop 0
  v_mul_f32_e32 v7, v5, v4
  global_store_dwordx4 v0, v[4:7], s[2:3]
  s_endpgm
