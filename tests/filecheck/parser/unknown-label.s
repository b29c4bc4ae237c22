; RUN: asmevo opt %s 2>&1 | filecheck %s
; EXIT: 2
; CHECK: error[E0133]: unknown label 'nowhere'
; CHECK-NEXT: --> {{.*}}unknown-label.s:9:3
; CHECK-NEXT: |
; CHECK-NEXT: 9 |   s_cbranch_scc0 nowhere
; CHECK-NEXT: |   ^^^^^^^^^^^^^^^^^^^^^^
k:
  s_cbranch_scc0 nowhere
  s_endpgm
