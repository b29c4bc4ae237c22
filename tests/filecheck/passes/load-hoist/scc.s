; A scalar branch guards the second load: it runs earlier with all lanes or none, by the same comparison.
; RUN: asmevo opt %s --passes "load-hoist" --verify smt --stats 2>&1 | filecheck %s
; CHECK-LABEL: entry:
; CHECK: s_cmp_lt_i32 s9, 2
; CHECK-NEXT: s_mov_b64 s[0:1], exec
; CHECK-NEXT: s_cselect_b64 exec, 0, exec
; CHECK-NEXT: global_load_dword [[DATA:v[0-9]+]], v0, s[2:3] offset:4
; CHECK-NEXT: s_mov_b64 exec, s[0:1]
; CHECK: s_cbranch_scc1 join
; CHECK-LABEL: second:
; CHECK-NEXT: s_waitcnt vmcnt(0)
; CHECK-NEXT: v_mov_b32_e32 v1, [[DATA]]
; CHECK: load-hoist: {'waits': 1}
entry:
  v_mov_b32_e32 v6, 0
  s_cmp_lt_i32 s9, 1
  s_cbranch_scc1 join
first:
  global_load_dword v1, v0, s[2:3]
  s_waitcnt vmcnt(0)
  v_add_f32_e32 v6, v6, v1
join:
  s_cmp_lt_i32 s9, 2
  s_cbranch_scc1 end
second:
  global_load_dword v1, v0, s[2:3] offset:4
  s_waitcnt vmcnt(0)
  v_add_f32_e32 v6, v6, v1
end:
  global_store_dword v0, v6, s[4:5]
  s_endpgm
