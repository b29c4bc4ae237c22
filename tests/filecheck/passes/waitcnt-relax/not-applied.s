; Nearly the same as basic.s, but each wait is needed as it stands: the input is printed as it was.
; RUN: asmevo opt %s --passes "waitcnt-relax" --stats 2>&1 | filecheck %s
; CHECK-LABEL: not_applied:
; CHECK-NEXT: global_load_dword v1, v0, s[2:3]
; CHECK-NEXT: s_load_dword s4, s[0:1], 0x0
; CHECK-NEXT: s_waitcnt vmcnt(0) lgkmcnt(0)
; CHECK-NEXT: v_mul_f32_e32 v2, s4, v1
; CHECK-NEXT: global_load_dword v3, v2, s[2:3]
; CHECK-NEXT: global_load_dword v4, v2, s[2:3] offset:4
; CHECK-NEXT: s_waitcnt vmcnt(1)
; CHECK-NEXT: v_mov_b32_e32 v5, v3
; CHECK-NEXT: s_endpgm
; CHECK: waitcnt-relax: {}
not_applied:
  global_load_dword v1, v0, s[2:3]
  s_load_dword s4, s[0:1], 0x0
  s_waitcnt vmcnt(0) lgkmcnt(0)
  v_mul_f32_e32 v2, s4, v1
  global_load_dword v3, v2, s[2:3]
  global_load_dword v4, v2, s[2:3] offset:4
  s_waitcnt vmcnt(1)
  v_mov_b32_e32 v5, v3
  s_endpgm
