; A wait that no counter needs can still be the wait state between a VALU write of VCC and its read as a lane mask by v_div_fmas.
; RUN: asmevo opt %s --passes "waitcnt-relax" --verify static --remarks 2>&1 | filecheck %s
; CHECK-LABEL: wait_state:
; CHECK-NEXT: v_cmp_lt_f32_e32 vcc, v0, v1
; CHECK-NEXT: s_waitcnt lgkmcnt(0)
; CHECK-NEXT: s_nop 2
; CHECK-NEXT: v_div_fmas_f32 v2, v3, v4, v5
; CHECK-NEXT: s_endpgm
; CHECK: missed [waitcnt-relax] wait_state: a wait is kept, since it serves as a wait state
wait_state:
  v_cmp_lt_f32_e32 vcc, v0, v1
  s_waitcnt lgkmcnt(0)
  s_nop 2
  v_div_fmas_f32 v2, v3, v4, v5
  s_endpgm
