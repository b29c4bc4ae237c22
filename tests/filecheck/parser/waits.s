; A wait may be written by counters, in any order and with signs between, or as a number; it is printed by counters.
; RUN: asmevo opt %s --passes "nop-trim" | filecheck %s
; CHECK-LABEL: waits:
; CHECK-NEXT: s_waitcnt vmcnt(3) lgkmcnt(1)
; CHECK-NEXT: s_waitcnt vmcnt(3) lgkmcnt(1)
; CHECK-NEXT: s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
; CHECK-NEXT: s_endpgm
waits:
  s_waitcnt lgkmcnt(1) vmcnt(3)
  s_waitcnt vmcnt(3) & lgkmcnt(1)
  s_waitcnt 0
  s_endpgm
