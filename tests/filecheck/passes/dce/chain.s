; What only a removed instruction read is dead next. The store's data and address stay.
; RUN: asmevo opt %s --passes "dce" --verify smt | filecheck %s
; CHECK-LABEL: chain:
; CHECK-NEXT: v_mul_f32_e32 v5, v1, v2
; CHECK-NEXT: global_store_dword v0, v5, s[4:5]
; CHECK-NEXT: s_endpgm
chain:
  v_add_f32_e32 v8, v1, v2
  v_mul_f32_e32 v5, v1, v2
  v_add_f32_e32 v9, v8, v2
  v_mov_b32_e32 v10, v9
  global_store_dword v0, v5, s[4:5]
  s_endpgm
