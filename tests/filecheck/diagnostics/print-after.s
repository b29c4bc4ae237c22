; --print-after prints what a pass left even when it changed nothing; the other pass is not printed.
; RUN: asmevo opt %s --passes "waitcnt-relax,nop-trim" --print-after waitcnt-relax --verify static | filecheck %s
; CHECK: after waitcnt-relax
; CHECK: s_nop 3
; CHECK-NEXT: v_mov_b32_e32 v0, 0
; CHECK-NOT: after nop-trim
; CHECK: print_after:
; CHECK-NEXT: v_mov_b32_e32 v0, 0
print_after:
  s_nop 3
  v_mov_b32_e32 v0, 0
  s_endpgm
