; RUN: asmevo opt %s --passes "list-schedule{bios=1.0}" 2>&1 | filecheck %s
; EXIT: 2
; CHECK: error[E0205]: pass 'list-schedule' has no option 'bios'
; CHECK-NEXT: --> --passes:1:15
; CHECK-NEXT: |
; CHECK-NEXT: 1 | list-schedule{bios=1.0}
; CHECK-NEXT: |               ^^^^
; CHECK-NEXT: help: did you mean 'bias'?
  s_endpgm
