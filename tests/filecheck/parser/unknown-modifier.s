; RUN: asmevo opt %s 2>&1 | filecheck %s
; EXIT: 2
; CHECK: error[E0127]: unknown modifier 'ofset'
; CHECK-NEXT: --> {{.*}}unknown-modifier.s:10:36
; CHECK-NEXT: |
; CHECK-NEXT: 10 |   global_load_dword v0, v1, s[2:3] ofset:4
; CHECK-NEXT: |                                    ^^^^^
; CHECK-NEXT: help: did you mean 'offset'?
k:
  global_load_dword v0, v1, s[2:3] ofset:4
  s_endpgm
