; RUN: asmevo opt %s --passes "nop-trim,,nop-trim" 2>&1 | filecheck %s
; EXIT: 2
; CHECK: error[E0202]: pipeline text is not understood here
; CHECK-NEXT: --> --passes:1:10
; CHECK-NEXT: |
; CHECK-NEXT: 1 | nop-trim,,nop-trim
; CHECK-NEXT: |          ^{{$}}
  s_endpgm
