; A nop in a frozen block stays.
; RUN: asmevo opt %s --passes "nop-trim" | filecheck %s
; CHECK-LABEL: frozen: ; frozen
; CHECK-NEXT: s_nop 5
; CHECK-NEXT: .long 0xbf800000
; CHECK: s_endpgm
frozen:
  s_nop 5
  .long 0xbf800000
last:
  s_endpgm
