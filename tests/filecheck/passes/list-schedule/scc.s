; SCC is a register like any other: the addition that writes SCC may not pass between the comparison and its branch's select.
; RUN: asmevo opt %s --passes "list-schedule" --verify static | filecheck %s
; CHECK-LABEL: scc:
; CHECK: s_cmp_lg_u32 s6, 0
; CHECK-NOT: s_add_u32
; CHECK: s_cselect_b32 s7, s8, s9
; CHECK: s_add_u32 s10, s11, s12
; CHECK-NEXT: s_addc_u32 s13, s14, s15
scc:
  s_load_dword s4, s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  s_mov_b32 s5, s4
  s_cmp_lg_u32 s6, 0
  s_cselect_b32 s7, s8, s9
  s_add_u32 s10, s11, s12
  s_addc_u32 s13, s14, s15
  s_endpgm
