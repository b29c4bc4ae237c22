; C = A * B with 8-bit floats, 1024 x 1024 x 1024: A row by row, B column by column (both with k running fastest), C in f32.
; One wave computes 64 x 64 of C. s[0:1] kernarg: A, B, C; s2 and s3 are the tile's row and column; v0 work-item.
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_load_dwordx2 s[8:9], s[0:1], 0x10
  v_and_b32_e32 v1, 15, v0
  v_lshrrev_b32_e32 v2, 4, v0
  v_lshlrev_b32_e32 v3, 10, v1
  v_lshl_add_u32 v3, v2, 3, v3
  s_lshl_b32 s10, s2, 16
  s_lshl_b32 s11, s3, 16
  v_add_u32_e32 v4, s10, v3
  v_add_u32_e32 v5, s11, v3
  v_add_u32_e32 v6, 0x4000, v4
  v_add_u32_e32 v7, 0x8000, v4
  v_add_u32_e32 v8, 0xc000, v4
  v_add_u32_e32 v9, 0x4000, v5
  v_add_u32_e32 v10, 0x8000, v5
  v_add_u32_e32 v11, 0xc000, v5
  v_mov_b32_e32 v64, 0
  v_mov_b32_e32 v65, 0
  v_mov_b32_e32 v66, 0
  v_mov_b32_e32 v67, 0
  v_mov_b32_e32 v68, 0
  v_mov_b32_e32 v69, 0
  v_mov_b32_e32 v70, 0
  v_mov_b32_e32 v71, 0
  v_mov_b32_e32 v72, 0
  v_mov_b32_e32 v73, 0
  v_mov_b32_e32 v74, 0
  v_mov_b32_e32 v75, 0
  v_mov_b32_e32 v76, 0
  v_mov_b32_e32 v77, 0
  v_mov_b32_e32 v78, 0
  v_mov_b32_e32 v79, 0
  v_mov_b32_e32 v80, 0
  v_mov_b32_e32 v81, 0
  v_mov_b32_e32 v82, 0
  v_mov_b32_e32 v83, 0
  v_mov_b32_e32 v84, 0
  v_mov_b32_e32 v85, 0
  v_mov_b32_e32 v86, 0
  v_mov_b32_e32 v87, 0
  v_mov_b32_e32 v88, 0
  v_mov_b32_e32 v89, 0
  v_mov_b32_e32 v90, 0
  v_mov_b32_e32 v91, 0
  v_mov_b32_e32 v92, 0
  v_mov_b32_e32 v93, 0
  v_mov_b32_e32 v94, 0
  v_mov_b32_e32 v95, 0
  v_mov_b32_e32 v96, 0
  v_mov_b32_e32 v97, 0
  v_mov_b32_e32 v98, 0
  v_mov_b32_e32 v99, 0
  v_mov_b32_e32 v100, 0
  v_mov_b32_e32 v101, 0
  v_mov_b32_e32 v102, 0
  v_mov_b32_e32 v103, 0
  v_mov_b32_e32 v104, 0
  v_mov_b32_e32 v105, 0
  v_mov_b32_e32 v106, 0
  v_mov_b32_e32 v107, 0
  v_mov_b32_e32 v108, 0
  v_mov_b32_e32 v109, 0
  v_mov_b32_e32 v110, 0
  v_mov_b32_e32 v111, 0
  v_mov_b32_e32 v112, 0
  v_mov_b32_e32 v113, 0
  v_mov_b32_e32 v114, 0
  v_mov_b32_e32 v115, 0
  v_mov_b32_e32 v116, 0
  v_mov_b32_e32 v117, 0
  v_mov_b32_e32 v118, 0
  v_mov_b32_e32 v119, 0
  v_mov_b32_e32 v120, 0
  v_mov_b32_e32 v121, 0
  v_mov_b32_e32 v122, 0
  v_mov_b32_e32 v123, 0
  v_mov_b32_e32 v124, 0
  v_mov_b32_e32 v125, 0
  v_mov_b32_e32 v126, 0
  v_mov_b32_e32 v127, 0
  s_mov_b32 s12, 32
  s_waitcnt lgkmcnt(0)
