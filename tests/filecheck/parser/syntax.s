; Comments, labels, directives, quoted names and number forms are read; what is printed is the compiler's spelling.
; RUN: asmevo opt %s --passes "nop-trim" | filecheck %s
; CHECK: .amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
; CHECK: .globl the_kernel
; CHECK: {{^}}the_kernel:
; CHECK-NEXT: s_load_dwordx4 s[4:7], s[0:1], 0x10
; CHECK-NEXT: s_waitcnt lgkmcnt(0)
; CHECK-NEXT: v_mov_b32_e32 v1, 0x40490fdb
; CHECK-NEXT: v_mov_b32_e32 v2, 1.0
; CHECK-NEXT: v_mov_b32_e32 v3, -4
; CHECK-NEXT: {{^}}.LBB0_1:
; CHECK-NEXT: v_add_u32_e32 v0, s4, v0
; CHECK-NEXT: s_cbranch_scc1 .LBB0_1
; CHECK: s_endpgm
	.amdgcn_target "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-"
	.text
	.globl	the_kernel
	.p2align	8
	.type	the_kernel,@function
the_kernel:                      ; @the_kernel
; %bb.0:
	s_load_dwordx4 s[4:7], s[0:1], 0x10 // a comment
	s_waitcnt lgkmcnt(0)
	v_mov_b32_e32 v1, 0x40490fdb
	v_mov_b32_e32 v2, 1.0
	v_mov_b32_e32 v3, -4
.LBB0_1: /* a comment
over two lines */ v_add_u32_e32 v0, s4, v0
	s_cbranch_scc1 .LBB0_1
	s_endpgm
	.section .rodata,"a",@progbits
	.amdhsa_kernel the_kernel
		.amdhsa_next_free_vgpr 4
		.amdhsa_next_free_sgpr 8
		.amdhsa_accum_offset 4
	.end_amdhsa_kernel
