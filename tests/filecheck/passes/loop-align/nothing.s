; No instruction lies across two windows, so nothing is changed. A literal leaves no room for a long form.
; RUN: asmevo opt %s --passes "loop-align" --verify smt --stats 2>&1 | filecheck %s
; CHECK-LABEL: aligned:
; CHECK-NEXT: v_mov_b32_e32 v9, 0x12345
; CHECK-NEXT: v_mov_b32_e32 v8, v1
; CHECK-NEXT: s_endpgm
aligned:
  v_mov_b32_e32 v9, 0x12345
  v_mov_b32_e32 v8, v1
  s_endpgm
