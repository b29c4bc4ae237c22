; Arithmetic behind a barrier may cross it and cover the load before it; the LDS read may not, and the LDS write is complete at it.
; RUN: asmevo opt %s --passes "list-schedule" --verify smt | filecheck %s
; CHECK-LABEL: barrier:
; CHECK: ds_write_b32 v0, v2
; CHECK-NOT: ds_read_b32
; CHECK: v_mul_f32_e32 v4, v5, v5
; CHECK-NOT: ds_read_b32
; CHECK: s_waitcnt {{.*}}lgkmcnt(0)
; CHECK-NEXT: s_barrier
; CHECK: ds_read_b32 v8, v0
barrier:
  global_load_dword v1, v0, s[2:3]
  ds_write_b32 v0, v2
  s_waitcnt vmcnt(0) lgkmcnt(0)
  s_barrier
  ds_read_b32 v8, v0 offset:4
  v_add_f32_e32 v3, v1, v1
  v_mul_f32_e32 v4, v5, v5
  v_mul_f32_e32 v6, v7, v7
  s_endpgm
