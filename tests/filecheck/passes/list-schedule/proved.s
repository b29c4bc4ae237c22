; A new order of a loop with stores, loads and LDS is proved window by window; nothing would be printed if it were not.
; RUN: asmevo opt %s --passes "list-schedule,waitcnt-relax,nop-trim" --verify smt --stats 2>&1 | filecheck %s
; CHECK-LABEL: proved:
; CHECK: global_load_dword v1, v0, s[2:3]
; CHECK: s_cbranch_scc1 body
; CHECK: s_endpgm
; CHECK: list-schedule: {{.*}}'regions scheduled': 1
proved:
  v_mov_b32_e32 v2, 0
body:
  global_load_dword v1, v0, s[2:3]
  s_waitcnt vmcnt(0)
  v_add_f32_e32 v2, v1, v2
  ds_write_b32 v6, v2
  s_waitcnt lgkmcnt(0)
  v_mul_f32_e32 v4, v5, v4
  v_add_u32_e32 v0, 4, v0
  ds_read_b32 v8, v7
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v8, s[4:5]
  s_add_i32 s6, s6, -1
  s_cmp_lg_u32 s6, 0
  s_cbranch_scc1 body
last:
  s_endpgm
