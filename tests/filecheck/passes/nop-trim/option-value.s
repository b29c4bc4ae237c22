; A value of the wrong type is an error with a caret under it.
; RUN: asmevo opt %s --passes "nop-trim{physical=maybe}" 2>&1 | filecheck %s
; EXIT: 2
; CHECK: error[E0206]: option 'physical' takes true or false, not 'maybe'
; CHECK-NEXT: --> --passes:1:19
; CHECK-NEXT: |
; CHECK-NEXT: 1 | nop-trim{physical=maybe}
; CHECK-NEXT: |                   ^^^^^
option_value:
  s_endpgm
