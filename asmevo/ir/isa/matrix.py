"""Matrix instructions: MFMA, SMFMAC and the accumulation-register moves.

D is `vdst`, A `src0`, B `src1`, C `src2`; an SMFMAC accumulates into D and takes an index register instead of C. A spelling
without the underscore is gfx90a's; gfx942 accepts it and prints the other. v_mfma_f32_32x32x4bf16 is gfx90a's alone: gfx942
takes that spelling for another shape, 32x32x4_2b_bf16. Passes are of four cycles. EXEC is kept as a read although the hardware
ignores it. Of the f8f6f4 forms the widest shape and the slowest format are given. Source: CDNA3 ISA guide, "Matrix Arithmetic
Instructions", and AMD's matrix instruction calculator; gfx950's double precision from its published peak rate.
"""

from __future__ import annotations

from asmevo.ir.isa.model import Family, IssueClass
from asmevo.ir.isa.table import Table

_MFMA = """
# sparse, smfmac
v_smfmac_f32_16x16x32_bf16     vdst+128 src0:64 src1:128 idx:32     passes 4 smfmac
v_smfmac_f32_16x16x32_f16      vdst+128 src0:64 src1:128 idx:32     passes 4 smfmac
v_smfmac_f32_16x16x64_bf8_bf8  vdst+128 src0:64 src1:128 idx:32     passes 4 smfmac
v_smfmac_f32_16x16x64_bf8_fp8  vdst+128 src0:64 src1:128 idx:32     passes 4 smfmac
v_smfmac_f32_16x16x64_fp8_bf8  vdst+128 src0:64 src1:128 idx:32     passes 4 smfmac
v_smfmac_f32_16x16x64_fp8_fp8  vdst+128 src0:64 src1:128 idx:32     passes 4 smfmac
v_smfmac_f32_32x32x16_bf16     vdst+512 src0:64 src1:128 idx:32     passes 8 smfmac
v_smfmac_f32_32x32x16_f16      vdst+512 src0:64 src1:128 idx:32     passes 8 smfmac
v_smfmac_f32_32x32x32_bf8_bf8  vdst+512 src0:64 src1:128 idx:32     passes 8 smfmac
v_smfmac_f32_32x32x32_bf8_fp8  vdst+512 src0:64 src1:128 idx:32     passes 8 smfmac
v_smfmac_f32_32x32x32_fp8_bf8  vdst+512 src0:64 src1:128 idx:32     passes 8 smfmac
v_smfmac_f32_32x32x32_fp8_fp8  vdst+512 src0:64 src1:128 idx:32     passes 8 smfmac
v_smfmac_i32_16x16x64_i8       vdst+128 src0:64 src1:128 idx:32     passes 4 smfmac
v_smfmac_i32_32x32x32_i8       vdst+512 src0:64 src1:128 idx:32     passes 8 smfmac

# double precision
v_mfma_f64_16x16x4_f64         vdst=256 src0:64 src1:64 src2:256    passes 8,gfx950=16 dgemm
v_mfma_f64_4x4x4_4b_f64        vdst=64 src0:64 src1:64 src2:64      passes 4 dgemm

# single precision and xf32
v_mfma_f32_16x16x1_4b_f32      vdst=512 src0:32 src1:32 src2:512    passes 8 sgemm
v_mfma_f32_16x16x4_f32         vdst=128 src0:32 src1:32 src2:128    passes 8 sgemm
v_mfma_f32_16x16x8_xf32        vdst=128 src0:64 src1:64 src2:128    passes 4 @gfx942
v_mfma_f32_32x32x1_2b_f32      vdst=1024 src0:32 src1:32 src2:1024  passes 16 sgemm
v_mfma_f32_32x32x2_f32         vdst=512 src0:32 src1:32 src2:512    passes 16 sgemm
v_mfma_f32_32x32x4_xf32        vdst=512 src0:64 src1:64 src2:512    passes 8 @gfx942
v_mfma_f32_4x4x1_16b_f32       vdst=128 src0:32 src1:32 src2:128    passes 2 sgemm

# f16 and bf16
v_mfma_f32_16x16x16_bf16       vdst=128 src0:64 src1:64 src2:128    passes 4
v_mfma_f32_16x16x16_f16        vdst=128 src0:64 src1:64 src2:128    passes 4
v_mfma_f32_16x16x4_4b_bf16     vdst=512 src0:64 src1:64 src2:512    passes 8
v_mfma_f32_16x16x4_4b_f16      vdst=512 src0:64 src1:64 src2:512    passes 8
v_mfma_f32_32x32x4_2b_bf16     vdst=1024 src0:64 src1:64 src2:1024  passes 16
v_mfma_f32_32x32x4_2b_f16      vdst=1024 src0:64 src1:64 src2:1024  passes 16
v_mfma_f32_32x32x8_bf16        vdst=512 src0:64 src1:64 src2:512    passes 8
v_mfma_f32_32x32x8_f16         vdst=512 src0:64 src1:64 src2:512    passes 8
v_mfma_f32_4x4x4_16b_bf16      vdst=128 src0:64 src1:64 src2:128    passes 2
v_mfma_f32_4x4x4_16b_f16       vdst=128 src0:64 src1:64 src2:128    passes 2

# fp8 and bf8
v_mfma_f32_16x16x32_bf8_bf8    vdst=128 src0:64 src1:64 src2:128    passes 4
v_mfma_f32_16x16x32_bf8_fp8    vdst=128 src0:64 src1:64 src2:128    passes 4
v_mfma_f32_16x16x32_fp8_bf8    vdst=128 src0:64 src1:64 src2:128    passes 4
v_mfma_f32_16x16x32_fp8_fp8    vdst=128 src0:64 src1:64 src2:128    passes 4
v_mfma_f32_32x32x16_bf8_bf8    vdst=512 src0:64 src1:64 src2:512    passes 8
v_mfma_f32_32x32x16_bf8_fp8    vdst=512 src0:64 src1:64 src2:512    passes 8
v_mfma_f32_32x32x16_fp8_bf8    vdst=512 src0:64 src1:64 src2:512    passes 8
v_mfma_f32_32x32x16_fp8_fp8    vdst=512 src0:64 src1:64 src2:512    passes 8

# i8
v_mfma_i32_16x16x32_i8         vdst=128 src0:64 src1:64 src2:128    passes 4
v_mfma_i32_16x16x4_4b_i8       vdst=512 src0:32 src1:32 src2:512    passes 8
v_mfma_i32_32x32x16_i8         vdst=512 src0:64 src1:64 src2:512    passes 8
v_mfma_i32_32x32x4_2b_i8       vdst=1024 src0:32 src1:32 src2:1024  passes 16
v_mfma_i32_4x4x4_16b_i8        vdst=128 src0:32 src1:32 src2:128    passes 2
"""

