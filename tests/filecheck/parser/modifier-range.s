; An offset beyond the field of a global access is refused, not cut.
; RUN: asmevo opt %s 2>&1 | filecheck %s
; EXIT: 2
; CHECK: error[E0127]: offset:4096 is out of range: -4096 to 4095
; CHECK-NEXT: --> {{.*}}modifier-range.s:8
k:
  s_nop 0
  global_load_dword v0, v1, s[2:3] offset:4096
  s_endpgm
