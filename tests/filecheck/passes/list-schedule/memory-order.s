; Loads and stores of one counter keep their order, and a load may not pass a store that may be to the same place.
; RUN: asmevo opt %s --passes "list-schedule" --verify static | filecheck %s
; CHECK-LABEL: memory_order:
; CHECK: global_load_dword v1, v0, s[2:3]
; CHECK: global_store_dword v0, v2, s[4:5]
; CHECK: global_load_dword v3, v0, s[2:3] offset:64
; CHECK: s_endpgm
memory_order:
  global_load_dword v1, v0, s[2:3]
  s_waitcnt vmcnt(0)
  v_add_f32_e32 v2, v1, v1
  global_store_dword v0, v2, s[4:5]
  global_load_dword v3, v0, s[2:3] offset:64
  v_mul_f32_e32 v4, v5, v5
  s_waitcnt vmcnt(0)
  v_add_f32_e32 v6, v3, v3
  s_endpgm
