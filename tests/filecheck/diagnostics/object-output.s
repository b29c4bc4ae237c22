; Without target and metadata a source cannot become the object that -o asks for.
; RUN: asmevo opt %s --passes "nop-trim" -o nowhere.co 2>&1 | filecheck %s
; EXIT: 2
; CHECK: error[E0625]: the source names no target
; CHECK: help: give --target, or write .amdgcn_target
  s_endpgm
