; `physical` counts the slots that a busy matrix unit surely takes: the second matrix instruction waits eight slots for the first. The
; result of the first may be read after 11 states: the compiler counts 1 of them as passed, `physical` counts 8.
; RUN: asmevo opt %s --passes "nop-trim" --verify static | filecheck %s
; RUN: asmevo opt %s --passes "nop-trim{physical=true}" --verify static | filecheck %s --check-prefix=PHYSICAL
; CHECK-LABEL: options:
; CHECK: v_mfma_f32_32x32x8_f16 a[16:31]
; CHECK-NEXT: s_nop 9
; CHECK-NEXT: v_accvgpr_read_b32 v0, a0
; PHYSICAL-LABEL: options:
; PHYSICAL: v_mfma_f32_32x32x8_f16 a[16:31]
; PHYSICAL-NEXT: s_nop 2
; PHYSICAL-NEXT: v_accvgpr_read_b32 v0, a0
options:
  v_mfma_f32_32x32x8_f16 a[0:15], v[8:9], v[10:11], a[0:15]
  v_mfma_f32_32x32x8_f16 a[16:31], v[12:13], v[14:15], a[16:31]
  s_nop 15
  v_accvgpr_read_b32 v0, a0
  s_endpgm