next:
  global_load_dwordx2 v[16:17], v4, s[4:5]
  global_load_dwordx2 v[18:19], v6, s[4:5]
  global_load_dwordx2 v[20:21], v7, s[4:5]
  global_load_dwordx2 v[22:23], v8, s[4:5]
  global_load_dwordx2 v[24:25], v5, s[6:7]
  global_load_dwordx2 v[26:27], v9, s[6:7]
  global_load_dwordx2 v[28:29], v10, s[6:7]
  global_load_dwordx2 v[30:31], v11, s[6:7]
  s_waitcnt vmcnt(0)
  v_mfma_f32_16x16x32_fp8_fp8 v[64:67], v[16:17], v[24:25], v[64:67]
  v_mfma_f32_16x16x32_fp8_fp8 v[68:71], v[16:17], v[26:27], v[68:71]
  v_mfma_f32_16x16x32_fp8_fp8 v[72:75], v[16:17], v[28:29], v[72:75]
  v_mfma_f32_16x16x32_fp8_fp8 v[76:79], v[16:17], v[30:31], v[76:79]
  v_mfma_f32_16x16x32_fp8_fp8 v[80:83], v[18:19], v[24:25], v[80:83]
  v_mfma_f32_16x16x32_fp8_fp8 v[84:87], v[18:19], v[26:27], v[84:87]
  v_mfma_f32_16x16x32_fp8_fp8 v[88:91], v[18:19], v[28:29], v[88:91]
  v_mfma_f32_16x16x32_fp8_fp8 v[92:95], v[18:19], v[30:31], v[92:95]
  v_mfma_f32_16x16x32_fp8_fp8 v[96:99], v[20:21], v[24:25], v[96:99]
  v_mfma_f32_16x16x32_fp8_fp8 v[100:103], v[20:21], v[26:27], v[100:103]
  v_mfma_f32_16x16x32_fp8_fp8 v[104:107], v[20:21], v[28:29], v[104:107]
  v_mfma_f32_16x16x32_fp8_fp8 v[108:111], v[20:21], v[30:31], v[108:111]
  v_mfma_f32_16x16x32_fp8_fp8 v[112:115], v[22:23], v[24:25], v[112:115]
  v_mfma_f32_16x16x32_fp8_fp8 v[116:119], v[22:23], v[26:27], v[116:119]
  v_mfma_f32_16x16x32_fp8_fp8 v[120:123], v[22:23], v[28:29], v[120:123]
  v_mfma_f32_16x16x32_fp8_fp8 v[124:127], v[22:23], v[30:31], v[124:127]
  v_add_u32_e32 v4, 32, v4
  v_add_u32_e32 v6, 32, v6
  v_add_u32_e32 v7, 32, v7
  v_add_u32_e32 v8, 32, v8
  v_add_u32_e32 v5, 32, v5
  v_add_u32_e32 v9, 32, v9
  v_add_u32_e32 v10, 32, v10
  v_add_u32_e32 v11, 32, v11
  s_add_u32 s12, s12, -1
  s_cmp_lg_u32 s12, 0
  s_cbranch_scc1 next
  s_lshl_b32 s10, s2, 18
  s_lshl_b32 s11, s3, 8
  s_add_u32 s10, s10, s11
  v_lshlrev_b32_e32 v3, 14, v2
  v_lshl_add_u32 v3, v1, 2, v3
  v_add_u32_e32 v3, s10, v3
  s_nop 15
  global_store_dword v3, v64, s[8:9] offset:0
  global_store_dword v3, v68, s[8:9] offset:64
  global_store_dword v3, v72, s[8:9] offset:128
  global_store_dword v3, v76, s[8:9] offset:192
  v_add_u32_e32 v3, 0x1000, v3
  global_store_dword v3, v65, s[8:9] offset:0
  global_store_dword v3, v69, s[8:9] offset:64
  global_store_dword v3, v73, s[8:9] offset:128
  global_store_dword v3, v77, s[8:9] offset:192
  v_add_u32_e32 v3, 0x1000, v3
  global_store_dword v3, v66, s[8:9] offset:0
  global_store_dword v3, v70, s[8:9] offset:64
  global_store_dword v3, v74, s[8:9] offset:128
  global_store_dword v3, v78, s[8:9] offset:192
  v_add_u32_e32 v3, 0x1000, v3
  global_store_dword v3, v67, s[8:9] offset:0
  global_store_dword v3, v71, s[8:9] offset:64
  global_store_dword v3, v75, s[8:9] offset:128
  global_store_dword v3, v79, s[8:9] offset:192
  v_add_u32_e32 v3, 0xd000, v3
  global_store_dword v3, v80, s[8:9] offset:0
  global_store_dword v3, v84, s[8:9] offset:64
  global_store_dword v3, v88, s[8:9] offset:128
  global_store_dword v3, v92, s[8:9] offset:192
  v_add_u32_e32 v3, 0x1000, v3
  global_store_dword v3, v81, s[8:9] offset:0
  global_store_dword v3, v85, s[8:9] offset:64
  global_store_dword v3, v89, s[8:9] offset:128
  global_store_dword v3, v93, s[8:9] offset:192
  v_add_u32_e32 v3, 0x1000, v3
  global_store_dword v3, v82, s[8:9] offset:0
  global_store_dword v3, v86, s[8:9] offset:64
  global_store_dword v3, v90, s[8:9] offset:128
  global_store_dword v3, v94, s[8:9] offset:192
  v_add_u32_e32 v3, 0x1000, v3
  global_store_dword v3, v83, s[8:9] offset:0
  global_store_dword v3, v87, s[8:9] offset:64
  global_store_dword v3, v91, s[8:9] offset:128
  global_store_dword v3, v95, s[8:9] offset:192
  v_add_u32_e32 v3, 0xd000, v3
  global_store_dword v3, v96, s[8:9] offset:0
  global_store_dword v3, v100, s[8:9] offset:64
  global_store_dword v3, v104, s[8:9] offset:128
  global_store_dword v3, v108, s[8:9] offset:192
  v_add_u32_e32 v3, 0x1000, v3
  global_store_dword v3, v97, s[8:9] offset:0
  global_store_dword v3, v101, s[8:9] offset:64
  global_store_dword v3, v105, s[8:9] offset:128
  global_store_dword v3, v109, s[8:9] offset:192
  v_add_u32_e32 v3, 0x1000, v3
  global_store_dword v3, v98, s[8:9] offset:0
  global_store_dword v3, v102, s[8:9] offset:64
  global_store_dword v3, v106, s[8:9] offset:128
  global_store_dword v3, v110, s[8:9] offset:192
  v_add_u32_e32 v3, 0x1000, v3
  global_store_dword v3, v99, s[8:9] offset:0
  global_store_dword v3, v103, s[8:9] offset:64
  global_store_dword v3, v107, s[8:9] offset:128
  global_store_dword v3, v111, s[8:9] offset:192
  v_add_u32_e32 v3, 0xd000, v3
  global_store_dword v3, v112, s[8:9] offset:0
  global_store_dword v3, v116, s[8:9] offset:64
  global_store_dword v3, v120, s[8:9] offset:128
  global_store_dword v3, v124, s[8:9] offset:192
  v_add_u32_e32 v3, 0x1000, v3
  global_store_dword v3, v113, s[8:9] offset:0
  global_store_dword v3, v117, s[8:9] offset:64
  global_store_dword v3, v121, s[8:9] offset:128
  global_store_dword v3, v125, s[8:9] offset:192
  v_add_u32_e32 v3, 0x1000, v3
  global_store_dword v3, v114, s[8:9] offset:0
  global_store_dword v3, v118, s[8:9] offset:64
  global_store_dword v3, v122, s[8:9] offset:128
  global_store_dword v3, v126, s[8:9] offset:192
  v_add_u32_e32 v3, 0x1000, v3
  global_store_dword v3, v115, s[8:9] offset:0
  global_store_dword v3, v119, s[8:9] offset:64
  global_store_dword v3, v123, s[8:9] offset:128
  global_store_dword v3, v127, s[8:9] offset:192
  v_add_u32_e32 v3, 0xd000, v3
  s_endpgm
