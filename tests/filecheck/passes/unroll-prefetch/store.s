; A round stores: the next one's load may read what it wrote, so the loop stays.
; RUN: asmevo opt %s --passes "unroll-prefetch" --verify static --stats 2>&1 | filecheck %s
; CHECK-LABEL: loop:
; CHECK-NEXT: global_load_dword v1, v0, s[2:3]
; CHECK-NEXT: v_add_u32_e32 v0, 0x400, v0
; CHECK: unroll-prefetch: {}
start:
  v_mov_b32_e32 v6, 0
  v_mov_b32_e32 v9, 0
  s_mov_b64 s[6:7], 0
  s_mov_b64 s[10:11], exec
  s_mov_b64 s[16:17], exec
loop:
  global_load_dword v1, v0, s[2:3]
  v_add_u32_e32 v0, 0x400, v0
  v_cmp_le_u32_e32 vcc, s8, v0
  s_or_b64 s[6:7], vcc, s[6:7]
  s_waitcnt vmcnt(0)
  v_add_f32_e32 v6, v6, v1
  global_store_dword v9, v6, s[4:5]
  s_andn2_b64 exec, exec, s[6:7]
  s_cbranch_execnz loop
end:
  s_mov_b64 exec, s[10:11]
  global_store_dword v9, v6, s[4:5]
  s_endpgm
