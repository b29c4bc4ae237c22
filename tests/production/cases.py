"""Every production kernel that has a reference, with the launches that it is tried on."""

from __future__ import annotations

from tests.production import collective, fmha_backward, fmha_forward, gemm, latent, moe, paged, topk
from tests.production.trial import Case, Given, Wanted

EXACT = "exact: every step is published, and followed"
ROUNDED_ALIKE = (
    "exact where v_exp_f32 and v_rcp_f32 round correctly; bounds allow them their 1 ULP, after which a weight may move to the "
    "next narrow number"
)
GRADIENTS = (
    "dK and dV as in the forward kernels; dQ's terms too, but they are summed once in float64: a quarter of the bits must "
    "agree, and all results lie within what v_exp_f32's ULP may do"
)
SELECTED = "exact as a set: the order within a row is free"
SHARES = "indices exact; weights 1e-6: v_exp_f32 and v_rcp_f32 twice within 1 ULP, and sums of up to 640 in another order"

_OVERWRITES = "behind the loop, ds_write_b32 overwrites what another wave reads in it, with no barrier and wait between"


def _paged(
    path: str,
    shape: str,
    sequences: int,
    most: int,
    heads: int,
    group: int,
    why_fast: str = "",
    narrow: paged.Narrow | None = None,
) -> Case:
    def reference(given: Given) -> Wanted:
        if narrow:
            return paged.scaled(given, sequences, most, heads, group, narrow)
        return paged.plain(given, sequences, most, heads, group)

    return Case("pa", f"pa/{path}.co", shape, reference, ROUNDED_ALIKE, why_fast, {"out": 0.999})


def _forward(path: str, shape: str, *sizes: int, causal: bool = False, quantised: bool = False) -> Case:
    return Case(
        f"fmha_v3_fwd {'FP8' if quantised else 'bf16'}", f"fmha_v3_fwd/MI300/{path}.co", shape,
        lambda given: fmha_forward.forward(given, *sizes, causal=causal, quantised=quantised), ROUNDED_ALIKE,
        alike={"out": 0.999, "lse": 0.5},
    )  # fmt: skip


def _backward(path: str, shape: str, *sizes: int, causal: bool = False) -> Case:
    return Case(
        "fmha_v3_bwd", f"fmha_v3_bwd/{path}.co", shape, lambda given: fmha_backward.backward(given, *sizes, causal=causal),
        GRADIENTS, _OVERWRITES if "hd128" in path else "", {"dq": 0.25, "dk": 0.999, "dv": 0.999},
    )  # fmt: skip


def _experts(kind: str, path: str, shape: str, *sizes: int) -> Case:
    return Case(
        f"fmoe {kind}", f"fmoe/silu/{path}.co", shape,
        lambda given: moe.int8(given, *sizes) if kind == "int8" else moe.fp8_blockscale(given, *sizes),
        ROUNDED_ALIKE, alike={"out": 0.999},
    )  # fmt: skip


