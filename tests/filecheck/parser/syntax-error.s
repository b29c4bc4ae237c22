; RUN: asmevo opt %s 2>&1 | filecheck %s
; EXIT: 2
; CHECK: error[E0121]: unexpected ','
; CHECK-NEXT: --> {{.*}}syntax-error.s:9:21
; CHECK-NEXT: |
; CHECK-NEXT: 9 |   v_add_f32_e32 v0, , v2
; CHECK-NEXT: |                     ^{{$}}
k:
  v_add_f32_e32 v0, , v2
  s_endpgm
