; With fewer lanes a copy can still be read through. A value may not be made in the copy's register when lanes change between.
; RUN: asmevo opt %s --passes "copy-elim" --verify smt | filecheck %s
; CHECK-LABEL: lanes:
; CHECK-NEXT: s_and_saveexec_b64 s[6:7], vcc
; CHECK-NEXT: v_add_f32_e32 v2, v1, v3
; CHECK-NEXT: v_add_f32_e32 v10, v2, v3
; CHECK-NEXT: s_or_b64 exec, exec, s[6:7]
; CHECK-NEXT: v_mov_b32_e32 v11, v10
; CHECK-NEXT: global_store_dwordx2 v0, v[10:11], s[2:3]
lanes:
  v_mov_b32_e32 v9, v1
  s_and_saveexec_b64 s[6:7], vcc
  v_add_f32_e32 v2, v9, v3
  v_add_f32_e32 v10, v2, v3
  s_or_b64 exec, exec, s[6:7]
  v_mov_b32_e32 v11, v10
  global_store_dwordx2 v0, v[10:11], s[2:3]
  s_endpgm
