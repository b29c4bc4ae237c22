; Two ways lead to the reader of VCC. On one of them the nop before the branch is the only wait state, so it stays; the nop in `side`
; adds to it on the other way only, where it is not needed.
; RUN: asmevo opt %s --passes "nop-trim" --verify static | filecheck %s
; CHECK-LABEL: branch:
; CHECK-NEXT: v_cmp_lt_f32_e32 vcc, v0, v1
; CHECK-NEXT: s_nop 2
; CHECK-NEXT: s_cbranch_scc1 join
; CHECK-NEXT: {{^}}side:
; CHECK-NEXT: v_mov_b32_e32 v7, v8
; CHECK-NEXT: {{^}}join:
; CHECK-NEXT: v_div_fmas_f32 v2, v3, v4, v5
; CHECK-NEXT: s_endpgm
branch:
  v_cmp_lt_f32_e32 vcc, v0, v1
  s_nop 2
  s_cbranch_scc1 join
side:
  s_nop 4
  v_mov_b32_e32 v7, v8
join:
  v_div_fmas_f32 v2, v3, v4, v5
  s_endpgm
