; The first branch changes what the second load's address is made of: nothing moves over it.
; RUN: asmevo opt %s --passes "load-hoist" --verify smt --stats 2>&1 | filecheck %s
; CHECK-LABEL: second:
; CHECK-NEXT: global_load_dword v1, v4, s[2:3]
; CHECK-NEXT: s_waitcnt vmcnt(0)
; CHECK-NEXT: v_add_f32_e32 v6, v6, v1
; CHECK: load-hoist: {}
entry:
  v_mov_b32_e32 v6, 0
  v_mov_b32_e32 v7, v6
  v_cmp_gt_u32_e32 vcc, s8, v0
  s_and_saveexec_b64 s[6:7], vcc
  s_cbranch_execz join
first:
  global_load_dword v1, v0, s[2:3]
  s_waitcnt vmcnt(0)
  v_add_f32_e32 v6, v6, v1
  v_add_u32_e32 v0, 4, v0
join:
  s_or_b64 exec, exec, s[6:7]
  v_add_u32_e32 v4, 0x400, v0
  v_cmp_gt_u32_e32 vcc, s8, v4
  s_and_saveexec_b64 s[6:7], vcc
  s_cbranch_execz end
second:
  global_load_dword v1, v4, s[2:3]
  s_waitcnt vmcnt(0)
  v_add_f32_e32 v6, v6, v1
end:
  s_or_b64 exec, exec, s[6:7]
  global_store_dword v0, v6, s[4:5]
  s_endpgm
