; Scalar loads return in any order, so nothing above lgkmcnt(0) says that the first one is there; LDS reads alone do return in order.
; RUN: asmevo opt %s --passes "waitcnt-relax" --verify static | filecheck %s
; CHECK-LABEL: smem:
; CHECK-NEXT: s_load_dword s4, s[0:1], 0x0
; CHECK-NEXT: s_load_dword s5, s[0:1], 0x4
; CHECK-NEXT: s_waitcnt lgkmcnt(0)
; CHECK-NEXT: s_add_u32 s6, s4, s4
; CHECK-NEXT: s_load_dword s8, s[0:1], 0x8
; CHECK-NEXT: ds_read_b32 v2, v0
; CHECK-NEXT: s_waitcnt lgkmcnt(0)
; CHECK-NEXT: v_add_u32_e32 v3, v2, v2
; CHECK-NEXT: ds_read_b32 v4, v0 offset:4
; CHECK-NEXT: ds_read_b32 v5, v0 offset:8
; CHECK-NEXT: s_waitcnt lgkmcnt(1)
; CHECK-NEXT: v_add_u32_e32 v3, v4, v3
; CHECK-NEXT: s_endpgm
smem:
  s_load_dword s4, s[0:1], 0x0
  s_load_dword s5, s[0:1], 0x4
  s_waitcnt lgkmcnt(0)
  s_add_u32 s6, s4, s4
  s_load_dword s8, s[0:1], 0x8
  ds_read_b32 v2, v0
  s_waitcnt lgkmcnt(0)
  v_add_u32_e32 v3, v2, v2
  ds_read_b32 v4, v0 offset:4
  ds_read_b32 v5, v0 offset:8
  s_waitcnt lgkmcnt(0)
  v_add_u32_e32 v3, v4, v3
  s_endpgm
