; A loop's body is scheduled inside its own block: the load's use goes to the end of the round, and nothing leaves the loop.
; RUN: asmevo opt %s --passes "list-schedule" --verify static | filecheck %s
; CHECK-LABEL: start:
; CHECK-NEXT: v_mov_b32_e32 v2, 0
; CHECK-NEXT: {{^}}loop:
; CHECK-NEXT: global_load_dword v1, v0, s[2:3]
; CHECK: v_mul_f32_e32 v4, v5, v4
; CHECK: s_waitcnt vmcnt(0)
; CHECK-NEXT: v_add_f32_e32 v2, v1, v2
; CHECK: s_cbranch_scc1 loop
; CHECK-NEXT: {{^}}done:
; CHECK-NEXT: s_endpgm
start:
  v_mov_b32_e32 v2, 0
loop:
  global_load_dword v1, v0, s[2:3]
  s_waitcnt vmcnt(0)
  v_add_f32_e32 v2, v1, v2
  v_mul_f32_e32 v4, v5, v4
  v_add_u32_e32 v0, 4, v0
  s_add_i32 s6, s6, -1
  s_cmp_lg_u32 s6, 0
  s_cbranch_scc1 loop
done:
  s_endpgm
