"""Vector integer, bit and move instructions of VOP1, VOP2 and VOP3.

Source: CDNA3 ISA guide, instruction descriptions of these families.
"""

from __future__ import annotations

from collections.abc import Callable

from asmevo.ir.semantics import build as b
from asmevo.ir.semantics.expr import Expr, Program, Write
from asmevo.ir.semantics.form import Form, UnsupportedFormError
from asmevo.ir.semantics.modifiers import lane_program, source
from asmevo.ir.semantics.scalar import bit_field, sign_run

_Unary = Callable[[Expr], Expr]
_Binary = Callable[[Expr, Expr], Expr]
_Ternary = Callable[[Expr, Expr, Expr], Expr]


def _mask(value: Expr, bits: int) -> Expr:
    return b.and_(value, b.const(value.bits, bits - 1))


def _minmax(a: Expr, c: Expr, *, signed: bool, largest: bool) -> Expr:
    first = b.less(a, c, signed=signed)
    return b.ite(first, c, a) if largest else b.ite(first, a, c)


def _median(x: Expr, y: Expr, z: Expr, *, signed: bool) -> Expr:
    low = _minmax(x, y, signed=signed, largest=False)
    high = _minmax(x, y, signed=signed, largest=True)
    return _minmax(low, _minmax(high, z, signed=signed, largest=False), signed=signed, largest=True)


def _three(x: Expr, y: Expr, z: Expr, *, signed: bool, largest: bool) -> Expr:
    return _minmax(_minmax(x, y, signed=signed, largest=largest), z, signed=signed, largest=largest)


def _permute(x: Expr, y: Expr, selector: Expr) -> Expr:
    """v_perm_b32: each selector byte picks a byte of x:y, a sign spread over a byte, 0 (12) or 0xff (13 and above)."""
    pair = b.concat(x, y)
    result: Expr | None = None
    for k in range(4):
        s = b.extract(selector, 8 * k, 8)
        by_place = b.extract(b.lshr(pair, b.zext(b.shl(_mask(s, 8), b.const(8, 3)), 64)), 0, 8)
        signs = [b.sext(b.extract(pair, bit, 1), 8) for bit in (15, 31, 47, 63)]
        spread = b.ite(
            b.extract(s, 1, 1),
            b.ite(b.extract(s, 0, 1), signs[3], signs[2]),
            b.ite(b.extract(s, 0, 1), signs[1], signs[0]),
        )
        fixed = b.ite(b.eq(s, b.const(8, 12)), b.const(8, 0), b.const(8, 0xFF))
        value = b.ite(b.ult(s, b.const(8, 8)), by_place, b.ite(b.ult(s, b.const(8, 12)), spread, fixed))
        result = value if result is None else b.concat(value, result)
    if result is None:
        raise ValueError("no bytes")
    return result


def _absolute_difference(x: Expr, y: Expr) -> Expr:
    return b.ite(b.ult(x, y), b.sub(y, x), b.sub(x, y))


def _sad(x: Expr, y: Expr, z: Expr, *, width: int, masked: bool = False, shift: int = 0) -> Expr:
    total: Expr = b.const(32, 0)
    for low in range(0, 32, width):
        p, q = b.extract(x, low, width), b.extract(y, low, width)
        part = b.zext(_absolute_difference(p, q), 32)
        if masked:
            part = b.ite(b.is_zero(q), b.const(32, 0), part)
        total = b.add(total, part)
    return b.add(b.shl(total, b.const(32, shift)), z)


def _sliding_sads(form: Form) -> Program:
    """Sums of absolute differences of four bytes of a source of eight, at four places, each added to its own accumulator."""
    masked = form.name.startswith("v_mqsad")
    bits = 32 if form.name == "v_mqsad_u32_u8" else 16
    eight, four, start = b.src("src0", 64), b.src("src1", 32), b.src("src2", 4 * bits)
    result: Expr | None = None
    for n in range(4):
        total = b.zext(b.extract(start, bits * n, bits), 32)
        value = b.extract(_sad(b.extract(eight, 8 * n, 32), four, total, width=8, masked=masked), 0, bits)
        result = value if result is None else b.concat(value, result)
    if result is None:
        raise ValueError("no places")
    return lane_program(form, result)


