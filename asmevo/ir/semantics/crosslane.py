"""Instructions that read other lanes: readlane, readfirstlane, bpermute, swizzle, swaps; writelane and permute as intrinsics.

v_writelane_b32 gives lane `src1` of vdst the scalar `src0`, whatever EXEC says. ds_permute_b32 pushes: an active lane's data0
goes to lane (addr + offset) / 4 modulo 64, the highest active source wins, lanes that nothing reaches get 0.
Source: CDNA3 ISA guide, "V_READLANE_B32", "DS_PERMUTE_B32", "DS_SWIZZLE_B32"; CDNA4 ISA
guide, "V_PERMLANE32_SWAP_B32".
"""

from __future__ import annotations

from asmevo.ir.semantics import build as b
from asmevo.ir.semantics.expr import Domain, Expr, Program, Write
from asmevo.ir.semantics.form import Form

INTRINSICS = frozenset({"v_writelane_b32", "ds_permute_b32"})


def _active_or_zero(name: str, index: Expr) -> Expr:
    return b.ite(b.lane_active(index), b.gather(name, index), b.const(32, 0))


def _swizzle_lane(pattern: Expr) -> Expr:
    """The lane a swizzle reads: four lanes permuted (bit 15), else within 32 lanes by and, or and xor masks."""
    lane = b.lane()
    one, three = b.const(32, 1), b.const(32, 3)
    amount = b.shl(b.and_(lane, three), one)
    quad = b.or_(b.and_(lane, b.const(32, 0x3C)), b.and_(b.lshr(pattern, amount), three))

    def field(low: int) -> Expr:
        return b.zext(b.extract(pattern, low, 5), 32)

    inner = b.xor(b.or_(b.and_(lane, field(0)), field(5)), field(10))
    masked = b.or_(b.and_(lane, b.const(32, 32)), b.and_(inner, b.const(32, 31)))
    return b.ite(b.extract(pattern, 15, 1), quad, masked)


def _turned_lane(pattern: Expr) -> Expr:
    """The lane a swizzle in rotation or (bit 13) FFT order reads, within 32 lanes; its low 5 bits mask bits that stay."""
    lane = b.lane()
    low = b.and_(lane, b.const(32, 31))
    mask = b.and_(pattern, b.const(32, 31))
    amount = b.zext(b.extract(pattern, 5, 5), 32)
    moved = b.ite(b.extract(pattern, 10, 1), b.sub(low, amount), b.add(low, amount))
    rotated = b.and_(moved, b.not_(mask))
    reversed_ = b.lshr(b.bitrev(low), b.const(32, 27))
    spread = b.lshr(reversed_, b.popcount(mask))
    chosen = b.ite(b.extract(pattern, 13, 1), spread, rotated)
    inner = b.and_(b.or_(chosen, b.and_(low, mask)), b.const(32, 31))
    return b.or_(b.and_(lane, b.const(32, 32)), inner)


def _swap(form: Form) -> Program:
    """v_permlane{16,32}_swap: the destination's odd groups of lanes change places with the source's even ones.

    What an inactive lane would give is not taken: the register keeps its value, or with bound_ctrl becomes 0.
    """
    size = int(form.name.removeprefix("v_permlane").partition("_")[0])
    lane = b.lane()
    odd = b.nonzero(b.and_(lane, b.const(32, size)))
    other = b.xor(lane, b.const(32, size))
    there = b.lane_active(other)

    def taken(name: str, own: str) -> Expr:
        missing = b.const(32, 0) if form.modifier("bound_ctrl") else b.old(own, 32)
        return b.ite(there, b.gather(name, other), missing)

    first = b.ite(odd, taken("src0", "vdst"), b.old("vdst", 32))
    second = b.ite(odd, b.old("src0", 32), taken("vdst", "src0"))
    return Program(Domain.LANE, (Write("vdst", first), Write("src0", second)))


def program(form: Form) -> Program | None:
    """The program of a cross-lane instruction; None for others."""
    match form.name:
        case "v_readfirstlane_b32":
            active = b.special("exec")
            first = b.ite(b.is_zero(active), b.const(32, 0), b.extract(b.ctz(active), 0, 32))
            return Program(Domain.SCALAR, (Write("sdst", b.gather("src0", first)),))
        case "v_permlane16_swap_b32" | "v_permlane32_swap_b32":
            return _swap(form)
        case "v_readlane_b32":
            index = b.and_(b.src("src1", 32), b.const(32, 63))
            return Program(Domain.SCALAR, (Write("sdst", b.gather("src0", index)),))
        case "ds_bpermute_b32":
            address = b.add(b.src("addr", 32), b.imm("offset", 32))
            index = b.and_(b.lshr(address, b.const(32, 2)), b.const(32, 63))
            return Program(Domain.LANE, (Write("vdst", _active_or_zero("data0", index)),))
        case "ds_swizzle_b32":
            index = (_turned_lane if form.modifier("rotate") else _swizzle_lane)(b.imm("offset", 32))
            return Program(Domain.LANE, (Write("vdst", _active_or_zero("addr", index)),))
        case name if name in INTRINSICS:
            return Program(Domain.INTRINSIC, intrinsic=name)
        case _:
            return None
