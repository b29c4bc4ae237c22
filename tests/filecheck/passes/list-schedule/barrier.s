; Nothing crosses a barrier: the work behind it could cover the load before it, but stays behind; the LDS write is complete at it.
; RUN: asmevo opt %s --passes "list-schedule" --verify static | filecheck %s
; CHECK-LABEL: barrier:
; CHECK-NOT: v_mul_f32_e32
; CHECK: ds_write_b32 v0, v2
; CHECK: s_waitcnt {{.*}}lgkmcnt(0)
; CHECK-NEXT: s_barrier
; CHECK: v_mul_f32_e32 v4, v5, v5
barrier:
  global_load_dword v1, v0, s[2:3]
  ds_write_b32 v0, v2
  s_waitcnt vmcnt(0) lgkmcnt(0)
  s_barrier
  v_add_f32_e32 v3, v1, v1
  v_mul_f32_e32 v4, v5, v5
  v_mul_f32_e32 v6, v7, v7
  s_endpgm
