; Sleeps, priorities and barriers are not nops and stay, whatever stands beside them.
; RUN: asmevo opt %s --passes "nop-trim" --verify static | filecheck %s
; CHECK-LABEL: fixed:
; CHECK-NEXT: s_setprio 1
; CHECK-NEXT: s_sleep 2
; CHECK-NEXT: s_barrier
; CHECK-NEXT: s_setprio 0
; CHECK-NEXT: s_endpgm
fixed:
  s_setprio 1
  s_nop 0
  s_sleep 2
  s_barrier
  s_nop 3
  s_setprio 0
  s_endpgm
