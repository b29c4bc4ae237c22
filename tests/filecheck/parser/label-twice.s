; RUN: asmevo opt %s 2>&1 | filecheck %s
; EXIT: 2
; CHECK: error[E0132]: label 'k' stands twice
; CHECK-NEXT: --> {{.*}}label-twice.s:7:1
k:
  s_nop 0
k:
  s_endpgm
