; Packed F32 waits for the matrix unit, plain F32 does not. The half whose result the other reads comes second.
; RUN: asmevo opt %s --passes "unpack-f32" --verify smt --stats 2>&1 | filecheck %s
; CHECK-LABEL: matrix:
; CHECK-DAG: v_mul_f32_e32 v0, v2, v4
; CHECK-DAG: v_mul_f32_e32 v1, v3, v5
; CHECK-DAG: v_mul_f32_e32 v6, s8, v2
; CHECK-DAG: v_mul_f32_e32 v7, s8, v3
; CHECK: 'packed instructions split': 2
matrix:
  v_mfma_f32_32x32x8_f16 v[32:47], v[16:17], v[18:19], v[32:47]
  v_pk_mul_f32 v[0:1], v[2:3], v[4:5]
  v_pk_mul_f32 v[6:7], s[8:9], v[2:3] op_sel_hi:[0,1]
  v_mfma_f32_32x32x8_f16 v[48:63], v[16:17], v[18:19], v[48:63]
  s_cbranch_scc1 matrix
end:
  s_nop 15
  global_store_dwordx4 v20, v[0:3], s[2:3]
  global_store_dwordx2 v20, v[6:7], s[2:3]
  s_endpgm