CASES: tuple[Case, ...] = (
    Case("topksoftmax", "topksoftmax/topksoftmax_4x128x4.co", "7 x 128", lambda g: topk.softmax(g, 7, 128, 4), SHARES),
    Case("topksoftmax", "topksoftmax/topksoftmax_12x256x8.co", "30 x 256", lambda g: topk.softmax(g, 30, 256, 8), SHARES),
    Case(
        "topksoftmax", "topksoftmax/topksoftmax_4x640x8.co", "9 x 640, not rescaled",
        lambda g: topk.softmax(g, 9, 640, 8, renormalise=False), SHARES,
    ),
    Case(
        "topksoftmax", "topksoftmax/topksoftmax_4x384x8_bf16.co", "7 x 384, bfloat16",
        lambda g: topk.softmax(g, 7, 384, 8), SHARES,
    ),
    Case(
        "topk_per_row", "topk_per_row_prefill/asm_top_k_per_row_prefill.co", "rows of 3,000 and 1,500",
        lambda g: topk.prefill(g, 2, 4096), SELECTED,
    ),
    Case(
        "topk_per_row", "topk_per_row_decode/asm_top_k_per_row_decode.co", "rows of 3,000, 2,999, 1,500 and 1,499",
        lambda g: topk.decode(g, 4, 4096, 2), SELECTED,
    ),
    Case(
        "i8gemm", "i8gemm/I8gemm_bf16_perTokenI8_BpreShuffle_16x128.co", "16 x 128 x 256",
        lambda g: gemm.int8(g, 16, 128, 256), EXACT,
    ),
    Case(
        "i8gemm", "i8gemm/I8gemm_bf16_perTokenI8_BpreShuffle_16x128.co", "21 x 256 x 512, k split in 2",
        lambda g: gemm.int8(g, 21, 256, 512, 2), EXACT,
    ),
    Case(
        "gemm_a8w8", "gemm_a8w8_m128_noSplitK.co", "256 x 128 x 512", lambda g: gemm.int8_old(g, 256, 128, 512), EXACT,
        "s_and_b32 at 0x13c reads s61, which nothing wrote, for an address that is never used",
    ),
    Case(
        "bf16gemm", "bf16gemm/bf16gemm_fp32bf16_tn_32x64_pf3_splitk.co", "50 x 128 x 320 to float32",
        lambda g: gemm.bf16(g, 50, 128, 320, shuffled=False), EXACT,
    ),
    Case(
        "bf16gemm", "bf16gemm/bf16gemm_fp32bf16_tn_48x64_bshuffle_splitk.co", "70 x 128 x 256 to bfloat16",
        lambda g: gemm.bf16(g, 70, 128, 256, shuffled=True, narrow=True), EXACT,
    ),
    Case(
        "bf16gemm", "bf16gemm/bf16gemm_fp32bf16_tn_160x64_bshuffle_splitk.co", "170 x 64 x 128 to bfloat16",
        lambda g: gemm.bf16(g, 170, 64, 128, shuffled=True, narrow=True), EXACT,
    ),
    Case(
        "fp8gemm_blockscale", "fp8gemm_blockscale/fp8gemm_bf16_blockscale_BpreShuffle_32x128.co", "50 x 256 x 512",
        lambda g: gemm.fp8_blockscale(g, 50, 256, 512), EXACT,
    ),
    Case(
        "fp8gemm_blockscale", "fp8gemm_blockscale/fp8gemm_bf16_blockscale_BpreShuffle_128x128.co", "150 x 128 x 384",
        lambda g: gemm.fp8_blockscale(g, 150, 128, 384), EXACT,
    ),
    Case(
        "flatmm", "flatmm_uk_gfx9_f16f8_128x256x128_1x4x1_16x16x32.co", "128 x 256 x 512",
        lambda g: gemm.flatmm(g, 128, 256, 512), EXACT,
    ),
    _paged("pa_bf16_noquant_gqa8_1tg_4w", "1 x 8 heads, 100 tokens", 1, 7, 1, 8),
    _paged(
        "pa_bf16_noquant_gqa8_1tg_4w", "2 x 8 heads; 100, 300 and 17 tokens", 3, 19, 2, 8,
        "v_mov_b32_dpp at 0x1630 reads v16 before buffer_load_dword at 0xb70 is waited for",
    ),
    _paged(
        "pa_bf16_noquant_gqa16_1tg_4w", "1 x 16 heads; 100 and 700 tokens", 2, 44, 1, 16,
        "v_mov_b32_dpp at 0x30a4 reads v16 before buffer_load_dword at 0x2518 is waited for",
    ),
    _paged(
        "pa_bf16_pertokenFp8_gqa8_2tg_4w", "2 x 8 heads; 100 and 700 tokens, FP8", 2, 44, 2, 8, narrow=paged.FP8_TOKENS
    ),
    _paged(
        "pa_bf16_pertokenFp8_gqa16_2tg_4w", "1 x 16 heads; 100 and 700 tokens, FP8", 2, 44, 1, 16,
        "v_mfma at 0x3d8c reads v88 before ds_read_b64 at 0x3d24 is waited for", paged.FP8_TOKENS,
    ),
    _paged(
        "pa_bf16_pertokenInt8_gqa8_2tg_4w", "2 x 8 heads; 100 and 700 tokens, int8", 2, 44, 2, 8, narrow=paged.INT8_TOKENS
    ),
    Case(
        "mla", "mla/mla_dec_stage1_bf16_a16w16_subQ16_mqa16.co", "16 heads; 100 and 33 tokens",
        lambda g: latent.decode(g, 2, 133, 16), ROUNDED_ALIKE,
        "s_waitcnt lgkmcnt(8) at 0x3008 leaves 4 ds_write_b128 that other waves read after the barrier",
        {"partial": 0.999, "lse": 0.5},
    ),
    Case(
        "mla", "mla/mla_a16w16_qh8_qseqlen1_gqaratio8_v3.co", "8 heads; 64 and 100 tokens",
        lambda g: latent.decode(g, 2, 164, 8), ROUNDED_ALIKE,
        "ds_read_b128 at 0x67c reads rows 8 to 15 of a query tile that has 8 rows", {"partial": 0.999, "lse": 0.5},
    ),
    Case(
        "mla", "mla/mla_a16w16_qh16_m16x4_n16x1_coex0_mask1.co", "4 queries of 16 heads; 64 and 100 tokens",
        lambda g: latent.decode(g, 2, 164, 16, 4, 16, final=True), ROUNDED_ALIKE,
        "v_mul_u32_u24_dpp at 0x29f4 reads v11 before buffer_load_dword at 0xeb4 is waited for", {"partial": 0.999},
    ),
    Case(
        "mla", "mla/mla_a16w16_qh16_m32x4_n16x1_coex0_mask1.co", "8 queries of 16 heads; 64 and 100 tokens",
        lambda g: latent.decode(g, 2, 164, 16, 8, 16, final=True), ROUNDED_ALIKE,
        "v_mul_u32_u24_dpp at 0x4584 reads v11 before buffer_load_dword at 0x175c is waited for", {"partial": 0.999},
    ),
    _forward("fwd_hd128_bf16_rtne", "2 x 4 heads, 300 x 210", 2, 4, 2, 300, 210),
    _forward("fwd_hd128_bf16_causal_rtne", "2 heads, 512 x 512", 1, 2, 2, 512, 512, causal=True),
    _forward("fwd_hd128_fp8", "2 heads, 300 x 200", 1, 2, 1, 300, 200, quantised=True),
    _forward("fwd_hd128_fp8_causal", "1 head, 300 x 300", 1, 1, 1, 300, 300, causal=True, quantised=True),
    _backward("bwd_hd128_bf16_a32_rtne", "1 head, 192 x 192", 1, 1, 1, 192, 192, 128),
    _backward("bwd_hd64_bf16_a32_rtne_pssk", "2 heads, 100 x 130", 1, 2, 1, 100, 130, 64),
    _backward("bwd_hd64_bf16_causal_a32_rtne_pssk", "2 heads, 200 x 200", 1, 2, 1, 200, 200, 64, causal=True),
    _backward("bwd_hd128_bf16_causal_a32_rtne", "1 head, 384 x 384", 1, 1, 1, 384, 384, 128, causal=True),
    _experts("int8", "fmoe_bf16_pertokenInt8_g1u1_silu_1tg_32x128", "20 tokens, 1 of 2 experts, 512, 128", 20, 512, 128, 2),
    _experts(
        "int8", "fmoe_bf16_pertokenInt8_g1u1_vs_silu_1tg_32x256", "50 tokens, 2 of 3 experts, 512, 256", 50, 512, 256, 3
    ),
    _experts(
        "FP8", "fmoe_bf16_blockscaleFp8_g1u1_novs_silu_1tg_32x128", "20 tokens, 1 of 2 experts, 512, 128", 20, 512, 2
    ),
    _experts(
        "FP8", "fmoe_bf16_blockscaleFp8_g1u1_vs_silu_1tg_32x128", "50 tokens, 2 of 3 experts, 512, 128", 50, 512, 3
    ),
    Case(
        "allreduce + rmsnorm", "allreduce_rmsnorm_N8192.co", "a row of 8,192 of 8 ranks",
        lambda g: collective.all_reduce_rms_norm(g, 1), "exact where v_rsq_f32 rounds correctly; bounds allow it its 1 ULP",
        alike={name: 0.999 for name in ("out0", "out7", "sum0", "sum7")},
    ),
)  # fmt: skip
