; s_setprio and s_setreg stand where the author put them: each side of them is its own region.
; RUN: asmevo opt %s --passes "list-schedule" --verify static | filecheck %s
; CHECK-LABEL: setprio:
; CHECK-NEXT: global_load_dword v1, v0, s[2:3]
; CHECK-NEXT: s_setprio 1
; CHECK: s_setprio 0
; CHECK: s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 3
; CHECK-NEXT: v_rcp_f32_e32 v8, v9
setprio:
  global_load_dword v1, v0, s[2:3]
  s_setprio 1
  s_waitcnt vmcnt(0)
  v_add_f32_e32 v2, v1, v1
  v_mul_f32_e32 v4, v5, v5
  s_setprio 0
  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 3
  v_rcp_f32_e32 v8, v9
  s_endpgm
