; The reader stands before the writer in the loop: the hazard runs over the back edge, and the nop at the loop's end is for it.
; RUN: asmevo opt %s --passes "nop-trim" --verify static | filecheck %s
; CHECK-LABEL: loop:
; CHECK-NEXT: v_div_fmas_f32 v2, v3, v4, v5
; CHECK-NEXT: s_add_i32 s6, s6, -1
; CHECK-NEXT: s_cmp_lg_u32 s6, 0
; CHECK-NEXT: v_cmp_lt_f32_e32 vcc, v0, v1
; CHECK-NEXT: s_nop 2
; CHECK-NEXT: s_cbranch_scc1 loop
; CHECK: s_endpgm
loop:
  v_div_fmas_f32 v2, v3, v4, v5
  s_add_i32 s6, s6, -1
  s_cmp_lg_u32 s6, 0
  v_cmp_lt_f32_e32 vcc, v0, v1
  s_nop 6
  s_cbranch_scc1 loop
  s_endpgm