_GFX90A_SPELLING = """
# double precision
v_mfma_f64_16x16x4f64       vdst=256 src0:64 src1:64 src2:256    passes 8,gfx950=16 dgemm alias v_mfma_f64_16x16x4_f64
v_mfma_f64_4x4x4f64         vdst=64 src0:64 src1:64 src2:64      passes 4 dgemm alias v_mfma_f64_4x4x4_4b_f64

# single precision and xf32
v_mfma_f32_16x16x1f32       vdst=512 src0:32 src1:32 src2:512    passes 8 sgemm alias v_mfma_f32_16x16x1_4b_f32
v_mfma_f32_16x16x4f32       vdst=128 src0:32 src1:32 src2:128    passes 8 sgemm alias v_mfma_f32_16x16x4_f32
v_mfma_f32_16x16x8xf32      vdst=128 src0:64 src1:64 src2:128    passes 4 @gfx942 alias v_mfma_f32_16x16x8_xf32
v_mfma_f32_32x32x1f32       vdst=1024 src0:32 src1:32 src2:1024  passes 16 sgemm alias v_mfma_f32_32x32x1_2b_f32
v_mfma_f32_32x32x2f32       vdst=512 src0:32 src1:32 src2:512    passes 16 sgemm alias v_mfma_f32_32x32x2_f32
v_mfma_f32_32x32x4xf32      vdst=512 src0:64 src1:64 src2:512    passes 8 @gfx942 alias v_mfma_f32_32x32x4_xf32
v_mfma_f32_4x4x1f32         vdst=128 src0:32 src1:32 src2:128    passes 2 sgemm alias v_mfma_f32_4x4x1_16b_f32

# f16 and bf16
v_mfma_f32_16x16x16bf16     vdst=128 src0:64 src1:64 src2:128    passes 4 @gfx942,gfx950 alias v_mfma_f32_16x16x16_bf16
v_mfma_f32_16x16x16bf16_1k  vdst=128 src0:64 src1:64 src2:128    passes 8,gfx942=4,gfx950=4 alias v_mfma_f32_16x16x16_bf16
v_mfma_f32_16x16x16f16      vdst=128 src0:64 src1:64 src2:128    passes 8,gfx942=4,gfx950=4 alias v_mfma_f32_16x16x16_f16
v_mfma_f32_16x16x2bf16      vdst=512 src0:32 src1:32 src2:512    passes 8 @gfx90a
v_mfma_f32_16x16x4bf16      vdst=512 src0:64 src1:64 src2:512    passes 8 @gfx942,gfx950 alias v_mfma_f32_16x16x4_4b_bf16
v_mfma_f32_16x16x4bf16_1k   vdst=512 src0:64 src1:64 src2:512    passes 8 alias v_mfma_f32_16x16x4_4b_bf16
v_mfma_f32_16x16x4f16       vdst=512 src0:64 src1:64 src2:512    passes 8 alias v_mfma_f32_16x16x4_4b_f16
v_mfma_f32_16x16x8bf16      vdst=128 src0:32 src1:32 src2:128    passes 8 @gfx90a
v_mfma_f32_32x32x2bf16      vdst=1024 src0:32 src1:32 src2:1024  passes 16 @gfx90a
v_mfma_f32_32x32x4bf16      vdst=512 src0:32 src1:32 src2:512    passes 16 @gfx90a
v_mfma_f32_32x32x4bf16_1k   vdst=1024 src0:64 src1:64 src2:1024  passes 16 alias v_mfma_f32_32x32x4_2b_bf16
v_mfma_f32_32x32x4f16       vdst=1024 src0:64 src1:64 src2:1024  passes 16 alias v_mfma_f32_32x32x4_2b_f16
v_mfma_f32_32x32x8bf16      vdst=512 src0:64 src1:64 src2:512    passes 8 @gfx942,gfx950 alias v_mfma_f32_32x32x8_bf16
v_mfma_f32_32x32x8bf16_1k   vdst=512 src0:64 src1:64 src2:512    passes 16,gfx942=8,gfx950=8 alias v_mfma_f32_32x32x8_bf16
v_mfma_f32_32x32x8f16       vdst=512 src0:64 src1:64 src2:512    passes 16,gfx942=8,gfx950=8 alias v_mfma_f32_32x32x8_f16
v_mfma_f32_4x4x2bf16        vdst=128 src0:32 src1:32 src2:128    passes 2 @gfx90a
v_mfma_f32_4x4x4bf16        vdst=128 src0:64 src1:64 src2:128    passes 2 @gfx942,gfx950 alias v_mfma_f32_4x4x4_16b_bf16
v_mfma_f32_4x4x4bf16_1k     vdst=128 src0:64 src1:64 src2:128    passes 2 alias v_mfma_f32_4x4x4_16b_bf16
v_mfma_f32_4x4x4f16         vdst=128 src0:64 src1:64 src2:128    passes 2 alias v_mfma_f32_4x4x4_16b_f16

# i8
v_mfma_i32_16x16x16i8       vdst=128 src0:32 src1:32 src2:128    passes 8 @gfx90a
v_mfma_i32_16x16x32i8       vdst=128 src0:64 src1:64 src2:128    passes 4 @gfx942,gfx950 alias v_mfma_i32_16x16x32_i8
v_mfma_i32_16x16x4i8        vdst=512 src0:32 src1:32 src2:512    passes 8 alias v_mfma_i32_16x16x4_4b_i8
v_mfma_i32_32x32x16i8       vdst=512 src0:64 src1:64 src2:512    passes 8 @gfx942,gfx950 alias v_mfma_i32_32x32x16_i8
v_mfma_i32_32x32x4i8        vdst=1024 src0:32 src1:32 src2:1024  passes 16 alias v_mfma_i32_32x32x4_2b_i8
v_mfma_i32_32x32x8i8        vdst=512 src0:32 src1:32 src2:512    passes 16 @gfx90a
v_mfma_i32_4x4x4i8          vdst=128 src0:32 src1:32 src2:128    passes 2 alias v_mfma_i32_4x4x4_16b_i8
"""

