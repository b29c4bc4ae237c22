; A chain of dependences has one order only: nothing to schedule, and nothing to remark.
; RUN: asmevo opt %s --passes "list-schedule" --stats 2>&1 | filecheck %s
; CHECK-LABEL: chain:
; CHECK-NEXT: global_load_dword v1, v0, s[2:3]
; CHECK-NEXT: s_waitcnt vmcnt(0)
; CHECK-NEXT: v_add_f32_e32 v1, v1, v1
; CHECK-NEXT: v_mul_f32_e32 v1, v1, v1
; CHECK-NEXT: s_endpgm
; CHECK: list-schedule: {}
chain:
  global_load_dword v1, v0, s[2:3]
  s_waitcnt vmcnt(0)
  v_add_f32_e32 v1, v1, v1
  v_mul_f32_e32 v1, v1, v1
  s_endpgm
