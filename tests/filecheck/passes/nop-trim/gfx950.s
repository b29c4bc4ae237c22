; gfx950 asks for one state more after most matrix instructions than gfx942 does.
; RUN: asmevo opt %s --passes "nop-trim" --verify static | filecheck %s --check-prefix=GFX950
; GFX950: gfx950
; GFX950-LABEL: newer:
; GFX950-NEXT: v_mfma_f32_16x16x16_f16 v[0:3], v[8:9], v[10:11], v[0:3]
; GFX950-NEXT: s_nop 7
; GFX950-NEXT: v_add_f32_e32 v4, v0, v1
  .amdgcn_target "amdgcn-amd-amdhsa--gfx950"
newer:
  v_mfma_f32_16x16x16_f16 v[0:3], v[8:9], v[10:11], v[0:3]
  s_nop 15
  v_add_f32_e32 v4, v0, v1
  s_endpgm