_GFX950 = """
# sparse, smfmac
v_smfmac_f32_16x16x128_bf8_bf8  vdst+128 src0:128 src1:256 idx:32    passes 4 smfmac
v_smfmac_f32_16x16x128_bf8_fp8  vdst+128 src0:128 src1:256 idx:32    passes 4 smfmac
v_smfmac_f32_16x16x128_fp8_bf8  vdst+128 src0:128 src1:256 idx:32    passes 4 smfmac
v_smfmac_f32_16x16x128_fp8_fp8  vdst+128 src0:128 src1:256 idx:32    passes 4 smfmac
v_smfmac_f32_16x16x64_bf16      vdst+128 src0:128 src1:256 idx:32    passes 4 smfmac
v_smfmac_f32_16x16x64_f16       vdst+128 src0:128 src1:256 idx:32    passes 4 smfmac
v_smfmac_f32_32x32x32_bf16      vdst+512 src0:128 src1:256 idx:32    passes 8 smfmac
v_smfmac_f32_32x32x32_f16       vdst+512 src0:128 src1:256 idx:32    passes 8 smfmac
v_smfmac_f32_32x32x64_bf8_bf8   vdst+512 src0:128 src1:256 idx:32    passes 8 smfmac
v_smfmac_f32_32x32x64_bf8_fp8   vdst+512 src0:128 src1:256 idx:32    passes 8 smfmac
v_smfmac_f32_32x32x64_fp8_bf8   vdst+512 src0:128 src1:256 idx:32    passes 8 smfmac
v_smfmac_f32_32x32x64_fp8_fp8   vdst+512 src0:128 src1:256 idx:32    passes 8 smfmac
v_smfmac_i32_16x16x128_i8       vdst+128 src0:128 src1:256 idx:32    passes 4 smfmac
v_smfmac_i32_32x32x64_i8        vdst+512 src0:128 src1:256 idx:32    passes 8 smfmac

# f16 and bf16
v_mfma_f32_16x16x32_bf16        vdst=128 src0:128 src1:128 src2:128  passes 4
v_mfma_f32_16x16x32_f16         vdst=128 src0:128 src1:128 src2:128  passes 4
v_mfma_f32_16x16x32bf16         vdst=128 src0:128 src1:128 src2:128  passes 4 alias v_mfma_f32_16x16x32_bf16
v_mfma_f32_16x16x32f16          vdst=128 src0:128 src1:128 src2:128  passes 4 alias v_mfma_f32_16x16x32_f16
v_mfma_f32_32x32x16_bf16        vdst=512 src0:128 src1:128 src2:512  passes 8
v_mfma_f32_32x32x16_f16         vdst=512 src0:128 src1:128 src2:512  passes 8
v_mfma_f32_32x32x16bf16         vdst=512 src0:128 src1:128 src2:512  passes 8 alias v_mfma_f32_32x32x16_bf16
v_mfma_f32_32x32x16f16          vdst=512 src0:128 src1:128 src2:512  passes 8 alias v_mfma_f32_32x32x16_f16

# i8
v_mfma_i32_16x16x64_i8          vdst=128 src0:128 src1:128 src2:128  passes 4
v_mfma_i32_16x16x64i8           vdst=128 src0:128 src1:128 src2:128  passes 4 alias v_mfma_i32_16x16x64_i8
v_mfma_i32_32x32x32_i8          vdst=512 src0:128 src1:128 src2:512  passes 8
v_mfma_i32_32x32x32i8           vdst=512 src0:128 src1:128 src2:512  passes 8 alias v_mfma_i32_32x32x32_i8
"""

