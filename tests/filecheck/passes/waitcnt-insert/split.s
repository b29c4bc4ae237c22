; One wait for both loads becomes one before each first use, as weak as that use allows.
; RUN: asmevo opt %s --passes "waitcnt-insert" --verify static | filecheck %s
; CHECK-LABEL: split:
; CHECK-NEXT: global_load_dword v2, v1, s[2:3]
; CHECK-NEXT: global_load_dword v3, v1, s[2:3] offset:4
; CHECK-NEXT: v_mul_f32_e32 v4, v1, v1
; CHECK-NEXT: s_waitcnt vmcnt(1)
; CHECK-NEXT: v_add_f32_e32 v4, v2, v4
; CHECK-NEXT: s_waitcnt vmcnt(0)
; CHECK-NEXT: v_add_f32_e32 v4, v3, v4
split:
  global_load_dword v2, v1, s[2:3]
  global_load_dword v3, v1, s[2:3] offset:4
  s_waitcnt vmcnt(0)
  v_mul_f32_e32 v4, v1, v1
  v_add_f32_e32 v4, v2, v4
  v_add_f32_e32 v4, v3, v4
  global_store_dword v1, v4, s[4:5]
  s_endpgm
