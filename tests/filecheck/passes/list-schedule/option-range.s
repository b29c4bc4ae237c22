; A value out of range says what is allowed.
; RUN: asmevo opt %s --passes "list-schedule{min-gain=51}" 2>&1 | filecheck %s
; EXIT: 2
; CHECK: error[E0206]: option 'min-gain' is 51, out of range
; CHECK-NEXT: --> --passes:1:24
; CHECK-NEXT: |
; CHECK-NEXT: 1 | list-schedule{min-gain=51}
; CHECK-NEXT: |                        ^^
; CHECK-NEXT: help: use at least 0 and at most 50
option_range:
  s_endpgm
