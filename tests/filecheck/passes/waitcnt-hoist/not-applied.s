; The barrier counts on the store of the branch being complete: the wait before it stays as it is, and nothing is gained elsewhere.
; RUN: asmevo opt %s --passes "waitcnt-hoist" --verify static --stats 2>&1 | filecheck %s
; CHECK-LABEL: first:
; CHECK-NEXT: s_waitcnt vmcnt(0)
; CHECK-NEXT: global_store_dword v0, v1, s[4:5]
; CHECK-LABEL: join:
; CHECK-NEXT: s_waitcnt vmcnt(0)
; CHECK-NEXT: s_barrier
; CHECK: waitcnt-hoist: {}
loads:
  global_load_dword v1, v0, s[2:3]
  s_cbranch_scc1 join
first:
  s_waitcnt vmcnt(0)
  global_store_dword v0, v1, s[4:5]
join:
  s_waitcnt vmcnt(0)
  s_barrier
  global_load_dword v2, v0, s[4:5] offset:4
  s_waitcnt vmcnt(0)
  global_store_dword v0, v2, s[4:5] offset:8
  s_endpgm
