"""VOP3P: packed, mixed-precision and dot-product instructions.

Packed f32 instructions take register pairs; op_sel and op_sel_hi choose the halves. Source: CDNA3 ISA guide, VOP3P.
"""

from __future__ import annotations

from asmevo.ir.isa.model import Family, IssueClass
from asmevo.ir.isa.table import Table

_VOP3P = """
# packed 32-bit float
v_pk_add_f32      vdst=64 src0:64 src1:64          <mode packed-f32
v_pk_fma_f32      vdst=64 src0:64 src1:64 src2:64  <mode packed-f32
v_pk_mov_b32      vdst=64 src0:64 src1:64          packed-f32
v_pk_mul_f32      vdst=64 src0:64 src1:64          <mode packed-f32

# packed 16-bit float
v_pk_add_f16      vdst=32 src0:32 src1:32          <mode
v_pk_fma_f16      vdst=32 src0:32 src1:32 src2:32  <mode
v_pk_max_f16      vdst=32 src0:32 src1:32          <mode
v_pk_min_f16      vdst=32 src0:32 src1:32          <mode
v_pk_mul_f16      vdst=32 src0:32 src1:32          <mode

# packed 16-bit integer
v_pk_add_i16      vdst=32 src0:32 src1:32
v_pk_add_u16      vdst=32 src0:32 src1:32
v_pk_ashrrev_i16  vdst=32 src0:32 src1:32
v_pk_lshlrev_b16  vdst=32 src0:32 src1:32
v_pk_lshrrev_b16  vdst=32 src0:32 src1:32
v_pk_mad_i16      vdst=32 src0:32 src1:32 src2:32
v_pk_mad_u16      vdst=32 src0:32 src1:32 src2:32
v_pk_max_i16      vdst=32 src0:32 src1:32
v_pk_max_u16      vdst=32 src0:32 src1:32
v_pk_min_i16      vdst=32 src0:32 src1:32
v_pk_min_u16      vdst=32 src0:32 src1:32
v_pk_mul_lo_u16   vdst=32 src0:32 src1:32
v_pk_sub_i16      vdst=32 src0:32 src1:32
v_pk_sub_u16      vdst=32 src0:32 src1:32

# mixed precision
v_fma_mix_f32     vdst=32 src0:32 src1:32 src2:32  <mode
v_fma_mixhi_f16   vdst+32 src0:32 src1:32 src2:32  <mode partial
v_fma_mixlo_f16   vdst+32 src0:32 src1:32 src2:32  <mode partial

# dot products
v_dot2_f32_f16    vdst=32 src0:32 src1:32 src2:32  <mode dot
v_dot2_i32_i16    vdst=32 src0:32 src1:32 src2:32  dot
v_dot2_u32_u16    vdst=32 src0:32 src1:32 src2:32  dot
v_dot4_i32_i8     vdst=32 src0:32 src1:32 src2:32  dot
v_dot4_u32_u8     vdst=32 src0:32 src1:32 src2:32  dot
v_dot8_i32_i4     vdst=32 src0:32 src1:32 src2:32  dot
v_dot8_u32_u4     vdst=32 src0:32 src1:32 src2:32  dot
"""

_GFX950 = """
# packed 16-bit float
v_pk_maximum3_f16  vdst=32 src0:32 src1:32 src2:32  <mode
v_pk_minimum3_f16  vdst=32 src0:32 src1:32 src2:32  <mode

# dot products
v_dot2_f32_bf16    vdst=32 src0:32 src1:32 src2:32  <mode dot
"""


def tables() -> tuple[Table, ...]:
    """Return the family's tables."""
    return (
        Table(Family.VOP3P, IssueClass.VALU, "<exec", _VOP3P),
        Table(Family.VOP3P, IssueClass.VALU, "<exec @gfx950", _GFX950),
    )
