; Under register indexing an instruction may touch any VGPR: the wait before it stays, although v2 is named nowhere behind it.
; RUN: asmevo opt %s --passes "waitcnt-relax" --verify static | filecheck %s
; CHECK-LABEL: index:
; CHECK: s_set_gpr_idx_on s8
; CHECK-NEXT: s_waitcnt vmcnt(0)
; CHECK-NEXT: v_mov_b32_e32 v4, v1
; CHECK-NEXT: s_set_gpr_idx_off
; CHECK-NEXT: s_endpgm
index:
  global_load_dword v2, v0, s[2:3]
  s_set_gpr_idx_on s8, gpr_idx(SRC0)
  s_waitcnt vmcnt(0)
  v_mov_b32_e32 v4, v1
  s_set_gpr_idx_off
  s_endpgm
