; An assembly source has no object to be written back to.
; RUN: asmevo opt %s --passes "nop-trim" -o nowhere.co 2>&1 | filecheck %s
; EXIT: 2
; CHECK: error[E0208]: an assembly source cannot be written as an object
; CHECK-NEXT: help: leave out -o: the result is printed
  s_endpgm
