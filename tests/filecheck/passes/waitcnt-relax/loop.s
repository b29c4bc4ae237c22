; A load at the loop's end is used at its start in the next round: the wait there must cover both paths, one newer load on each.
; RUN: asmevo opt %s --passes "waitcnt-relax" --verify static | filecheck %s
; CHECK-LABEL: entry:
; CHECK-NEXT: global_load_dword v1, v0, s[2:3]
; CHECK-NEXT: global_load_dword v2, v0, s[2:3] offset:4
; CHECK-NEXT: {{^}}loop:
; CHECK-NEXT: s_waitcnt vmcnt(1)
; CHECK-NEXT: v_add_f32_e32 v4, v1, v4
; CHECK-NEXT: global_load_dword v1, v0, s[2:3] offset:8
; CHECK-NEXT: s_waitcnt vmcnt(1)
; CHECK-NEXT: v_add_f32_e32 v4, v2, v4
; CHECK-NEXT: global_load_dword v2, v0, s[2:3] offset:12
; CHECK-NEXT: s_add_i32 s6, s6, -1
; CHECK-NEXT: s_cmp_lg_u32 s6, 0
; CHECK-NEXT: s_cbranch_scc1 loop
; CHECK: s_endpgm
entry:
  global_load_dword v1, v0, s[2:3]
  global_load_dword v2, v0, s[2:3] offset:4
loop:
  s_waitcnt vmcnt(0)
  v_add_f32_e32 v4, v1, v4
  global_load_dword v1, v0, s[2:3] offset:8
  s_waitcnt vmcnt(0)
  v_add_f32_e32 v4, v2, v4
  global_load_dword v2, v0, s[2:3] offset:12
  s_add_i32 s6, s6, -1
  s_cmp_lg_u32 s6, 0
  s_cbranch_scc1 loop
  s_endpgm
