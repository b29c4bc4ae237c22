; Source modifiers, SDWA, DPP, packed selections, cache flags and swizzles come out as they went in.
; RUN: asmevo opt %s --passes "nop-trim" | filecheck %s
; CHECK-LABEL: modifiers:
; CHECK-NEXT: v_fma_f32 v0, -v1, |v2|, -|v3| clamp mul:2
; CHECK-NEXT: v_add_u32_sdwa v0, v1, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_0 src1_sel:WORD_1
; CHECK-NEXT: v_add_f32_dpp v0, v1, v2 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf
; CHECK-NEXT: v_pk_fma_f16 v0, v1, v2, v3 op_sel:[0,1,0] op_sel_hi:[1,0,1] neg_lo:[1,0,0]
; CHECK-NEXT: buffer_load_dwordx4 v[0:3], v4, s[8:11], 0 offen offset:16 sc0 nt
; CHECK-NEXT: global_load_dword v5, v[6:7], off offset:-8
; CHECK-NEXT: ds_read2_b32 v[0:1], v4 offset1:1
; CHECK-NEXT: ds_swizzle_b32 v0, v1 offset:swizzle(SWAP,16)
; CHECK-NEXT: v_mfma_f32_4x4x4_16b_f16 a[0:3], v[0:1], v[2:3], a[0:3] cbsz:2 abid:1
; CHECK-NEXT: s_getreg_b32 s0, hwreg(HW_REG_MODE, 0, 4)
; CHECK-NEXT: s_endpgm
modifiers:
  v_fma_f32 v0, -v1, |v2|, -|v3| clamp mul:2
  v_add_u32_sdwa v0, v1, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_0 src1_sel:WORD_1
  v_add_f32_dpp v0, v1, v2 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf
  v_pk_fma_f16 v0, v1, v2, v3 op_sel:[0,1,0] op_sel_hi:[1,0,1] neg_lo:[1,0,0]
  buffer_load_dwordx4 v[0:3], v4, s[8:11], 0 offen offset:16 sc0 nt
  global_load_dword v5, v[6:7], off offset:-8
  ds_read2_b32 v[0:1], v4 offset1:1
  ds_swizzle_b32 v0, v1 offset:swizzle(SWAP,16)
  v_mfma_f32_4x4x4_16b_f16 a[0:3], v[0:1], v[2:3], a[0:3] cbsz:2 abid:1
  s_getreg_b32 s0, hwreg(HW_REG_MODE, 0, 4)
  s_endpgm
