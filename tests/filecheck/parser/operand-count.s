; RUN: asmevo opt %s 2>&1 | filecheck %s
; EXIT: 2
; CHECK: error[E0128]: v_add_f32_e32 takes 3 operands (vdst, src0, src1), 4 given
; CHECK-NEXT: --> {{.*}}operand-count.s:9:29
; CHECK-NEXT: |
; CHECK-NEXT: 9 |   v_add_f32_e32 v0, v1, v2, v3
; CHECK-NEXT: |                             ^^
k:
  v_add_f32_e32 v0, v1, v2, v3
  s_endpgm
