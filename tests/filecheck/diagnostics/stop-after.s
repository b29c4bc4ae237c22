; --stop-after runs the first passes only: the nop stays, the wait goes.
; RUN: asmevo opt %s --passes "waitcnt-relax,nop-trim" --stop-after 1 --verify static --stats 2>&1 | filecheck %s
; CHECK-LABEL: stop_after:
; CHECK-NEXT: s_nop 3
; CHECK-NEXT: v_mov_b32_e32 v0, 0
; CHECK-NEXT: s_endpgm
; CHECK: waitcnt-relax: {'waits removed': 1}
; CHECK-NOT: nop-trim
stop_after:
  s_waitcnt vmcnt(0)
  s_nop 3
  v_mov_b32_e32 v0, 0
  s_endpgm
