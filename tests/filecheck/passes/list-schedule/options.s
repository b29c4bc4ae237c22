; A gain that is asked for and not reached leaves the order as it is; bias 0 among ready instructions keeps the order of the source.
; RUN: asmevo opt %s --passes "list-schedule{min-gain=50}" --verify static | filecheck %s --check-prefix=GAIN
; RUN: asmevo opt %s --passes "list-schedule{bias=0.0}" --verify static | filecheck %s --check-prefix=BIAS
; GAIN-LABEL: options:
; GAIN-NEXT: global_load_dword v1, v0, s[2:3]
; GAIN-NEXT: s_waitcnt vmcnt(0)
; GAIN-NEXT: v_add_f32_e32 v2, v1, v1
; GAIN-NEXT: v_mul_f32_e32 v4, v5, v5
; GAIN-NEXT: v_mul_f32_e32 v6, v7, v7
; BIAS-LABEL: options:
; BIAS-NEXT: global_load_dword v1, v0, s[2:3]
; BIAS-NEXT: v_mul_f32_e32 v4, v5, v5
; BIAS-NEXT: v_mul_f32_e32 v6, v7, v7
; BIAS-NEXT: s_waitcnt vmcnt(0)
; BIAS-NEXT: v_add_f32_e32 v2, v1, v1
options:
  global_load_dword v1, v0, s[2:3]
  s_waitcnt vmcnt(0)
  v_add_f32_e32 v2, v1, v1
  v_mul_f32_e32 v4, v5, v5
  v_mul_f32_e32 v6, v7, v7
  s_endpgm
