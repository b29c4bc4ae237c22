; Between s_set_gpr_idx_on and off operands do not name what is touched: nothing there moves. Before and behind it all may.
; RUN: asmevo opt %s --passes "list-schedule" --verify static --stats 2>&1 | filecheck %s
; CHECK-LABEL: index:
; CHECK: global_load_dword v1, v0, s[2:3]
; CHECK-NEXT: v_mul_f32_e32 v4, v5, v5
; CHECK-NEXT: s_waitcnt vmcnt(0)
; CHECK-NEXT: v_add_f32_e32 v2, v1, v1
; CHECK-NEXT: s_set_gpr_idx_on s8
; CHECK-NEXT: global_load_dword v11, v0, s[2:3]
; CHECK-NEXT: s_waitcnt vmcnt(0)
; CHECK-NEXT: v_add_f32_e32 v12, v11, v11
; CHECK-NEXT: v_mul_f32_e32 v14, v15, v15
; CHECK-NEXT: s_set_gpr_idx_off
; CHECK: list-schedule: {'regions': 1, 'regions scheduled': 1}
index:
  global_load_dword v1, v0, s[2:3]
  s_waitcnt vmcnt(0)
  v_add_f32_e32 v2, v1, v1
  v_mul_f32_e32 v4, v5, v5
  s_set_gpr_idx_on s8, gpr_idx(SRC0)
  global_load_dword v11, v0, s[2:3]
  s_waitcnt vmcnt(0)
  v_add_f32_e32 v12, v11, v11
  v_mul_f32_e32 v14, v15, v15
  s_set_gpr_idx_off
  s_endpgm
