; Two guarded stores. The second wait would also wait for the first store, since on the path without that store nothing else
; stands behind the loads. One wait before the branch covers both, and where the first store was made nothing is waited for.
; RUN: asmevo opt %s --passes "waitcnt-hoist,waitcnt-relax" --verify smt --stats 2>&1 | filecheck %s
; CHECK-LABEL: loads:
; CHECK-NEXT: global_load_dword v1, v0, s[2:3]
; CHECK-NEXT: global_load_dword v2, v0, s[2:3] offset:4
; CHECK-NEXT: s_mov_b64 s[10:11], exec
; CHECK-NEXT: s_and_saveexec_b64 s[12:13], s[6:7]
; CHECK-NEXT: s_waitcnt vmcnt(0)
; CHECK-NEXT: s_cbranch_execz join
; CHECK-LABEL: first:
; CHECK-NEXT: global_store_dword v0, v1, s[4:5]
; CHECK-LABEL: join:
; CHECK-LABEL: second:
; CHECK-NEXT: global_store_dword v0, v2, s[4:5] offset:4
; CHECK: waitcnt-hoist: {'waits hoisted': 2}
loads:
  global_load_dword v1, v0, s[2:3]
  global_load_dword v2, v0, s[2:3] offset:4
  s_mov_b64 s[10:11], exec
  s_and_saveexec_b64 s[12:13], s[6:7]
  s_cbranch_execz join
first:
  s_waitcnt vmcnt(0)
  global_store_dword v0, v1, s[4:5]
join:
  s_mov_b64 exec, s[10:11]
  s_and_saveexec_b64 s[12:13], s[8:9]
  s_cbranch_execz end
second:
  s_waitcnt vmcnt(0)
  global_store_dword v0, v2, s[4:5] offset:4
end:
  s_endpgm
