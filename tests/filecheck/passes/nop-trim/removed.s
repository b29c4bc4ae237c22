; A nop between instructions without a hazard goes altogether, in the middle of a block and at its end.
; RUN: asmevo opt %s --passes "nop-trim" --verify static --stats 2>&1 | filecheck %s
; CHECK-LABEL: removed:
; CHECK-NEXT: v_mov_b32_e32 v1, v0
; CHECK-NEXT: v_add_f32_e32 v2, v1, v1
; CHECK-NEXT: s_endpgm
; CHECK: nop-trim: {'wait states removed': 10}
removed:
  v_mov_b32_e32 v1, v0
  s_nop 7
  v_add_f32_e32 v2, v1, v1
  s_nop 1
  s_endpgm