def _lerp(x: Expr, y: Expr, z: Expr) -> Expr:
    result: Expr | None = None
    for low in range(0, 32, 8):
        p, q = (b.zext(b.extract(v, low, 8), 9) for v in (x, y))
        carry = b.zext(b.extract(z, low, 1), 9)
        byte = b.extract(b.add(b.add(p, q), carry), 1, 8)
        result = byte if result is None else b.concat(byte, result)
    if result is None:
        raise ValueError("no bytes")
    return result


def _align(x: Expr, y: Expr, amount: Expr) -> Expr:
    return b.extract(b.lshr(b.concat(x, y), b.zext(amount, 64)), 0, 32)


def _low_lanes(half: int) -> Expr:
    """Which lanes of the half of a wave mask are below this one."""
    lane = b.lane()
    one = b.const(32, 1)
    if half == 0:
        return b.sub(b.shl(one, lane), one)
    upper = b.sub(b.shl(one, b.sub(lane, b.const(32, 32))), one)
    return b.ite(b.ult(lane, b.const(32, 32)), b.const(32, 0), upper)


def _first(value: Expr, count: Expr) -> Expr:
    return b.ite(b.is_zero(value), b.const(value.bits, -1), count)


def next_random(state: Expr, steps: int = 1) -> Expr:
    """The shift register that v_prng_b32 steps, after up to 32 `steps`: what leaves at the top comes back as taps, 0xc5."""
    if steps > 16:
        return next_random(next_random(state, 16), steps - 16)
    if steps == 0:
        return state
    high = b.lshr(state, b.const(32, 32 - steps))
    result = b.shl(state, b.const(32, steps))
    for tap in (0, 2, 6, 7):
        result = b.xor(result, b.shl(high, b.const(32, tap)))
    return result


def _part(value: Expr, bits: int, *, signed: bool) -> Expr:
    """The low `bits` bits of a 32-bit value, widened back."""
    return b.extend(b.extract(value, 0, bits), 32, signed=signed)


def _mul24(x: Expr, y: Expr, *, signed: bool) -> Expr:
    return b.mul(_part(x, 24, signed=signed), _part(y, 24, signed=signed))


def _mul_high(x: Expr, y: Expr, *, signed: bool, bits: int = 32) -> Expr:
    wide = [b.extend(b.extract(v, 0, bits), 64, signed=signed) for v in (x, y)]
    return b.extract(b.mul(*wide), 32, 32)


