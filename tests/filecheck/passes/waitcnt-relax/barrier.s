; A wait before a barrier that completes this wave's LDS write stays, though no register needs it: other waves read what was written.
; The vector load that the same wait covers is private, so its counter is let go.
; RUN: asmevo opt %s --passes "waitcnt-relax" --verify static | filecheck %s
; CHECK-LABEL: barrier:
; CHECK-NEXT: global_load_dword v1, v0, s[2:3]
; CHECK-NEXT: ds_write_b32 v0, v2
; CHECK-NEXT: s_waitcnt lgkmcnt(0)
; CHECK-NEXT: s_barrier
; CHECK-NEXT: ds_read_b32 v3, v4
; CHECK-NEXT: s_waitcnt vmcnt(0) lgkmcnt(0)
; CHECK-NEXT: v_add_f32_e32 v3, v1, v3
; CHECK-NEXT: s_endpgm
barrier:
  global_load_dword v1, v0, s[2:3]
  ds_write_b32 v0, v2
  s_waitcnt vmcnt(0) lgkmcnt(0)
  s_barrier
  ds_read_b32 v3, v4
  s_waitcnt vmcnt(0) lgkmcnt(0)
  v_add_f32_e32 v3, v1, v3
  s_endpgm
