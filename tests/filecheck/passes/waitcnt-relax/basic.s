; A wait for both counters before the use of a scalar load waits for lgkmcnt only; the load that stays outstanding is waited for later.
; RUN: asmevo opt %s --passes "waitcnt-relax" --verify static | filecheck %s
; CHECK-LABEL: basic:
; CHECK-NEXT: global_load_dword v1, v0, s[2:3]
; CHECK-NEXT: s_load_dword s4, s[0:1], 0x0
; CHECK-NEXT: s_waitcnt lgkmcnt(0)
; CHECK-NEXT: v_mov_b32_e32 v2, s4
; CHECK-NEXT: s_waitcnt vmcnt(0)
; CHECK-NEXT: v_add_f32_e32 v2, v1, v2
; CHECK-NEXT: s_endpgm
basic:
  global_load_dword v1, v0, s[2:3]
  s_load_dword s4, s[0:1], 0x0
  s_waitcnt vmcnt(0) lgkmcnt(0)
  v_mov_b32_e32 v2, s4
  s_waitcnt vmcnt(0)
  v_add_f32_e32 v2, v1, v2
  s_endpgm
