; A load to LDS counts as vector memory, and its data is in LDS only after vmcnt: the wait before the barrier stays.
; RUN: asmevo opt %s --passes "waitcnt-relax" --verify static | filecheck %s
; CHECK-LABEL: lds_dma:
; CHECK: buffer_load_dword v0, s[8:11], 0 offen lds
; CHECK-NEXT: s_waitcnt vmcnt(0)
; CHECK-NEXT: s_barrier
; CHECK-NEXT: ds_read_b32 v1, v2
; CHECK-NEXT: s_waitcnt lgkmcnt(0)
; CHECK-NEXT: v_add_u32_e32 v1, v1, v1
lds_dma:
  s_mov_b32 m0, 0
  s_nop 0
  buffer_load_dword v0, s[8:11], 0 offen lds
  s_waitcnt vmcnt(0) lgkmcnt(0)
  s_barrier
  ds_read_b32 v1, v2
  s_waitcnt vmcnt(0) lgkmcnt(0)
  v_add_u32_e32 v1, v1, v1
  s_endpgm
