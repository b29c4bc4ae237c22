; A flat load counts in both counters and out of order with what else is in flight: neither wait may be weakened.
; RUN: asmevo opt %s --passes "waitcnt-relax" --stats 2>&1 | filecheck %s
; CHECK-LABEL: flat:
; CHECK-NEXT: flat_load_dword v2, v[0:1]
; CHECK-NEXT: global_load_dword v3, v4, s[2:3]
; CHECK-NEXT: s_waitcnt vmcnt(0) lgkmcnt(0)
; CHECK-NEXT: v_add_f32_e32 v5, v2, v2
; CHECK-NEXT: s_endpgm
; CHECK: waitcnt-relax: {}
flat:
  flat_load_dword v2, v[0:1]
  global_load_dword v3, v4, s[2:3]
  s_waitcnt vmcnt(0) lgkmcnt(0)
  v_add_f32_e32 v5, v2, v2
  s_endpgm