_BLOCK_SCALED = """
# block-scaled
v_mfma_f32_16x16x128_f8f6f4        vdst=128 src0:256 src1:256 src2:128                      passes 8
v_mfma_f32_32x32x64_f8f6f4         vdst=512 src0:256 src1:256 src2:512                      passes 16
v_mfma_ld_scale_b32                src0:32/src-nolit src1:32/src-nolit                      fixed
v_mfma_scale_f32_16x16x128_f8f6f4  vdst=128 src0:256 src1:256 src2:128 scale0:32 scale1:32  passes 8
v_mfma_scale_f32_32x32x64_f8f6f4   vdst=512 src0:256 src1:256 src2:512 scale0:32 scale1:32  passes 16
"""

_MOVES = """
# between the two register files
v_accvgpr_read_b32   vdst=32/vgpr src0:32/agpr
v_accvgpr_write_b32  vdst=32/agpr src0:32/src-nolit
"""


def tables() -> tuple[Table, ...]:
    """Return the family's tables."""
    return (
        Table(Family.MATRIX, IssueClass.MATRIX, "<exec,mode @gfx942,gfx950", _MFMA),
        Table(Family.MATRIX, IssueClass.MATRIX, "<exec,mode", _GFX90A_SPELLING),
        Table(Family.MATRIX, IssueClass.MATRIX, "<exec,mode @gfx950", _GFX950),
        Table(Family.MATRIX, IssueClass.MATRIX, "<exec,mode @gfx950", _BLOCK_SCALED),
        Table(Family.MATRIX, IssueClass.VALU, "<exec", _MOVES),
    )
