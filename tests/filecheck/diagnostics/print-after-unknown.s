; RUN: asmevo opt %s --passes "nop-trim" --print-after nop-trimm 2>&1 | filecheck %s
; EXIT: 2
; CHECK: error[E0208]: --print-after nop-trimm: there is no such pass in the pipeline
; CHECK: help: it has nop-trim
k:
  s_endpgm
