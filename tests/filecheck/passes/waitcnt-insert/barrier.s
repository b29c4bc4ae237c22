; What was complete at the barrier still is: the LDS store's wait stays before it, with no register to ask for it.
; RUN: asmevo opt %s --passes "waitcnt-insert" --verify static | filecheck %s
; CHECK-LABEL: shared:
; CHECK-NEXT: ds_write_b32 v0, v1
; CHECK-NEXT: v_mov_b32_e32 v4, v1
; CHECK-NEXT: s_waitcnt lgkmcnt(0)
; CHECK-NEXT: s_barrier
; CHECK-NEXT: ds_read_b32 v5, v0
shared:
  ds_write_b32 v0, v1
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v4, v1
  s_barrier
  ds_read_b32 v5, v0
  s_waitcnt lgkmcnt(0)
  global_store_dwordx2 v0, v[4:5], s[4:5]
  s_endpgm
