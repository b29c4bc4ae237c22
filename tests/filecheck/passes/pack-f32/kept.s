; Odd first registers, sources of two pairs, a result that the second reads, lanes that change between, absolute values.
; RUN: asmevo opt %s --passes "pack-f32" --verify smt | filecheck %s
; CHECK-LABEL: kept:
; CHECK-NOT: v_pk_
; CHECK: s_endpgm
kept:
  v_mul_f32_e32 v1, v3, v5
  v_mul_f32_e32 v2, v4, v6
  v_mul_f32_e32 v8, v3, v4
  v_mul_f32_e32 v9, v4, v5
  v_mul_f32_e32 v10, v2, v4
  v_mul_f32_e32 v11, v10, v5
  v_mul_f32_e32 v12, v2, v4
  s_and_b64 exec, exec, vcc
  v_mul_f32_e32 v13, v3, v5
  v_mul_f32_e64 v14, |v2|, v4
  v_mul_f32_e64 v15, |v3|, v5
  s_cbranch_scc1 kept
end:
  global_store_dwordx4 v20, v[8:11], s[2:3]
  global_store_dwordx4 v20, v[12:15], s[2:3]
  s_endpgm
