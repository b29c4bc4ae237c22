; What a scoped atomic may publish is complete before it; a store nobody can ask about needs no wait before the program's end.
; RUN: asmevo opt %s --passes "waitcnt-relax" --verify static | filecheck %s
; CHECK-LABEL: release:
; CHECK-NEXT: global_store_dword v0, v1, s[2:3]
; CHECK-NEXT: s_waitcnt vmcnt(0)
; CHECK-NEXT: global_atomic_add v0, v2, s[4:5] sc1
; CHECK-NEXT: s_endpgm
release:
  global_store_dword v0, v1, s[2:3]
  s_waitcnt vmcnt(0)
  global_atomic_add v0, v2, s[4:5] sc1
  s_waitcnt vmcnt(0)
  s_endpgm
