; A block with data in it is frozen: its waits stay, and so does the wait before it, since what the data may use is unknown.
; RUN: asmevo opt %s --passes "waitcnt-relax" --verify static | filecheck %s
; CHECK-LABEL: start:
; CHECK-NEXT: global_load_dword v1, v0, s[2:3]
; CHECK-NEXT: s_waitcnt vmcnt(0)
; CHECK-NEXT: s_branch odd
; CHECK-NEXT: {{^}}odd: ; frozen
; CHECK-NEXT: .long 0xbf800000
; CHECK-NEXT: s_waitcnt vmcnt(0) lgkmcnt(0)
; CHECK: s_endpgm
start:
  global_load_dword v1, v0, s[2:3]
  s_waitcnt vmcnt(0)
  s_branch odd
odd:
  .long 0xbf800000
  s_waitcnt vmcnt(0) lgkmcnt(0)
last:
  s_endpgm
