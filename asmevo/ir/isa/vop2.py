"""VOP2: two-source vector instructions.

Carry-out and carry-in are printed: `vcc` in e32, an SGPR pair in e64; both are the operands `sdst` and `src2` here. Source:
CDNA3 ISA guide, VOP2.
"""

from __future__ import annotations

from asmevo.ir.isa.model import Family, IssueClass
from asmevo.ir.isa.table import Table

_VOP2 = """
# dot products
v_dot2c_f32_f16   vdst+32 src0:32 src1:32                       <mode dot [e32,e64,dpp]
v_dot2c_i32_i16   vdst+32 src0:32 src1:32                       dot [e32,e64,dpp]
v_dot4c_i32_i8    vdst+32 src0:32 src1:32                       dot [e32,e64,dpp]
v_dot8c_i32_i4    vdst+32 src0:32 src1:32                       dot [e32,e64,dpp]

# float
v_add_f16         vdst=32 src0:32 src1:32                       <mode
v_add_f32         vdst=32 src0:32 src1:32                       <mode
v_fmaak_f32       vdst=32 src0:32/src src1:32/vgpr imm32:0      <mode @gfx942,gfx950 [only]
v_fmac_f32        vdst+32 src0:32 src1:32                       <mode [e32,e64,dpp]
v_fmac_f64        vdst+64 src0:64 src1:64                       <mode
v_fmamk_f32       vdst=32 src0:32/src imm32:0 src1:32/vgpr      <mode @gfx942,gfx950 [only]
v_ldexp_f16       vdst=32 src0:32 src1:32                       <mode
v_mac_f16         vdst+32 src0:32 src1:32                       <mode partial [e32,e64,dpp]
v_mac_f32         vdst+32 src0:32 src1:32                       <mode @gfx90a [e32,e64,dpp]
v_madak_f16       vdst+32 src0:32/src src1:32/vgpr imm32:0      <mode partial [only]
v_madak_f32       vdst=32 src0:32/src src1:32/vgpr imm32:0      <mode @gfx90a [only]
v_madmk_f16       vdst+32 src0:32/src imm32:0 src1:32/vgpr      <mode partial [only]
v_madmk_f32       vdst=32 src0:32/src imm32:0 src1:32/vgpr      <mode @gfx90a [only]
v_max_f16         vdst=32 src0:32 src1:32                       <mode
v_max_f32         vdst=32 src0:32 src1:32                       <mode
v_min_f16         vdst=32 src0:32 src1:32                       <mode
v_min_f32         vdst=32 src0:32 src1:32                       <mode
v_mul_f16         vdst=32 src0:32 src1:32                       <mode
v_mul_f32         vdst=32 src0:32 src1:32                       <mode
v_pk_fmac_f16     vdst+32 src0:32 src1:32                       <mode
v_sub_f16         vdst=32 src0:32 src1:32                       <mode
v_sub_f32         vdst=32 src0:32 src1:32                       <mode
v_subrev_f16      vdst=32 src0:32 src1:32                       <mode
v_subrev_f32      vdst=32 src0:32 src1:32                       <mode

# integer and shifts
v_add_co_u32      vdst=32 sdst=64 src0:32 src1:32
v_add_u16         vdst=32 src0:32 src1:32
v_add_u32         vdst=32 src0:32 src1:32
v_addc_co_u32     vdst=32 sdst=64 src0:32 src1:32 src2:64/mask  carry-in
v_ashrrev_i16     vdst=32 src0:32 src1:32
v_ashrrev_i32     vdst=32 src0:32 src1:32
v_lshlrev_b16     vdst=32 src0:32 src1:32
v_lshlrev_b32     vdst=32 src0:32 src1:32
v_lshrrev_b16     vdst=32 src0:32 src1:32
v_lshrrev_b32     vdst=32 src0:32 src1:32
v_max_i16         vdst=32 src0:32 src1:32
v_max_i32         vdst=32 src0:32 src1:32
v_max_u16         vdst=32 src0:32 src1:32
v_max_u32         vdst=32 src0:32 src1:32
v_min_i16         vdst=32 src0:32 src1:32
v_min_i32         vdst=32 src0:32 src1:32
v_min_u16         vdst=32 src0:32 src1:32
v_min_u32         vdst=32 src0:32 src1:32
v_mul_hi_i32_i24  vdst=32 src0:32 src1:32
v_mul_hi_u32_u24  vdst=32 src0:32 src1:32
v_mul_i32_i24     vdst=32 src0:32 src1:32
v_mul_lo_u16      vdst=32 src0:32 src1:32
v_mul_u32_u24     vdst=32 src0:32 src1:32
v_sub_co_u32      vdst=32 sdst=64 src0:32 src1:32
v_sub_u16         vdst=32 src0:32 src1:32
v_sub_u32         vdst=32 src0:32 src1:32
v_subb_co_u32     vdst=32 sdst=64 src0:32 src1:32 src2:64/mask  carry-in
v_subbrev_co_u32  vdst=32 sdst=64 src0:32 src1:32 src2:64/mask  carry-in
v_subrev_co_u32   vdst=32 sdst=64 src0:32 src1:32
v_subrev_u16      vdst=32 src0:32 src1:32
v_subrev_u32      vdst=32 src0:32 src1:32

# bits and selection
v_and_b32         vdst=32 src0:32 src1:32
v_cndmask_b32     vdst=32 src0:32 src1:32 src2:64/mask          carry-in
v_or_b32          vdst=32 src0:32 src1:32
v_xnor_b32        vdst=32 src0:32 src1:32
v_xor_b32         vdst=32 src0:32 src1:32
"""

_LANES = """
# lanes
v_readlane_b32   sdst=32/sreg-no-m0 src0:32/vgpr src1:32/ssrc-nolit  cross-lane no-exec [only]
v_writelane_b32  vdst+32 src0:32/ssrc-nolit src1:32/ssrc-nolit       cross-lane no-exec partial [only]
"""

_GFX950 = """
# dot products
v_dot2c_f32_bf16  vdst+32 src0:32 src1:32  <mode dot [e32,e64,dpp]
"""


def tables() -> tuple[Table, ...]:
    """Return the family's tables."""
    return (
        Table(Family.VOP2, IssueClass.VALU, "<exec", _VOP2),
        Table(Family.VOP2, IssueClass.VALU, "", _LANES),
        Table(Family.VOP2, IssueClass.VALU, "<exec @gfx950", _GFX950),
    )
