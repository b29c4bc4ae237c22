; The same on gfx90a, with its names of the cache modifiers.
; RUN: asmevo opt %s --passes "waitcnt-relax" --verify static | filecheck %s --check-prefix=GFX90A
; GFX90A: gfx90a
; GFX90A-LABEL: older:
; GFX90A-NEXT: global_load_dword v1, v0, s[2:3] glc
; GFX90A-NEXT: global_load_dword v2, v0, s[2:3] offset:4 glc
; GFX90A-NEXT: s_waitcnt vmcnt(1)
; GFX90A-NEXT: v_add_f32_e32 v4, v1, v1
  .amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
older:
  global_load_dword v1, v0, s[2:3] glc
  global_load_dword v2, v0, s[2:3] offset:4 glc
  s_waitcnt vmcnt(0)
  v_add_f32_e32 v4, v1, v1
  s_endpgm
