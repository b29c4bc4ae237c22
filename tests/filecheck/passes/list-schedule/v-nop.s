; v_nop does nothing: work may cross it, and the proof sees that.
; RUN: asmevo opt %s --passes "list-schedule" --verify smt | filecheck %s
; CHECK-LABEL: vector_nop:
; CHECK: global_load_dword v1, v0, s[2:3]
; CHECK: v_mul_f32_e32 v6, v7, v7
; CHECK: s_waitcnt vmcnt(0)
; CHECK: v_add_f32_e32 v2, v1, v1
vector_nop:
  global_load_dword v1, v0, s[2:3]
  s_waitcnt vmcnt(0)
  v_add_f32_e32 v2, v1, v1
  v_nop
  v_mul_f32_e32 v4, v5, v5
  v_mul_f32_e32 v6, v7, v7
  s_endpgm
