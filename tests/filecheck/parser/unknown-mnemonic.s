; RUN: asmevo opt %s 2>&1 | filecheck %s
; EXIT: 2
; CHECK: error[E0122]: unknown opcode 'v_mvo_b32_e32'
; CHECK-NEXT: --> {{.*}}unknown-mnemonic.s:11:3
; CHECK-NEXT: |
; CHECK-NEXT: 11 |   v_mvo_b32_e32 v1, v2 ; a comment
; CHECK-NEXT: |   ^^^^^^^^^^^^^{{$}}
; CHECK-NEXT: help: did you mean 'v_mov_b32_e32'?
k:
  s_nop 0
  v_mvo_b32_e32 v1, v2 ; a comment
  s_endpgm
