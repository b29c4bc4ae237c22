; Vector loads return in order: the first of three needs vmcnt(2). The second wait of each pair has nothing left to do.
; RUN: asmevo opt %s --passes "waitcnt-relax" --verify static | filecheck %s
; CHECK-LABEL: in_order:
; CHECK-NEXT: global_load_dword v1, v0, s[2:3]
; CHECK-NEXT: global_load_dword v2, v0, s[2:3] offset:4
; CHECK-NEXT: global_load_dword v3, v0, s[2:3] offset:8
; CHECK-NEXT: s_waitcnt vmcnt(2)
; CHECK-NEXT: v_add_f32_e32 v4, v1, v1
; CHECK-NEXT: s_waitcnt vmcnt(1)
; CHECK-NEXT: v_add_f32_e32 v4, v2, v4
; CHECK-NEXT: s_waitcnt vmcnt(0)
; CHECK-NEXT: v_add_f32_e32 v4, v3, v4
; CHECK-NEXT: s_endpgm
in_order:
  global_load_dword v1, v0, s[2:3]
  global_load_dword v2, v0, s[2:3] offset:4
  global_load_dword v3, v0, s[2:3] offset:8
  s_waitcnt vmcnt(0)
  v_add_f32_e32 v4, v1, v1
  s_waitcnt vmcnt(0)
  v_add_f32_e32 v4, v2, v4
  s_waitcnt vmcnt(0)
  v_add_f32_e32 v4, v3, v4
  s_endpgm
