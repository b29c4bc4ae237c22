; A file with labels and no code.
; RUN: asmevo opt %s 2>&1 | filecheck %s
; EXIT: 2
; CHECK: error[E0134]: the source holds no instructions
; CHECK-NEXT: --> {{.*}}no-instructions.s
k:
