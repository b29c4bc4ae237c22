; The next block's wait counts on the dead load being the younger of two, so it stays, and the pass says why.
; RUN: asmevo opt %s --passes "dce" --verify static --remarks 2>&1 | filecheck %s
; CHECK-DAG: global_load_dword is dead, but a wait or a wait state counts on it
; CHECK-DAG: global_load_dword v3, v1, s[2:3] offset:4
; CHECK-DAG: s_waitcnt vmcnt(1)
later:
  global_load_dword v2, v1, s[2:3]
  global_load_dword v3, v1, s[2:3] offset:4
  s_cbranch_scc1 end
use:
  s_waitcnt vmcnt(1)
  global_store_dword v1, v2, s[4:5]
end:
  s_endpgm
