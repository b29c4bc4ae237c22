; Without a matrix instruction beside it a packed instruction is the cheaper one; halves that read each other's results stay, too.
; RUN: asmevo opt %s --passes "unpack-f32" --verify smt | filecheck %s
; CHECK-LABEL: kept:
; CHECK-NEXT: v_pk_mul_f32 v[0:1], v[2:3], v[4:5]
; CHECK: v_pk_mul_f32 v[6:7], v[6:7], v[4:5] op_sel:[1,0] op_sel_hi:[0,1]
kept:
  v_pk_mul_f32 v[0:1], v[2:3], v[4:5]
  global_store_dwordx2 v20, v[0:1], s[2:3]
swapped:
  v_mfma_f32_32x32x8_f16 v[32:47], v[16:17], v[18:19], v[32:47]
  v_pk_mul_f32 v[6:7], v[6:7], v[4:5] op_sel:[1,0] op_sel_hi:[0,1]
  s_cbranch_scc1 swapped
end:
  s_nop 15
  global_store_dwordx2 v20, v[6:7], s[2:3]
  s_endpgm
