; Two kernels and a device function, data, zeroed data and a pointer: the parts of a code object, small.
	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.amdhsa_code_object_version 5
	.text
	.globl first
	.p2align 8
	.type first,@function
first:
	s_load_dwordx2 s[2:3], s[0:1], 0x0
	v_lshlrev_b32_e32 v0, 2, v0
	v_mov_b32_e32 v1, 0x3f800000
	v_cmp_gt_u32_e32 vcc, 16, v0
	s_waitcnt lgkmcnt(0)
	s_cbranch_vccz .Ldone
.Lloop:
	v_add_f32_e32 v1, v1, v1
	s_sub_i32 s4, s4, 1
	s_cmp_lg_u32 s4, 0
	s_cbranch_scc1 .Lloop
	global_store_dword v0, v1, s[2:3]
.Ldone:
	s_endpgm
.Lfirst_end:
	.size first, .Lfirst_end-first
	.globl second
	.p2align 8
	.type second,@function
second:
	s_load_dword s4, s[0:1], 0x8
	v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]
	ds_read_b32 v2, v0 offset:16
	v_add_u32_sdwa v3, v2, v1 dst_sel:BYTE_0 dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:DWORD
	v_mov_b32_dpp v4, v3 quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0xf
	s_waitcnt vmcnt(0) lgkmcnt(0)
	s_barrier
	s_endpgm
	.p2align 8
	.type helper,@function
helper:
	v_fma_f32 v0, -v1, |v2|, 1.0 clamp
	s_setpc_b64 s[30:31]
	.section .rodata,"a",@progbits
	.p2align 6
	.amdhsa_kernel first
		.amdhsa_next_free_vgpr 8
		.amdhsa_next_free_sgpr 16
		.amdhsa_accum_offset 8
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_kernarg_size 16
	.end_amdhsa_kernel
	.p2align 6
	.amdhsa_kernel second
		.amdhsa_next_free_vgpr 32
		.amdhsa_next_free_sgpr 24
		.amdhsa_accum_offset 16
		.amdhsa_group_segment_fixed_size 1024
	.end_amdhsa_kernel
	.data
	.globl counter
	.type counter,@object
	.size counter, 4
counter:
	.long 7
	.p2align 3
	.globl pointer
	.type pointer,@object
	.size pointer, 8
pointer:
	.quad counter
	.bss
	.globl room
	.type room,@object
	.size room, 256
room:
	.zero 256
	.amdgpu_metadata
---
amdhsa.kernels:
  - .name: first
    .symbol: first.kd
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 8
    .max_flat_workgroup_size: 64
    .args:
      - .name: out
        .offset: 0
        .size: 8
        .value_kind: global_buffer
        .address_space: global
      - .name: count
        .offset: 8
        .size: 4
        .value_kind: by_value
  - .name: second
    .symbol: second.kd
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 1024
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 24
    .vgpr_count: 32
    .agpr_count: 16
    .max_flat_workgroup_size: 256
    .args: []
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx942
...
	.end_amdgpu_metadata
