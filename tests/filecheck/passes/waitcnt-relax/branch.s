; Both ways into `join` count: the short one has the load newest, so the wait there keeps vmcnt(0). The wait in `side` serves nothing
; that `join` does not wait for, and goes.
; RUN: asmevo opt %s --passes "waitcnt-relax" --verify static | filecheck %s
; CHECK-LABEL: branch:
; CHECK-NEXT: global_load_dword v1, v0, s[2:3]
; CHECK-NEXT: s_cbranch_scc1 join
; CHECK-NEXT: {{^}}side:
; CHECK-NEXT: global_load_dword v2, v0, s[2:3] offset:4
; CHECK-NEXT: v_mov_b32_e32 v5, 0
; CHECK-NEXT: {{^}}join:
; CHECK-NEXT: s_waitcnt vmcnt(0)
; CHECK-NEXT: v_add_f32_e32 v4, v1, v4
; CHECK-NEXT: s_endpgm
branch:
  global_load_dword v1, v0, s[2:3]
  s_cbranch_scc1 join
side:
  global_load_dword v2, v0, s[2:3] offset:4
  s_waitcnt vmcnt(1)
  v_mov_b32_e32 v5, 0
join:
  s_waitcnt vmcnt(0)
  v_add_f32_e32 v4, v1, v4
  s_endpgm
