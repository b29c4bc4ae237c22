; A pair of scalar registers starts at an even number, four at a multiple of four: both are told, each at its line.
; RUN: asmevo opt %s 2>&1 | filecheck %s
; EXIT: 2
; CHECK: error[E0306]: operand sdata of s_load_dwordx2: s[3:4] must start at a multiple of 2
; CHECK-NEXT: --> {{.*}}misaligned.s:14:3
; CHECK-NEXT: |
; CHECK-NEXT: 14 |   s_load_dwordx2 s[3:4], s[0:1], 0x0
; CHECK-NEXT: |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^{{$}}
; CHECK: error[E0306]: operand vdata of buffer_load_dwordx2: v[1:2] must start at an even register
; CHECK-NEXT: --> {{.*}}misaligned.s:15:3
; CHECK: error[E0306]: operand srsrc of buffer_load_dwordx2: s[6:9] must start at a multiple of 4
; CHECK-NEXT: --> {{.*}}misaligned.s:15:3
k:
  s_load_dwordx2 s[3:4], s[0:1], 0x0
  buffer_load_dwordx2 v[1:2], v0, s[6:9], 0 offen
  s_endpgm
