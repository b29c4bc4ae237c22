; With the dead load gone one younger operation less is outstanding: the wait for the first load gets stricter by one.
; RUN: asmevo opt %s --passes "dce" --verify static | filecheck %s
; RUN: asmevo opt %s --passes "dce{loads=false}" --verify static | filecheck %s --check-prefix=KEPT
; CHECK-LABEL: loads:
; CHECK-NEXT: global_load_dword v2, v1, s[2:3]
; CHECK-NEXT: s_waitcnt vmcnt(0)
; CHECK-NEXT: v_add_f32_e32 v9, v2, v1
; KEPT-LABEL: loads:
; KEPT-NEXT: global_load_dword v2, v1, s[2:3]
; KEPT-NEXT: global_load_dword v3, v1, s[2:3] offset:4
; KEPT-NEXT: s_waitcnt vmcnt(1)
loads:
  global_load_dword v2, v1, s[2:3]
  global_load_dword v3, v1, s[2:3] offset:4
  s_waitcnt vmcnt(1)
  v_add_f32_e32 v9, v2, v1
  global_store_dword v1, v9, s[4:5]
  s_endpgm
