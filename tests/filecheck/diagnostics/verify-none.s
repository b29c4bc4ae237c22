; Level none prints the result unverified, as asked; level emulate needs a launch and says so.
; RUN: asmevo opt %s --passes "nop-trim" --verify none | filecheck %s
; CHECK-LABEL: verify_none:
; CHECK-NEXT: v_mov_b32_e32 v0, 0
; CHECK-NEXT: s_endpgm
verify_none:
  s_nop 3
  v_mov_b32_e32 v0, 0
  s_endpgm
