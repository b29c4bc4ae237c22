; The copy was the wait state between a transcendental and who reads it: a nop takes its place.
; RUN: asmevo opt %s --passes "copy-elim" --verify smt | filecheck %s
; CHECK-LABEL: states:
; CHECK-NEXT: v_rcp_f32_e32 v1, v2
; CHECK-NEXT: s_nop 0
; CHECK-NEXT: v_mul_f32_e32 v3, v1, v4
states:
  v_rcp_f32_e32 v1, v2
  v_mov_b32_e32 v9, v4
  v_mul_f32_e32 v3, v1, v9
  global_store_dword v0, v3, s[2:3]
  s_endpgm
