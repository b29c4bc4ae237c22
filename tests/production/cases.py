"""Every production kernel that has a reference, with the launches that it is tried on."""

from __future__ import annotations

from tests.production import gemm
from tests.production.trial import Case

EXACT = "exact: every step is published and followed"

CASES: tuple[Case, ...] = (
    Case(
        "i8gemm", "i8gemm/I8gemm_bf16_perTokenI8_BpreShuffle_16x128.co", "16 x 128 x 256",
        lambda: gemm.int8(16, 128, 256, (16, 128)), EXACT,
    ),
    Case(
        "i8gemm", "i8gemm/I8gemm_bf16_perTokenI8_BpreShuffle_16x128.co", "21 x 256 x 512, k split in 2",
        lambda: gemm.int8(21, 256, 512, (16, 128), 2), EXACT,
    ),
    Case(
        "gemm_a8w8", "gemm_a8w8_m128_noSplitK.co", "256 x 128 x 512", lambda: gemm.int8_old(256, 128, 512), EXACT,
        "s_and_b32 at 0x13c reads s61, which nothing wrote (for an address that is never used)",
    ),
    Case(
        "bf16gemm", "bf16gemm/bf16gemm_fp32bf16_tn_32x64_pf3_splitk.co", "50 x 128 x 320 to float32",
        lambda: gemm.bf16(50, 128, 320, (32, 64), shuffled=False), EXACT,
    ),
    Case(
        "bf16gemm", "bf16gemm/bf16gemm_fp32bf16_tn_48x64_bshuffle_splitk.co", "70 x 128 x 256 to bfloat16",
        lambda: gemm.bf16(70, 128, 256, (48, 64), shuffled=True, to="bf16"), EXACT,
    ),
    Case(
        "fp8gemm_blockscale", "fp8gemm_blockscale/fp8gemm_bf16_blockscale_BpreShuffle_32x128.co", "50 x 256 x 512",
        lambda: gemm.fp8_blockscale(50, 256, 512, (32, 128)), EXACT,
    ),
    Case(
        "fp8gemm_blockscale", "fp8gemm_blockscale/fp8gemm_bf16_blockscale_BpreShuffle_128x128.co", "150 x 128 x 384",
        lambda: gemm.fp8_blockscale(150, 128, 384, (128, 128)), EXACT,
    ),
    Case(
        "flatmm", "flatmm_uk_gfx9_f16f8_128x256x128_1x4x1_16x16x32.co", "128 x 512 x 256",
        lambda: gemm.flatmm(128, 512, 256), EXACT,
    ),
)  # fmt: skip
