"""VOP3: vector instructions that have only the 64-bit encoding, and are printed without a suffix.

Two results: v_div_scale, v_mad_u64_u32 and v_mad_i64_i32 also write the printed `sdst`. v_mul_lo_i32 is an accepted spelling
of v_mul_lo_u32. Source: CDNA3 ISA guide, VOP3A and VOP3B.
"""

from __future__ import annotations

from asmevo.ir.isa.model import Family, IssueClass
from asmevo.ir.isa.table import Table

_VOP3 = """
# lanes and bytes
v_alignbit_b32          vdst=32 src0:32 src1:32 src2:32
v_alignbyte_b32         vdst=32 src0:32 src1:32 src2:32
v_lerp_u8               vdst=32 src0:32 src1:32 src2:32
v_mbcnt_hi_u32_b32      vdst=32 src0:32 src1:32
v_mbcnt_lo_u32_b32      vdst=32 src0:32 src1:32
v_mqsad_pk_u16_u8       vdst=64 src0:64 src1:32 src2:64
v_mqsad_u32_u8          vdst=128 src0:64 src1:32 src2:128
v_msad_u8               vdst=32 src0:32 src1:32 src2:32
v_perm_b32              vdst=32 src0:32 src1:32 src2:32
v_qsad_pk_u16_u8        vdst=64 src0:64 src1:32 src2:64
v_sad_hi_u8             vdst=32 src0:32 src1:32 src2:32
v_sad_u16               vdst=32 src0:32 src1:32 src2:32
v_sad_u32               vdst=32 src0:32 src1:32 src2:32
v_sad_u8                vdst=32 src0:32 src1:32 src2:32

# conversions and packing
v_cvt_pk_bf8_f32        vdst+32 src0:32 src1:32                  <mode partial @gfx942,gfx950
v_cvt_pk_fp8_f32        vdst+32 src0:32 src1:32                  <mode partial @gfx942,gfx950
v_cvt_pk_i16_i32        vdst=32 src0:32 src1:32
v_cvt_pk_u16_u32        vdst=32 src0:32 src1:32
v_cvt_pk_u8_f32         vdst=32 src0:32 src1:32 src2:32          <mode
v_cvt_pkaccum_u8_f32    vdst+32 src0:32 src1:32                  <mode
v_cvt_pknorm_i16_f16    vdst=32 src0:32 src1:32                  <mode
v_cvt_pknorm_i16_f32    vdst=32 src0:32 src1:32                  <mode
v_cvt_pknorm_u16_f16    vdst=32 src0:32 src1:32                  <mode
v_cvt_pknorm_u16_f32    vdst=32 src0:32 src1:32                  <mode
v_cvt_pkrtz_f16_f32     vdst=32 src0:32 src1:32                  <mode
v_cvt_sr_bf8_f32        vdst+32 src0:32 src1:32                  <mode partial @gfx942,gfx950
v_cvt_sr_fp8_f32        vdst+32 src0:32 src1:32                  <mode partial @gfx942,gfx950
v_pack_b32_f16          vdst=32 src0:32 src1:32                  <mode

# float, 16 bits
v_div_fixup_f16         vdst+32 src0:32 src1:32 src2:32          <mode partial
v_div_fixup_legacy_f16  vdst=32 src0:32 src1:32 src2:32          <mode
v_fma_f16               vdst+32 src0:32 src1:32 src2:32          <mode partial
v_fma_legacy_f16        vdst=32 src0:32 src1:32 src2:32          <mode
v_mad_f16               vdst+32 src0:32 src1:32 src2:32          <mode partial
v_mad_legacy_f16        vdst=32 src0:32 src1:32 src2:32          <mode
v_max3_f16              vdst+32 src0:32 src1:32 src2:32          <mode partial
v_med3_f16              vdst+32 src0:32 src1:32 src2:32          <mode partial
v_min3_f16              vdst+32 src0:32 src1:32 src2:32          <mode partial

# float, 32 and 64 bits
v_add_f64               vdst=64 src0:64 src1:64                  <mode
v_cubeid_f32            vdst=32 src0:32 src1:32 src2:32          <mode
v_cubema_f32            vdst=32 src0:32 src1:32 src2:32          <mode
v_cubesc_f32            vdst=32 src0:32 src1:32 src2:32          <mode
v_cubetc_f32            vdst=32 src0:32 src1:32 src2:32          <mode
v_div_fixup_f32         vdst=32 src0:32 src1:32 src2:32          <mode
v_div_fixup_f64         vdst=64 src0:64 src1:64 src2:64          <mode
v_div_fmas_f32          vdst=32 src0:32 src1:32 src2:32          <mode,vcc
v_div_fmas_f64          vdst=64 src0:64 src1:64 src2:64          <mode,vcc
v_div_scale_f32         vdst=32 sdst=64 src0:32 src1:32 src2:32  <mode
v_div_scale_f64         vdst=64 sdst=64 src0:64 src1:64 src2:64  <mode
v_fma_f32               vdst=32 src0:32 src1:32 src2:32          <mode
v_fma_f64               vdst=64 src0:64 src1:64 src2:64          <mode
v_ldexp_f32             vdst=32 src0:32 src1:32                  <mode
v_ldexp_f64             vdst=64 src0:64 src1:32                  <mode
v_mad_f32               vdst=32 src0:32 src1:32 src2:32          <mode @gfx90a
v_mad_legacy_f32        vdst=32 src0:32 src1:32 src2:32          <mode @gfx90a
v_max3_f32              vdst=32 src0:32 src1:32 src2:32          <mode
v_max_f64               vdst=64 src0:64 src1:64                  <mode
v_med3_f32              vdst=32 src0:32 src1:32 src2:32          <mode
v_min3_f32              vdst=32 src0:32 src1:32 src2:32          <mode
v_min_f64               vdst=64 src0:64 src1:64                  <mode
v_mul_f64               vdst=64 src0:64 src1:64                  <mode
v_mul_legacy_f32        vdst=32 src0:32 src1:32                  <mode
v_trig_preop_f64        vdst=64 src0:64 src1:32                  <mode

# integer, 16 bits
v_add_i16               vdst+32 src0:32 src1:32                  partial
v_mad_i16               vdst+32 src0:32 src1:32 src2:32          partial
v_mad_i32_i16           vdst=32 src0:32 src1:32 src2:32
v_mad_legacy_i16        vdst=32 src0:32 src1:32 src2:32
v_mad_legacy_u16        vdst=32 src0:32 src1:32 src2:32
v_mad_u16               vdst+32 src0:32 src1:32 src2:32          partial
v_mad_u32_u16           vdst=32 src0:32 src1:32 src2:32
v_max3_i16              vdst+32 src0:32 src1:32 src2:32          partial
v_max3_u16              vdst+32 src0:32 src1:32 src2:32          partial
v_med3_i16              vdst+32 src0:32 src1:32 src2:32          partial
v_med3_u16              vdst+32 src0:32 src1:32 src2:32          partial
v_min3_i16              vdst+32 src0:32 src1:32 src2:32          partial
v_min3_u16              vdst+32 src0:32 src1:32 src2:32          partial
v_sub_i16               vdst+32 src0:32 src1:32                  partial

# bits and shifts
v_and_or_b32            vdst=32 src0:32 src1:32 src2:32
v_ashrrev_i64           vdst=64 src0:32 src1:64
v_bcnt_u32_b32          vdst=32 src0:32 src1:32
v_bfe_i32               vdst=32 src0:32 src1:32 src2:32
v_bfe_u32               vdst=32 src0:32 src1:32 src2:32
v_bfi_b32               vdst=32 src0:32 src1:32 src2:32
v_bfm_b32               vdst=32 src0:32 src1:32
v_lshl_or_b32           vdst=32 src0:32 src1:32 src2:32
v_lshlrev_b64           vdst=64 src0:32 src1:64
v_lshrrev_b64           vdst=64 src0:32 src1:64
v_or3_b32               vdst=32 src0:32 src1:32 src2:32

# integer, 32 and 64 bits
v_add3_u32              vdst=32 src0:32 src1:32 src2:32
v_add_i32               vdst=32 src0:32 src1:32
v_add_lshl_u32          vdst=32 src0:32 src1:32 src2:32
v_lshl_add_u32          vdst=32 src0:32 src1:32 src2:32
v_lshl_add_u64          vdst=64 src0:64 src1:32 src2:64          @gfx942,gfx950
v_mad_i32_i24           vdst=32 src0:32 src1:32 src2:32
v_mad_i64_i32           vdst=64 sdst=64 src0:32 src1:32 src2:64
v_mad_u32_u24           vdst=32 src0:32 src1:32 src2:32
v_mad_u64_u32           vdst=64 sdst=64 src0:32 src1:32 src2:64
v_max3_i32              vdst=32 src0:32 src1:32 src2:32
v_max3_u32              vdst=32 src0:32 src1:32 src2:32
v_med3_i32              vdst=32 src0:32 src1:32 src2:32
v_med3_u32              vdst=32 src0:32 src1:32 src2:32
v_min3_i32              vdst=32 src0:32 src1:32 src2:32
v_min3_u32              vdst=32 src0:32 src1:32 src2:32
v_mul_hi_i32            vdst=32 src0:32 src1:32
v_mul_hi_u32            vdst=32 src0:32 src1:32
v_mul_lo_i32            vdst=32 src0:32 src1:32                  alias v_mul_lo_u32
v_mul_lo_u32            vdst=32 src0:32 src1:32
v_sub_i32               vdst=32 src0:32 src1:32
v_xad_u32               vdst=32 src0:32 src1:32 src2:32
"""

