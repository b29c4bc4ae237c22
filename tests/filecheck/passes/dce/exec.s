; The first write is read in the lanes that the second one leaves alone; where all lanes are written again it is dead.
; RUN: asmevo opt %s --passes "dce" --verify static | filecheck %s
; CHECK-LABEL: masked:
; CHECK-NEXT: v_mov_b32_e32 v7, v1
; CHECK-NEXT: s_and_saveexec_b64 s[6:7], vcc
; CHECK-NEXT: v_mov_b32_e32 v7, v2
; CHECK-NEXT: s_or_b64 exec, exec, s[6:7]
; CHECK-NEXT: v_mov_b32_e32 v6, v2
; CHECK-NEXT: global_store_dwordx2 v0, v[6:7], s[4:5]
masked:
  v_mov_b32_e32 v7, v1
  s_and_saveexec_b64 s[6:7], vcc
  v_mov_b32_e32 v7, v2
  s_or_b64 exec, exec, s[6:7]
  v_mov_b32_e32 v6, v1
  v_mov_b32_e32 v6, v2
  global_store_dwordx2 v0, v[6:7], s[4:5]
  s_endpgm
