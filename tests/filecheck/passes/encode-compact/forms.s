; Short forms where there are any. Integers change places for it, floats do not: which of two NaNs goes on may depend on order.
; RUN: asmevo opt %s --passes "encode-compact" --verify smt --stats 2>&1 | filecheck %s
; CHECK-LABEL: forms:
; CHECK-NEXT: v_add_f32_e32 v1, v2, v3
; CHECK-NEXT: v_add_f32_e64 v1, v2, s3
; CHECK-NEXT: v_subrev_f32_e32 v1, s3, v2
; CHECK-NEXT: v_add_u32_e32 v1, s3, v2
; CHECK-NEXT: v_cndmask_b32_e32 v1, v2, v3, vcc
; CHECK-NEXT: v_cndmask_b32_e64 v1, v2, v3, s[0:1]
; CHECK-NEXT: v_cmp_lt_f32_e32 vcc, v2, v3
; CHECK-NEXT: v_cmp_lt_f32_e64 s[0:1], v2, v3
; CHECK-NEXT: v_mul_f32_e64 v1, -v2, v3
; CHECK-NEXT: v_lshlrev_b32_e64 v1, v3, 2
; CHECK-NEXT: s_movk_i32 s3, 0x1234
; CHECK-NEXT: s_mov_b32 s4, 0x8000
; CHECK-NEXT: s_addk_i32 s3, 0x100
; CHECK-NEXT: s_mov_b32 m0, 0x1234
; CHECK: 'instructions shortened': 7
forms:
  v_add_f32_e64 v1, v2, v3
  v_add_f32_e64 v1, v2, s3
  v_sub_f32_e64 v1, v2, s3
  v_add_u32_e64 v1, v2, s3
  v_cndmask_b32_e64 v1, v2, v3, vcc
  v_cndmask_b32_e64 v1, v2, v3, s[0:1]
  v_cmp_lt_f32_e64 vcc, v2, v3
  v_cmp_lt_f32_e64 s[0:1], v2, v3
  v_mul_f32_e64 v1, -v2, v3
  v_lshlrev_b32_e64 v1, v3, 2
  s_mov_b32 s3, 0x1234
  s_mov_b32 s4, 0x8000
  s_add_i32 s3, s3, 0x100
  s_mov_b32 m0, 0x1234
  s_endpgm
