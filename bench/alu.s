; Vector and scalar arithmetic in a loop, as compute kernels mix it: 36 instructions a turn, s3 turns.
; s[0:1] kernarg, s2 work-group, v0 work-item.
  s_movk_i32 s3, 0x400
  s_mov_b32 s4, 0x3f8ccccd
  s_mov_b32 s5, 0x3e4ccccd
  v_cvt_f32_u32_e32 v1, v0
  v_mov_b32_e32 v2, 0.5
  v_mov_b32_e32 v3, 1.0
  v_mov_b32_e32 v4, v0
  v_mov_b32_e32 v5, v0
  v_mov_b32_e32 v6, 0
  v_mov_b32_e32 v7, 0
  v_mov_b32_e32 v8, 0
  v_mov_b32_e32 v9, 0x3c003c00
  v_mov_b32_e32 v10, 0
  v_mov_b32_e32 v11, 0
turn:
  v_mul_f32_e32 v2, s4, v1
  v_add_f32_e32 v3, v2, v1
  v_fma_f32 v6, v2, s5, v3
  v_fmac_f32_e32 v7, v2, v3
  v_max_f32_e32 v6, v6, v7
  v_min_f32_e32 v7, v6, v3
  v_sub_f32_e32 v8, v6, v7
  v_pk_mul_f32 v[10:11], v[6:7], v[2:3]
  v_pk_fma_f16 v9, v9, v9, v9
  v_cvt_f16_f32_e32 v12, v8
  v_cvt_f32_f16_e32 v13, v12
  v_max3_f32 v13, v13, v8, v6
  v_cmp_lt_f32_e32 vcc, v6, v13
  v_cndmask_b32_e32 v14, v6, v13, vcc
  v_add_u32_e32 v4, v4, v5
  v_lshlrev_b32_e32 v15, 2, v4
  v_and_b32_e32 v15, 0xffc, v15
  v_or_b32_e32 v16, v15, v5
  v_xor_b32_e32 v16, v16, v4
  v_lshl_add_u32 v17, v16, 3, v15
  v_bfe_u32 v17, v17, 4, 9
  v_and_or_b32 v18, v17, v16, v15
  v_mul_lo_u32 v18, v18, v5
  v_mad_u32_u24 v19, v17, v16, v18
  v_perm_b32 v19, v19, v18, v17
  v_add3_u32 v20, v19, v18, v17
  v_ashrrev_i32_e32 v20, 3, v20
  v_add_co_u32_e32 v21, vcc, v20, v19
  v_addc_co_u32_e32 v22, vcc, v20, v19, vcc
  v_lshl_add_u64 v[24:25], v[20:21], 2, v[18:19]
  v_cmp_gt_u32_e64 s[6:7], v22, v5
  s_and_b64 s[8:9], s[6:7], exec
  s_lshl_b32 s10, s3, 2
  s_add_u32 s3, s3, -1
  s_cmp_lg_u32 s3, 0
  s_cbranch_scc1 turn
  s_endpgm
