; A preset is its passes: work covers the load, and no wait is stricter than needed.
; RUN: asmevo opt %s --passes "O2" --verify smt --stats 2>&1 | filecheck %s
; CHECK-LABEL: preset:
; CHECK-NEXT: global_load_dword v1, v0, s[2:3]
; CHECK-NEXT: v_mul_f32_e32 v4, v5, v5
; CHECK-NEXT: s_waitcnt vmcnt(0)
; CHECK-NEXT: v_add_f32_e32 v2, v1, v4
; CHECK-NEXT: global_store_dword v0, v2, s[4:5]
; CHECK-NEXT: s_endpgm
; CHECK: list-schedule: {'regions': 1, 'regions scheduled': 1}
preset:
  global_load_dword v1, v0, s[2:3]
  s_waitcnt vmcnt(0) lgkmcnt(0)
  s_nop 3
  v_mul_f32_e32 v4, v5, v5
  v_add_f32_e32 v2, v1, v4
  global_store_dword v0, v2, s[4:5]
  s_endpgm
