; Scalar loads come back in any order: the first use waits for all, so the work goes before it and the second use needs no wait.
; RUN: asmevo opt %s --passes "list-schedule" --verify static | filecheck %s
; CHECK-LABEL: smem:
; CHECK-NEXT: s_load_dword s4, s[0:1], 0x0
; CHECK-NEXT: s_load_dword s5, s[0:1], 0x4
; CHECK-NOT: s_waitcnt lgkmcnt({{[1-9]}})
; CHECK: v_mul_f32_e32 v4, v5, v5
; CHECK: s_waitcnt lgkmcnt(0)
; CHECK-NOT: s_waitcnt
; CHECK: s_endpgm
smem:
  s_load_dword s4, s[0:1], 0x0
  s_load_dword s5, s[0:1], 0x4
  s_waitcnt lgkmcnt(0)
  s_mul_i32 s6, s4, s4
  s_mul_i32 s7, s5, s5
  v_mul_f32_e32 v4, v5, v5
  v_mul_f32_e32 v6, v7, v7
  s_endpgm
