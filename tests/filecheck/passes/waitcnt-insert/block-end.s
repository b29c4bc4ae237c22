; The next block counts on nothing being outstanding, so the wait stays at the end of this one.
; RUN: asmevo opt %s --passes "waitcnt-insert" --verify static | filecheck %s
; CHECK-LABEL: first:
; CHECK-NEXT: s_load_dword s8, s[0:1], 0x0
; CHECK-NEXT: s_cmp_eq_u32 s9, 0
; CHECK-NEXT: s_waitcnt lgkmcnt(0)
; CHECK-NEXT: s_cbranch_scc1 end
first:
  s_load_dword s8, s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u32 s9, 0
  s_cbranch_scc1 end
use:
  v_mov_b32_e32 v1, s8
  global_store_dword v0, v1, s[4:5]
end:
  s_endpgm
