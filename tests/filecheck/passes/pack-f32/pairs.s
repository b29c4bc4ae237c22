; Neighbouring destinations and sources of one aligned pair: one instruction for two, also with one factor for both.
; RUN: asmevo opt %s --passes "pack-f32" --verify smt --stats 2>&1 | filecheck %s
; CHECK-LABEL: pairs:
; CHECK-NEXT: v_pk_mul_f32 v[0:1], v[2:3], v[4:5]
; CHECK-NEXT: v_pk_add_f32 v[6:7], v[4:5], v[2:3] op_sel_hi:[0,1] neg_lo:[0,1] neg_hi:[0,1]
; CHECK-NEXT: v_pk_fma_f32 v[8:9], v[2:3], v[4:5], v[8:9]
; CHECK-NEXT: s_cbranch_scc1
; CHECK: 'pairs joined': 3
start:
  v_mov_b32_e32 v5, v1
pairs:
  v_mul_f32_e32 v0, v2, v4
  v_mul_f32_e32 v1, v3, v5
  v_sub_f32_e32 v6, v4, v2
  v_sub_f32_e32 v7, v4, v3
  v_fmac_f32_e32 v8, v2, v4
  v_fmac_f32_e32 v9, v3, v5
  s_cbranch_scc1 pairs
end:
  global_store_dwordx4 v20, v[0:3], s[2:3]
  global_store_dwordx4 v20, v[6:9], s[2:3]
  s_endpgm
