; A removed instruction was one of the wait states between the writer of VCC and v_div_fmas: a nop takes its place.
; RUN: asmevo opt %s --passes "dce" --verify static | filecheck %s
; CHECK-LABEL: states:
; CHECK-NEXT: v_cmp_lt_f32_e32 vcc, v0, v1
; CHECK-NEXT: s_nop 2
; CHECK-NEXT: s_nop 0
; CHECK-NEXT: v_div_fmas_f32 v2, v3, v4, v5
states:
  v_cmp_lt_f32_e32 vcc, v0, v1
  v_mov_b32_e32 v9, v1
  s_nop 2
  v_div_fmas_f32 v2, v3, v4, v5
  global_store_dword v0, v2, s[4:5]
  s_endpgm