_GFX950 = """
# conversions and packing
v_cvt_pk_bf16_f32                vdst=32 src0:32 src1:32               <mode
v_cvt_pk_f16_f32                 vdst=32 src0:32 src1:32               <mode
v_cvt_scalef32_2xpk16_bf6_f32    vdst=192 src0:512 src1:512 src2:32    <mode
v_cvt_scalef32_2xpk16_fp6_f32    vdst=192 src0:512 src1:512 src2:32    <mode
v_cvt_scalef32_f16_bf8           vdst+32 src0:32 src1:32               <mode partial
v_cvt_scalef32_f16_fp8           vdst+32 src0:32 src1:32               <mode partial
v_cvt_scalef32_f32_bf8           vdst=32 src0:32 src1:32               <mode
v_cvt_scalef32_f32_fp8           vdst=32 src0:32 src1:32               <mode
v_cvt_scalef32_pk32_bf16_bf6     vdst=512 src0:192 src1:32             <mode
v_cvt_scalef32_pk32_bf16_fp6     vdst=512 src0:192 src1:32             <mode
v_cvt_scalef32_pk32_bf6_bf16     vdst=192 src0:512 src1:32             <mode
v_cvt_scalef32_pk32_bf6_f16      vdst=192 src0:512 src1:32             <mode
v_cvt_scalef32_pk32_f16_bf6      vdst=512 src0:192 src1:32             <mode
v_cvt_scalef32_pk32_f16_fp6      vdst=512 src0:192 src1:32             <mode
v_cvt_scalef32_pk32_f32_bf6      vdst=1024 src0:192 src1:32            <mode
v_cvt_scalef32_pk32_f32_fp6      vdst=1024 src0:192 src1:32            <mode
v_cvt_scalef32_pk32_fp6_bf16     vdst=192 src0:512 src1:32             <mode
v_cvt_scalef32_pk32_fp6_f16      vdst=192 src0:512 src1:32             <mode
v_cvt_scalef32_pk_bf16_bf8       vdst=32 src0:32 src1:32               <mode
v_cvt_scalef32_pk_bf16_fp4       vdst=32 src0:32 src1:32               <mode
v_cvt_scalef32_pk_bf16_fp8       vdst=32 src0:32 src1:32               <mode
v_cvt_scalef32_pk_bf8_bf16       vdst+32 src0:32 src1:32               <mode partial
v_cvt_scalef32_pk_bf8_f16        vdst+32 src0:32 src1:32               <mode partial
v_cvt_scalef32_pk_bf8_f32        vdst+32 src0:32 src1:32 src2:32       <mode partial
v_cvt_scalef32_pk_f16_bf8        vdst=32 src0:32 src1:32               <mode
v_cvt_scalef32_pk_f16_fp4        vdst=32 src0:32 src1:32               <mode
v_cvt_scalef32_pk_f16_fp8        vdst=32 src0:32 src1:32               <mode
v_cvt_scalef32_pk_f32_bf8        vdst=64 src0:32 src1:32               <mode
v_cvt_scalef32_pk_f32_fp4        vdst=64 src0:32 src1:32               <mode
v_cvt_scalef32_pk_f32_fp8        vdst=64 src0:32 src1:32               <mode
v_cvt_scalef32_pk_fp4_bf16       vdst+32 src0:32 src1:32               <mode partial
v_cvt_scalef32_pk_fp4_f16        vdst+32 src0:32 src1:32               <mode partial
v_cvt_scalef32_pk_fp4_f32        vdst+32 src0:32 src1:32 src2:32       <mode partial
v_cvt_scalef32_pk_fp8_bf16       vdst+32 src0:32 src1:32               <mode partial
v_cvt_scalef32_pk_fp8_f16        vdst+32 src0:32 src1:32               <mode partial
v_cvt_scalef32_pk_fp8_f32        vdst+32 src0:32 src1:32 src2:32       <mode partial
v_cvt_scalef32_sr_bf8_bf16       vdst+32 src0:32 src1:32 src2:32       <mode partial
v_cvt_scalef32_sr_bf8_f16        vdst+32 src0:32 src1:32 src2:32       <mode partial
v_cvt_scalef32_sr_bf8_f32        vdst+32 src0:32 src1:32 src2:32       <mode partial
v_cvt_scalef32_sr_fp8_bf16       vdst+32 src0:32 src1:32 src2:32       <mode partial
v_cvt_scalef32_sr_fp8_f16        vdst+32 src0:32 src1:32 src2:32       <mode partial
v_cvt_scalef32_sr_fp8_f32        vdst+32 src0:32 src1:32 src2:32       <mode partial
v_cvt_scalef32_sr_pk32_bf6_bf16  vdst=192 src0:512 src1:32 src2:32     <mode
v_cvt_scalef32_sr_pk32_bf6_f16   vdst=192 src0:512 src1:32 src2:32     <mode
v_cvt_scalef32_sr_pk32_bf6_f32   vdst=192 src0:1024 src1:32 src2:32    <mode
v_cvt_scalef32_sr_pk32_fp6_bf16  vdst=192 src0:512 src1:32 src2:32     <mode
v_cvt_scalef32_sr_pk32_fp6_f16   vdst=192 src0:512 src1:32 src2:32     <mode
v_cvt_scalef32_sr_pk32_fp6_f32   vdst=192 src0:1024 src1:32 src2:32    <mode
v_cvt_scalef32_sr_pk_fp4_bf16    vdst+32 src0:32 src1:32 src2:32       <mode partial
v_cvt_scalef32_sr_pk_fp4_f16     vdst+32 src0:32 src1:32 src2:32       <mode partial
v_cvt_scalef32_sr_pk_fp4_f32     vdst+32 src0:64/vgpr src1:32 src2:32  <mode partial
v_cvt_sr_bf16_f32                vdst+32 src0:32 src1:32               <mode partial
v_cvt_sr_f16_f32                 vdst+32 src0:32 src1:32               <mode partial

# float, 32 and 64 bits
v_maximum3_f32                   vdst=32 src0:32 src1:32 src2:32       <mode
v_minimum3_f32                   vdst=32 src0:32 src1:32 src2:32       <mode

# bits and shifts
v_ashr_pk_i8_i32                 vdst+32 src0:32 src1:32 src2:32       partial
v_ashr_pk_u8_i32                 vdst+32 src0:32 src1:32 src2:32       partial
v_bitop3_b16                     vdst+32 src0:32 src1:32 src2:32       partial
v_bitop3_b32                     vdst=32 src0:32 src1:32 src2:32
"""


def tables() -> tuple[Table, ...]:
    """Return the family's tables."""
    return (
        Table(Family.VOP3, IssueClass.VALU, "<exec", _VOP3),
        Table(Family.VOP3, IssueClass.VALU, "<exec @gfx950", _GFX950),
    )
