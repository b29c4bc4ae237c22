; The pass has no options: naming one is an error with a caret.
; RUN: asmevo opt %s --passes "waitcnt-relax{far=1}" 2>&1 | filecheck %s
; EXIT: 2
; CHECK: error[E0205]: pass 'waitcnt-relax' has no option 'far'
; CHECK-NEXT: --> --passes:1:15
; CHECK-NEXT: |
; CHECK-NEXT: 1 | waitcnt-relax{far=1}
; CHECK-NEXT: |               ^^^
; CHECK-NEXT: help: options of 'waitcnt-relax': none
options:
  s_endpgm
