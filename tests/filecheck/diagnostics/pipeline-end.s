; RUN: asmevo opt %s --passes "list-schedule{bias=1" 2>&1 | filecheck %s
; EXIT: 2
; CHECK: error[E0202]: pipeline text is not understood here
; CHECK-NEXT: --> --passes:1:
; CHECK: 1 | list-schedule{bias=1
; CHECK-NEXT: |                    ^
; CHECK-NEXT: help: write it as a,b{option=1},c
  s_endpgm