_ONE_32: dict[str, _Unary] = {
    "v_mov_b32": lambda x: x,
    "v_accvgpr_read_b32": lambda x: x,
    "v_accvgpr_write_b32": lambda x: x,
    "v_accvgpr_mov_b32": lambda x: x,
    "v_not_b32": b.not_,
    "v_bfrev_b32": b.bitrev,
    "v_ffbh_u32": lambda x: _first(x, b.clz(x)),
    "v_ffbl_b32": lambda x: _first(x, b.ctz(x)),
    "v_ffbh_i32": sign_run,
    "v_prng_b32": next_random,
}
_TWO_32: dict[str, _Binary] = {
    "v_and_b32": b.and_,
    "v_or_b32": b.or_,
    "v_xor_b32": b.xor,
    "v_xnor_b32": lambda x, y: b.not_(b.xor(x, y)),
    "v_subrev_u32": lambda x, y: b.sub(y, x),
    "v_lshlrev_b32": lambda x, y: b.shl(y, _mask(x, 32)),
    "v_lshrrev_b32": lambda x, y: b.lshr(y, _mask(x, 32)),
    "v_ashrrev_i32": lambda x, y: b.ashr(y, _mask(x, 32)),
    "v_max_i32": lambda x, y: _minmax(x, y, signed=True, largest=True),
    "v_max_u32": lambda x, y: _minmax(x, y, signed=False, largest=True),
    "v_min_i32": lambda x, y: _minmax(x, y, signed=True, largest=False),
    "v_min_u32": lambda x, y: _minmax(x, y, signed=False, largest=False),
    "v_mul_i32_i24": lambda x, y: _mul24(x, y, signed=True),
    "v_mul_u32_u24": lambda x, y: _mul24(x, y, signed=False),
    "v_mul_hi_i32_i24": lambda x, y: _mul_high(x, y, signed=True, bits=24),
    "v_mul_hi_u32_u24": lambda x, y: _mul_high(x, y, signed=False, bits=24),
    "v_mul_lo_u32": b.mul,
    "v_mul_lo_i32": b.mul,
    "v_mul_hi_u32": lambda x, y: _mul_high(x, y, signed=False),
    "v_mul_hi_i32": lambda x, y: _mul_high(x, y, signed=True),
    "v_bfm_b32": lambda x, y: b.shl(b.sub(b.shl(b.const(32, 1), _mask(x, 32)), b.const(32, 1)), _mask(y, 32)),
    "v_bcnt_u32_b32": lambda x, y: b.add(b.popcount(x), y),
    "v_mbcnt_lo_u32_b32": lambda x, y: b.add(b.popcount(b.and_(x, _low_lanes(0))), y),
    "v_mbcnt_hi_u32_b32": lambda x, y: b.add(b.popcount(b.and_(x, _low_lanes(1))), y),
}
_THREE_32: dict[str, _Ternary] = {
    "v_add3_u32": lambda x, y, z: b.add(b.add(x, y), z),
    "v_add_lshl_u32": lambda x, y, z: b.shl(b.add(x, y), _mask(z, 32)),
    "v_lshl_add_u32": lambda x, y, z: b.add(b.shl(x, _mask(y, 32)), z),
    "v_lshl_or_b32": lambda x, y, z: b.or_(b.shl(x, _mask(y, 32)), z),
    "v_and_or_b32": lambda x, y, z: b.or_(b.and_(x, y), z),
    "v_or3_b32": lambda x, y, z: b.or_(b.or_(x, y), z),
    "v_xad_u32": lambda x, y, z: b.add(b.xor(x, y), z),
    "v_bfi_b32": lambda x, y, z: b.or_(b.and_(x, y), b.and_(b.not_(x), z)),
    "v_bfe_u32": lambda x, y, z: bit_field(x, _mask(y, 32), _mask(z, 32), signed=False),
    "v_bfe_i32": lambda x, y, z: bit_field(x, _mask(y, 32), _mask(z, 32), signed=True),
    "v_alignbit_b32": lambda x, y, z: _align(x, y, _mask(z, 32)),
    "v_alignbyte_b32": lambda x, y, z: _align(x, y, b.shl(_mask(z, 4), b.const(32, 3))),
    "v_perm_b32": _permute,
    "v_mad_u32_u24": lambda x, y, z: b.add(_mul24(x, y, signed=False), z),
    "v_mad_i32_i24": lambda x, y, z: b.add(_mul24(x, y, signed=True), z),
    "v_max3_i32": lambda x, y, z: _three(x, y, z, signed=True, largest=True),
    "v_max3_u32": lambda x, y, z: _three(x, y, z, signed=False, largest=True),
    "v_min3_i32": lambda x, y, z: _three(x, y, z, signed=True, largest=False),
    "v_min3_u32": lambda x, y, z: _three(x, y, z, signed=False, largest=False),
    "v_med3_i32": lambda x, y, z: _median(x, y, z, signed=True),
    "v_med3_u32": lambda x, y, z: _median(x, y, z, signed=False),
    "v_sad_u8": lambda x, y, z: _sad(x, y, z, width=8),
    "v_sad_hi_u8": lambda x, y, z: _sad(x, y, z, width=8, shift=16),
    "v_sad_u16": lambda x, y, z: _sad(x, y, z, width=16),
    "v_sad_u32": lambda x, y, z: _sad(x, y, z, width=32),
    "v_msad_u8": lambda x, y, z: _sad(x, y, z, width=8, masked=True),
    "v_lerp_u8": _lerp,
}

_CLAMPED32: dict[str, tuple[_Binary, bool]] = {
    "v_add_u32": (b.add, False),
    "v_sub_u32": (b.sub, False),
    "v_subrev_u32": (lambda x, y: b.sub(y, x), False),
    "v_add_i32": (b.add, True),
    "v_sub_i32": (b.sub, True),
}
_CLAMPED16: dict[str, tuple[_Binary, bool]] = {
    "v_add_u16": (b.add, False),
    "v_sub_u16": (b.sub, False),
    "v_subrev_u16": (lambda x, y: b.sub(y, x), False),
    "v_add_i16": (b.add, True),
    "v_sub_i16": (b.sub, True),
}


def saturate(wide: Expr, bits: int, *, signed: bool) -> Expr:
    """A signed value of more bits, limited to what `bits` bits hold."""
    low = -(1 << (bits - 1)) if signed else 0
    high = (1 << (bits - 1)) - 1 if signed else (1 << bits) - 1
    least, most = b.const(wide.bits, low), b.const(wide.bits, high)
    inside = b.ite(b.slt(wide, least), least, b.ite(b.slt(most, wide), most, wide))
    return b.extract(inside, 0, bits)


