; Four bytes before the loop make its first instruction begin a window, and none of its long ones lies across two.
; RUN: asmevo opt %s --passes "loop-align" --verify smt --stats 2>&1 | filecheck %s
; CHECK-LABEL: windows:
; CHECK-NEXT: v_mov_b32_e64 v9, v1
; CHECK-NEXT: s_mov_b32 s8, 16
; CHECK: v_fma_f32 v1, v2, v3, v1
; CHECK-NEXT: v_fma_f32 v2, v2, v3, v1
; CHECK: 'instructions lengthened': 1
windows:
  v_mov_b32_e32 v9, v1
  s_mov_b32 s8, 16
  s_mov_b32 s7, 1
  s_mov_b32 s6, 1
  s_mov_b32 s5, 1
  s_mov_b32 s4, 1
  s_mov_b32 s3, 1
loop:
  v_fma_f32 v1, v2, v3, v1
  v_fma_f32 v2, v2, v3, v1
  v_fma_f32 v3, v2, v3, v1
  v_fma_f32 v4, v2, v3, v1
  s_sub_i32 s8, s8, 1
  s_cmp_lg_u32 s8, 0
  s_cbranch_scc1 loop
end:
  s_endpgm
