; Each pass that changed something prints the kernel; one that did not prints nothing.
; RUN: asmevo opt %s --passes "waitcnt-relax,list-schedule,nop-trim" --verify static --print-after-change | filecheck %s
; CHECK: ; after waitcnt-relax
; CHECK: {{^}}print_after_change:
; CHECK-NEXT: s_nop 3
; CHECK-NOT: ; after list-schedule
; CHECK: ; after nop-trim
; CHECK: {{^}}print_after_change:
; CHECK-NEXT: v_mov_b32_e32 v0, 0
print_after_change:
  s_waitcnt vmcnt(0)
  s_nop 3
  v_mov_b32_e32 v0, 0
  s_endpgm