def clamped(form: Form, op: _Binary, x: Expr, y: Expr, *, signed: bool) -> Expr:
    """`op` of two values, saturated when the instruction says clamp."""
    if not form.modifier("clamp"):
        return op(x, y)
    bits = x.bits
    return saturate(op(b.extend(x, bits + 2, signed=signed), b.extend(y, bits + 2, signed=signed)), bits, signed=signed)


_TWO_16: dict[str, _Binary] = {
    "v_mul_lo_u16": b.mul,
    "v_lshlrev_b16": lambda x, y: b.shl(y, _mask(x, 16)),
    "v_lshrrev_b16": lambda x, y: b.lshr(y, _mask(x, 16)),
    "v_ashrrev_i16": lambda x, y: b.ashr(y, _mask(x, 16)),
    "v_max_i16": lambda x, y: _minmax(x, y, signed=True, largest=True),
    "v_max_u16": lambda x, y: _minmax(x, y, signed=False, largest=True),
    "v_min_i16": lambda x, y: _minmax(x, y, signed=True, largest=False),
    "v_min_u16": lambda x, y: _minmax(x, y, signed=False, largest=False),
}
_THREE_16: dict[str, _Ternary] = {
    "v_mad_u16": lambda x, y, z: b.add(b.mul(x, y), z),
    "v_mad_i16": lambda x, y, z: b.add(b.mul(x, y), z),
    "v_mad_legacy_u16": lambda x, y, z: b.add(b.mul(x, y), z),
    "v_mad_legacy_i16": lambda x, y, z: b.add(b.mul(x, y), z),
    "v_max3_i16": lambda x, y, z: _three(x, y, z, signed=True, largest=True),
    "v_max3_u16": lambda x, y, z: _three(x, y, z, signed=False, largest=True),
    "v_min3_i16": lambda x, y, z: _three(x, y, z, signed=True, largest=False),
    "v_min3_u16": lambda x, y, z: _three(x, y, z, signed=False, largest=False),
    "v_med3_i16": lambda x, y, z: _median(x, y, z, signed=True),
    "v_med3_u16": lambda x, y, z: _median(x, y, z, signed=False),
}
_MAYBE_CLAMPED = ("v_mad_", "v_mul_hi_", "v_mul_i32", "v_mul_u32")


def _plain(form: Form) -> Expr | None:
    """The result of an operation on whole sources; None when the opcode is no such operation."""
    name = form.name
    if name in _ONE_32:
        return _ONE_32[name](source(form, "src0"))
    if name in _TWO_32:
        return _TWO_32[name](source(form, "src0"), source(form, "src1"))
    if name in _THREE_32:
        return _THREE_32[name](source(form, "src0"), source(form, "src1"), source(form, "src2"))
    if name in _TWO_16:
        return _TWO_16[name](source(form, "src0", 16), source(form, "src1", 16))
    if name in _THREE_16:
        return _THREE_16[name](*(source(form, s, 16) for s in ("src0", "src1", "src2")))
    return None


def _carry(form: Form) -> Program:
    """v_{add,sub,subrev}[c|b|brev]_co_u32: bit 32 goes to the mask `sdst`."""
    name = form.name
    x, y = (b.zext(source(form, s), 33) for s in ("src0", "src1"))
    if "rev" in name:
        x, y = y, x
    op = b.add if name.startswith("v_add") else b.sub
    total = op(x, y)
    if form.has("src2"):
        total = op(total, b.zext(b.lane_bit(b.src("src2", 64)), 33))
    carry = b.extract(total, 32, 1)
    value = b.extract(total, 0, 32)
    if form.modifier("clamp"):
        value = b.ite(carry, b.const(32, -1 if op is b.add else 0), value)
    return lane_program(form, value, Write("sdst", carry))


