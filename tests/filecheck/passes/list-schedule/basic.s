; Work that does not need the load moves between the load and its use, and the wait moves with the use.
; RUN: asmevo opt %s --passes "list-schedule" --verify static --stats 2>&1 | filecheck %s
; CHECK-LABEL: basic:
; CHECK-NEXT: global_load_dword v1, v0, s[2:3]
; CHECK-NEXT: v_mul_f32_e32 v4, v5, v5
; CHECK-NEXT: v_mul_f32_e32 v6, v7, v7
; CHECK-NEXT: s_waitcnt vmcnt(0)
; CHECK-NEXT: v_add_f32_e32 v2, v1, v1
; CHECK-NEXT: s_endpgm
; CHECK: list-schedule: {'regions': 1, 'regions scheduled': 1}
basic:
  global_load_dword v1, v0, s[2:3]
  s_waitcnt vmcnt(0)
  v_add_f32_e32 v2, v1, v1
  v_mul_f32_e32 v4, v5, v5
  v_mul_f32_e32 v6, v7, v7
  s_endpgm
