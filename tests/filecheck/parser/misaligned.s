; A pair of scalar registers starts at an even number.
; RUN: asmevo opt %s 2>&1 | filecheck %s
; EXIT: 2
; CHECK: error[E0125]: {{.*}}s[3:4]
; CHECK-NEXT: --> {{.*}}misaligned.s:7:
k:
  s_load_dwordx2 s[3:4], s[0:1], 0x0
  s_endpgm
