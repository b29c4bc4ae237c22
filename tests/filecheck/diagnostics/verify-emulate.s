; Level emulate runs the kernel, so it needs a launch.
; RUN: asmevo opt %s --passes "nop-trim" --verify emulate 2>&1 | filecheck %s
; EXIT: 2
; CHECK: error[E0208]: verify level 'emulate' needs a launch
; CHECK-NEXT: help: give --launch FILE
  s_nop 3
  s_endpgm
