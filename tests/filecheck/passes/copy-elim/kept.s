; A copy stays whose source changes first, whose lanes come back, which another lane reads, of which a wider reader takes a part,
; whose reader cannot name a scalar, or which is needed behind the block.
; RUN: asmevo opt %s --passes "copy-elim" --verify smt | filecheck %s
; CHECK-LABEL: kept:
; CHECK-NEXT: v_mov_b32_e32 v9, v1
; CHECK-NEXT: v_add_f32_e32 v1, v2, v2
; CHECK-NEXT: v_add_f32_e32 v2, v9, v1
; CHECK-NEXT: v_mov_b32_e32 v20, v2
; CHECK-NEXT: s_mov_b64 exec, s[4:5]
; CHECK-NEXT: v_add_f32_e32 v3, v20, v2
; CHECK-NEXT: v_mov_b32_e32 v21, v3
; CHECK-NEXT: v_readfirstlane_b32 s8, v21
; CHECK-NEXT: v_mov_b32_e32 v30, v3
; CHECK-NEXT: v_mov_b32_e32 v31, v4
; CHECK-NEXT: global_store_dwordx2 v0, v[30:31], s[2:3]
; CHECK-NEXT: v_mov_b32_e32 v5, s8
; CHECK-NEXT: ds_write_b32 v0, v5
; CHECK-NEXT: v_mov_b32_e32 v6, v4
; CHECK-NEXT: s_cbranch_scc1
; CHECK: ds_write_b32 v0, v6
kept:
  v_mov_b32_e32 v9, v1
  v_add_f32_e32 v1, v2, v2
  v_add_f32_e32 v2, v9, v1
  v_mov_b32_e32 v20, v2
  s_mov_b64 exec, s[4:5]
  v_add_f32_e32 v3, v20, v2
  v_mov_b32_e32 v21, v3
  v_readfirstlane_b32 s8, v21
  v_mov_b32_e32 v30, v3
  v_mov_b32_e32 v31, v4
  global_store_dwordx2 v0, v[30:31], s[2:3]
  v_mov_b32_e32 v5, s8
  ds_write_b32 v0, v5
  v_mov_b32_e32 v6, v4
  s_cbranch_scc1 end
behind:
  ds_write_b32 v0, v6
  ds_write_b32 v0, v3
end:
  s_endpgm