def _wide(form: Form) -> Program | None:
    name = form.name
    match name:
        case "v_mov_b64":
            return lane_program(form, source(form, "src0", 64))
        case "v_lshlrev_b64" | "v_lshrrev_b64" | "v_ashrrev_i64":
            amount = b.zext(_mask(source(form, "src0"), 64), 64)
            op = {"v_lshlrev_b64": b.shl, "v_lshrrev_b64": b.lshr, "v_ashrrev_i64": b.ashr}[name]
            return lane_program(form, op(source(form, "src1", 64), amount))
        case "v_lshl_add_u64":
            amount = b.zext(_mask(source(form, "src1"), 8), 64)
            return lane_program(form, b.add(b.shl(source(form, "src0", 64), amount), source(form, "src2", 64)))
        case "v_mad_u64_u32" | "v_mad_i64_i32":
            signed = "i64" in name
            x, y = (b.extend(source(form, s), 65, signed=signed) for s in ("src0", "src1"))
            total = b.add(b.mul(x, y), b.extend(source(form, "src2", 64), 65, signed=signed))
            return lane_program(form, b.extract(total, 0, 64), Write("sdst", b.extract(total, 64, 1)))
        case _:
            return None


def _truth_table(form: Form, bits: int) -> Expr:
    """v_bitop3: bit 4 * s0 + 2 * s1 + s2 of the table is the result, for each bit of the sources."""
    value = form.modifier("bitop3", 0)
    table = value if isinstance(value, int) else 0
    x, y, z = (source(form, s, bits) for s in ("src0", "src1", "src2"))
    result: Expr = b.const(bits, 0)
    for row in range(8):
        if table >> row & 1:
            sides = [v if row >> place & 1 else b.not_(v) for v, place in ((x, 2), (y, 1), (z, 0))]
            result = b.or_(result, b.and_(b.and_(sides[0], sides[1]), sides[2]))
    return result


def _mixed(form: Form) -> Program | None:
    name = form.name
    if name.startswith("v_bitop3_b"):
        return lane_program(form, _truth_table(form, int(name[-2:])))
    if name in ("v_ashr_pk_i8_i32", "v_ashr_pk_u8_i32"):
        amount = _mask(source(form, "src2"), 32)
        moved = [b.ashr(source(form, s), amount) for s in ("src0", "src1")]
        low, high = (saturate(v, 8, signed="_i8_" in name) for v in moved)
        return lane_program(form, b.concat(high, low))
    if name in ("v_mad_u32_u16", "v_mad_i32_i16"):
        x, y = (b.extend(source(form, s, 16), 32, signed="i16" in name) for s in ("src0", "src1"))
        return lane_program(form, b.add(b.mul(x, y), source(form, "src2")))
    if name in ("v_cvt_pk_i16_i32", "v_cvt_pk_u16_u32"):
        signed = "i16" in name
        low, high = (saturate_32_to_16(source(form, s), signed=signed) for s in ("src0", "src1"))
        return lane_program(form, b.concat(high, low))
    if name == "v_sat_pk_u8_i16":
        value = source(form, "src0")
        low, high = (saturate(b.sext(b.extract(value, k, 16), 32), 8, signed=False) for k in (0, 16))
        return lane_program(form, b.concat(high, low))
    return None


def saturate_32_to_16(value: Expr, *, signed: bool) -> Expr:
    """A 32-bit integer limited to 16 bits of the same signedness."""
    if signed:
        return saturate(value, 16, signed=True)
    most = b.const(32, 0xFFFF)
    return b.extract(b.ite(b.ult(most, value), most, value), 0, 16)


def program(form: Form) -> Program | None:
    """The program of a vector integer instruction; None when it is not one of these."""
    name = form.name
    if form.modifier("clamp") and name.startswith(_MAYBE_CLAMPED):
        raise UnsupportedFormError("clamp on a multiply")
    if name in _CLAMPED32 or name in _CLAMPED16:
        bits = 32 if name in _CLAMPED32 else 16
        op, signed = (_CLAMPED32 if bits == 32 else _CLAMPED16)[name]
        x, y = (source(form, s, bits) for s in ("src0", "src1"))
        return lane_program(form, clamped(form, op, x, y, signed=signed))
    plain = _plain(form)
    if plain is not None:
        return lane_program(form, plain)
    if name == "v_cndmask_b32":
        x, y = (source(form, s) for s in ("src0", "src1"))
        return lane_program(form, b.ite(b.lane_bit(b.src("src2", 64)), y, x))
    if name in ("v_qsad_pk_u16_u8", "v_mqsad_pk_u16_u8", "v_mqsad_u32_u8"):
        if form.modifier("clamp"):
            raise UnsupportedFormError("clamp on a sum of absolute differences")
        return _sliding_sads(form)
    if name == "v_swap_b32":
        return lane_program(form, b.src("src0", 32), Write("src0", b.old("vdst", 32)))
    if "_co_u32" in name:
        return _carry(form)
    return _wide(form) or _mixed(form)
