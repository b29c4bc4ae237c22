"""VOP1: one-source vector instructions.

Printed with _e32, _e64, _sdwa and _dpp; one line serves all four. Those of v_nop and v_clrexcp are printed alike. A 16-bit
result that keeps the upper half of its register is read-write and `partial`. Source: CDNA3 ISA guide, VOP1; 16-bit rules from
LLVM's list of opcodes that clear the upper half (what is not on it is taken to keep it).
"""

from __future__ import annotations

from asmevo.ir.isa.model import Family, IssueClass
from asmevo.ir.isa.table import Table

_VOP1 = """
# moves, bits and lanes
v_accvgpr_mov_b32           vdst=32/agpr src0:32/agpr        [only]
v_bfrev_b32                 vdst=32 src0:32
v_clrexcp                                                    fixed [only]
v_ffbh_i32                  vdst=32 src0:32
v_ffbh_u32                  vdst=32 src0:32
v_ffbl_b32                  vdst=32 src0:32
v_mov_b32                   vdst=32 src0:32
v_mov_b64                   vdst=64 src0:64                  @gfx942,gfx950
v_nop                                              [only]
v_not_b32                   vdst=32 src0:32
v_readfirstlane_b32         sdst=32/sreg-no-m0 src0:32/vgpr  cross-lane [only]
v_sat_pk_u8_i16             vdst+32 src0:32                  partial
v_screen_partition_4se_b32  vdst=32 src0:32
v_swap_b32                  vdst+32 src0+32/vgpr             [only]

# conversions
v_cvt_f16_f32               vdst=32 src0:32                  <mode
v_cvt_f16_i16               vdst=32 src0:32                  <mode
v_cvt_f16_u16               vdst=32 src0:32                  <mode
v_cvt_f32_bf8               vdst=32 src0:32                  <mode @gfx942,gfx950
v_cvt_f32_f16               vdst=32 src0:32                  <mode
v_cvt_f32_f64               vdst=32 src0:64                  <mode
v_cvt_f32_fp8               vdst=32 src0:32                  <mode @gfx942,gfx950
v_cvt_f32_i32               vdst=32 src0:32                  <mode
v_cvt_f32_u32               vdst=32 src0:32                  <mode
v_cvt_f32_ubyte0            vdst=32 src0:32
v_cvt_f32_ubyte1            vdst=32 src0:32
v_cvt_f32_ubyte2            vdst=32 src0:32
v_cvt_f32_ubyte3            vdst=32 src0:32
v_cvt_f64_f32               vdst=64 src0:32                  <mode
v_cvt_f64_i32               vdst=64 src0:32                  <mode
v_cvt_f64_u32               vdst=64 src0:32                  <mode
v_cvt_flr_i32_f32           vdst=32 src0:32
v_cvt_i16_f16               vdst+32 src0:32                  <mode partial
v_cvt_i32_f32               vdst=32 src0:32                  <mode
v_cvt_i32_f64               vdst=32 src0:64                  <mode
v_cvt_norm_i16_f16          vdst+32 src0:32                  <mode partial
v_cvt_norm_u16_f16          vdst+32 src0:32                  <mode partial
v_cvt_off_f32_i4            vdst=32 src0:32
v_cvt_pk_f32_bf8            vdst=64 src0:32                  <mode @gfx942,gfx950 [e32,e64,sdwa,dpp]
v_cvt_pk_f32_fp8            vdst=64 src0:32                  <mode @gfx942,gfx950 [e32,e64,sdwa,dpp]
v_cvt_rpi_i32_f32           vdst=32 src0:32
v_cvt_u16_f16               vdst+32 src0:32                  <mode partial
v_cvt_u32_f32               vdst=32 src0:32                  <mode
v_cvt_u32_f64               vdst=32 src0:64                  <mode

# transcendental
v_cos_f16                   vdst=32 src0:32                  <mode trans
v_cos_f32                   vdst=32 src0:32                  <mode trans
v_exp_f16                   vdst=32 src0:32                  <mode trans
v_exp_f32                   vdst=32 src0:32                  <mode trans
v_exp_legacy_f32            vdst=32 src0:32                  <mode trans
v_frexp_exp_i16_f16         vdst=32 src0:32                  <mode
v_frexp_exp_i32_f32         vdst=32 src0:32                  <mode
v_frexp_exp_i32_f64         vdst=32 src0:64                  <mode
v_log_f16                   vdst=32 src0:32                  <mode trans
v_log_f32                   vdst=32 src0:32                  <mode trans
v_log_legacy_f32            vdst=32 src0:32                  <mode trans
v_rcp_f16                   vdst=32 src0:32                  <mode trans
v_rcp_f32                   vdst=32 src0:32                  <mode trans
v_rcp_f64                   vdst=64 src0:64                  <mode trans
v_rcp_iflag_f32             vdst=32 src0:32                  <mode trans
v_rsq_f16                   vdst=32 src0:32                  <mode trans
v_rsq_f32                   vdst=32 src0:32                  <mode trans
v_rsq_f64                   vdst=64 src0:64                  <mode trans
v_sin_f16                   vdst=32 src0:32                  <mode trans
v_sin_f32                   vdst=32 src0:32                  <mode trans
v_sqrt_f16                  vdst=32 src0:32                  <mode trans
v_sqrt_f32                  vdst=32 src0:32                  <mode trans
v_sqrt_f64                  vdst=64 src0:64                  <mode trans

# rounding and parts
v_ceil_f16                  vdst=32 src0:32                  <mode
v_ceil_f32                  vdst=32 src0:32                  <mode
v_ceil_f64                  vdst=64 src0:64                  <mode
v_floor_f16                 vdst=32 src0:32                  <mode
v_floor_f32                 vdst=32 src0:32                  <mode
v_floor_f64                 vdst=64 src0:64                  <mode
v_fract_f16                 vdst=32 src0:32                  <mode
v_fract_f32                 vdst=32 src0:32                  <mode
v_fract_f64                 vdst=64 src0:64                  <mode
v_frexp_mant_f16            vdst=32 src0:32                  <mode
v_frexp_mant_f32            vdst=32 src0:32                  <mode
v_frexp_mant_f64            vdst=64 src0:64                  <mode
v_rndne_f16                 vdst=32 src0:32                  <mode
v_rndne_f32                 vdst=32 src0:32                  <mode
v_rndne_f64                 vdst=64 src0:64                  <mode
v_trunc_f16                 vdst=32 src0:32                  <mode
v_trunc_f32                 vdst=32 src0:32                  <mode
v_trunc_f64                 vdst=64 src0:64                  <mode
"""

_GFX950 = """
# moves, bits and lanes
v_permlane16_swap_b32  vdst+32 src0+32/vgpr  cross-lane [e32,e64]
v_permlane32_swap_b32  vdst+32 src0+32/vgpr  cross-lane [e32,e64]
v_prng_b32             vdst=32 src0:32

# conversions
v_cvt_f32_bf16         vdst=32 src0:32       <mode
"""


def tables() -> tuple[Table, ...]:
    """Return the family's tables."""
    return (
        Table(Family.VOP1, IssueClass.VALU, "<exec", _VOP1),
        Table(Family.VOP1, IssueClass.VALU, "<exec @gfx950", _GFX950),
    )
