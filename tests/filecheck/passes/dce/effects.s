; What has an effect besides its result stays: atomics with a result nobody reads, stores, modes, M0, loads to LDS.
; RUN: asmevo opt %s --passes "dce" --verify static | filecheck %s
; CHECK-LABEL: effects:
; CHECK-NEXT: s_mov_b32 m0, s6
; CHECK-NEXT: buffer_load_dword v0, s[8:11], 0 offen lds
; CHECK-NEXT: global_atomic_add v2, v0, v1, s[2:3] sc0
; CHECK-NEXT: ds_write_b32 v0, v1
; CHECK-NEXT: s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0
; CHECK-NEXT: s_endpgm
effects:
  s_mov_b32 m0, s6
  buffer_load_dword v0, s[8:11], 0 offen lds
  global_atomic_add v2, v0, v1, s[2:3] sc0
  ds_write_b32 v0, v1
  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0
  s_endpgm
