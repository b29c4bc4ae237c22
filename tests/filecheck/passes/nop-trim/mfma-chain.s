; The same accumulator may be taken over without a wait state, so the nops between the chained matrix instructions go.
; RUN: asmevo opt %s --passes "nop-trim" --verify static | filecheck %s
; CHECK-LABEL: chain:
; CHECK-NEXT: v_mfma_f32_32x32x8_f16 a[0:15], v[8:9], v[10:11], a[0:15]
; CHECK-NEXT: v_mfma_f32_32x32x8_f16 a[0:15], v[12:13], v[14:15], a[0:15]
; CHECK-NEXT: s_endpgm
chain:
  v_mfma_f32_32x32x8_f16 a[0:15], v[8:9], v[10:11], a[0:15]
  s_nop 7
  v_mfma_f32_32x32x8_f16 a[0:15], v[12:13], v[14:15], a[0:15]
  s_endpgm
