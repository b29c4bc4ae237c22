; RUN: asmevo opt %s --passes "nop-trim,waitcnt-relx" 2>&1 | filecheck %s
; EXIT: 2
; CHECK: error[E0203]: unknown pass 'waitcnt-relx'
; CHECK-NEXT: --> --passes:1:10
; CHECK-NEXT: |
; CHECK-NEXT: 1 | nop-trim,waitcnt-relx
; CHECK-NEXT: |          ^^^^^^^^^^^^
; CHECK-NEXT: help: did you mean 'waitcnt-relax'? `asmevo passes` lists all
  s_endpgm
