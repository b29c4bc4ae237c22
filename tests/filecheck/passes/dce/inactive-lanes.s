; The sum is needed in lanes only that are off where it is made: dead, yet the judge asks for whole registers, so it stays.
; RUN: asmevo opt %s --passes "dce" --verify smt | filecheck %s
; CHECK-LABEL: lanes:
; CHECK: v_add_u32_e32 v6, 32, v6
; CHECK-NOT: v_mul_f32
lanes:
  s_mov_b64 exec, -1
  v_add_u32_e32 v6, 32, v6
  v_mul_f32_e32 v7, v1, v2
  s_mov_b64 exec, s[4:5]
  v_mov_b32_e32 v6, v1
  s_mov_b64 exec, -1
  s_cbranch_scc1 lanes
end:
  s_endpgm
