; Writes of EXEC order the vector work on either side: the masked addition stays between them, the scalar work may go anywhere.
; RUN: asmevo opt %s --passes "list-schedule" --verify smt | filecheck %s
; CHECK-LABEL: masked:
; CHECK: s_and_saveexec_b64 s[8:9], vcc
; CHECK-NOT: v_mul_f32_e32
; CHECK: v_add_f32_e32 v2, v1, v1
; CHECK-NOT: v_mul_f32_e32
; CHECK: s_mov_b64 exec, s[8:9]
; CHECK: v_mul_f32_e32 v4, v5, v5
masked:
  global_load_dword v1, v0, s[2:3]
  s_and_saveexec_b64 s[8:9], vcc
  s_waitcnt vmcnt(0)
  v_add_f32_e32 v2, v1, v1
  s_mov_b64 exec, s[8:9]
  v_mul_f32_e32 v4, v5, v5
  s_mul_i32 s10, s11, s12
  s_endpgm
