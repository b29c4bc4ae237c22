; As basic.s with the work where it belongs: no order is faster, and the input is printed as it was.
; RUN: asmevo opt %s --passes "list-schedule" --remarks 2>&1 | filecheck %s
; CHECK-LABEL: not_applied:
; CHECK-NEXT: global_load_dword v1, v0, s[2:3]
; CHECK-NEXT: v_mul_f32_e32 v4, v5, v5
; CHECK-NEXT: v_mul_f32_e32 v6, v7, v7
; CHECK-NEXT: s_waitcnt vmcnt(0)
; CHECK-NEXT: v_add_f32_e32 v2, v1, v1
; CHECK-NEXT: s_endpgm
; CHECK: missed [list-schedule] not_applied[0:5]: no order is faster by the model's inner loop
not_applied:
  global_load_dword v1, v0, s[2:3]
  v_mul_f32_e32 v4, v5, v5
  v_mul_f32_e32 v6, v7, v7
  s_waitcnt vmcnt(0)
  v_add_f32_e32 v2, v1, v1
  s_endpgm
