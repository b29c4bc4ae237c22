; Who reads a copy reads its source; a value that is copied once is made where it goes.
; RUN: asmevo opt %s --passes "copy-elim" --verify smt | filecheck %s
; CHECK-LABEL: forward:
; CHECK-NEXT: v_add_f32_e32 v2, v1, v3
; CHECK-NEXT: v_mul_f32_e64 v4, v2, s4
; CHECK-NEXT: v_mul_f32_e64 v5, v4, 2.0
; CHECK-NEXT: v_add_f32_e32 v6, v5, v4
; CHECK-NEXT: s_add_i32 s9, s8, 4
; CHECK-NEXT: global_store_dword v0, a3, s[2:3]
; CHECK-NEXT: v_mov_b32_e32 v7, s9
; CHECK-NEXT: global_store_dwordx4 v0, v[4:7], s[2:3]
forward:
  v_mov_b32_e32 v9, v1
  v_add_f32_e32 v2, v9, v3
  v_mov_b32_e32 v10, s4
  v_mul_f32_e32 v4, v2, v10
  v_mov_b32_e32 v11, 2.0
  v_mul_f32_e32 v5, v4, v11
  v_add_f32_e32 v12, v5, v4
  v_mov_b32_e32 v6, v12
  s_mov_b32 s9, s8
  s_add_i32 s9, s9, 4
  v_accvgpr_read_b32 v13, a3
  global_store_dword v0, v13, s[2:3]
  v_mov_b32_e32 v7, s9
  global_store_dwordx4 v0, v[4:7], s[2:3]
  s_endpgm
