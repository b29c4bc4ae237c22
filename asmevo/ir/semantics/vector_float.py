"""Vector float arithmetic of VOP1, VOP2 and VOP3, f16, f32 and f64.

The float rules, which every interpreter follows:

* FADD, FMUL, FFMA, FCVT, ITOF, FLDEXP and FRACT round as MODE says for the format of the result: bits 1:0 for f32 and bf16,
  3:2 for f16 and f64; 0 to nearest even, 1 up, 2 down, 3 toward zero. Denormal inputs become zeros of their sign unless MODE
  allows them (bit 4 for f32 and bf16, bit 6 for f16 and f64), denormal results unless MODE allows those (bits 5 and 7).
* With MODE's FP16_OVFL bit (23) an f16 result that overflowed is the largest finite value; infinities that follow from an
  infinite operand, or from a pole (the reciprocal of 0), stay.
* A NaN operand gives the first NaN operand in argument order, quieted. An invalid operation gives the positive default NaN
  (0x7fc00000 for f32).
* FMIN and FMAX are IEEE 754-2008 minNum and maxNum: one NaN gives the other operand, two the first, quieted; -0 is below +0.
  With MODE's IEEE bit (9) a signalling NaN operand gives that NaN, quieted; `minimum` and `maximum` here add that test.
* FLT, FEQ, FUNO flush denormal inputs by MODE. FFLOOR, FCEIL, FTRUNC and FRNDNE are exact; FRACT is below 1.
* FRCP, FRSQ, FSQRT, FEXP2, FLOG2, FSIN, FCOS are computed in double and rounded once, to nearest; for f32 denormals are flushed
  whatever MODE says. Sine and cosine take revolutions. Their published accuracy is 1 ULP, hence `approximate`.
* FCVT of a NaN keeps its sign and the upper payload bits, quieted. FTOI truncates and saturates, NaN is 0.

Source: CDNA3 ISA guide, "Float Mode", "Vector ALU Operations" and the instruction descriptions; NaN choice is not published.
"""

from __future__ import annotations

from collections.abc import Callable

from asmevo.ir.semantics import build as b
from asmevo.ir.semantics.expr import Expr, Op, Program, Write
from asmevo.ir.semantics.form import Form
from asmevo.ir.semantics.modifiers import float_const, float_program, lane_program, scale_and_clamp, source
from asmevo.ir.semantics.two_over_pi import two_over_pi

FRACTION = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}
_IEEE = 9
_Two = Callable[[str, Expr, Expr], Expr]
_Three = Callable[[str, Expr, Expr, Expr], Expr]


def infinity(fmt: str) -> int:
    """The bits of plus infinity."""
    return ((1 << (b.FLOAT_BITS[fmt] - 1)) - 1) & ~((1 << FRACTION[fmt]) - 1)


def quieted(fmt: str, value: Expr) -> Expr:
    """A NaN with its quiet bit set."""
    return b.or_(value, b.const(value.bits, 1 << (FRACTION[fmt] - 1)))


def is_signalling(fmt: str, value: Expr) -> Expr:
    """1 for a signalling NaN, whatever MODE says."""
    size = b.fabs(value)
    above = b.ult(b.const(value.bits, infinity(fmt)), size)
    return b.and_(above, b.not_(b.extract(value, FRACTION[fmt] - 1, 1)))


def _extreme(op: Callable[[str, Expr, Expr], Expr]) -> Callable[[str, Expr, Expr], Expr]:
    def build(fmt: str, x: Expr, y: Expr) -> Expr:
        ieee = b.extract(b.special("mode"), _IEEE, 1)
        plain = op(fmt, x, y)
        second = b.ite(b.and_(ieee, is_signalling(fmt, y)), quieted(fmt, y), plain)
        return b.ite(b.and_(ieee, is_signalling(fmt, x)), quieted(fmt, x), second)

    return build


minimum = _extreme(b.fmin)
maximum = _extreme(b.fmax)


def _max3(fmt: str, x: Expr, y: Expr, z: Expr) -> Expr:
    return maximum(fmt, maximum(fmt, x, y), z)


def _min3(fmt: str, x: Expr, y: Expr, z: Expr) -> Expr:
    return minimum(fmt, minimum(fmt, x, y), z)


def _propagating(op: Callable[[str, Expr, Expr], Expr]) -> _Two:
    """IEEE 754-2019 minimum and maximum: a NaN operand gives the first NaN, quieted."""

    def build(fmt: str, x: Expr, y: Expr) -> Expr:
        second = b.ite(b.funo(fmt, y, y), quieted(fmt, y), op(fmt, x, y))
        return b.ite(b.funo(fmt, x, x), quieted(fmt, x), second)

    return build


ieee_minimum = _propagating(b.fmin)
ieee_maximum = _propagating(b.fmax)


def _med3(fmt: str, x: Expr, y: Expr, z: Expr) -> Expr:
    most = _max3(fmt, x, y, z)
    rest = b.ite(b.feq(fmt, most, y), maximum(fmt, x, z), maximum(fmt, x, y))
    ordered = b.ite(b.feq(fmt, most, x), maximum(fmt, y, z), rest)
    unordered = b.or_(b.funo(fmt, x, y), b.funo(fmt, z, z))
    return b.ite(unordered, _min3(fmt, x, y, z), ordered)


def _legacy_mul(fmt: str, x: Expr, y: Expr) -> Expr:
    zero = b.const(b.FLOAT_BITS[fmt], 0)
    return b.ite(b.or_(b.feq(fmt, x, zero), b.feq(fmt, y, zero)), zero, b.fmul(fmt, x, y))


def _mad(fmt: str, x: Expr, y: Expr, z: Expr) -> Expr:
    return b.fadd(fmt, b.fmul(fmt, x, y), z)


_ONE: dict[str, Op] = {
    "floor": Op.FFLOOR,
    "ceil": Op.FCEIL,
    "trunc": Op.FTRUNC,
    "rndne": Op.FRNDNE,
    "fract": Op.FRACT,
    "frexp_mant": Op.FREXP_MANT,
}
_TWO: dict[str, _Two] = {
    "add": b.fadd,
    "sub": lambda fmt, x, y: b.fadd(fmt, x, b.fneg(y)),
    "subrev": lambda fmt, x, y: b.fadd(fmt, y, b.fneg(x)),
    "mul": b.fmul,
    "mul_legacy": _legacy_mul,
    "min": minimum,
    "max": maximum,
}
_THREE: dict[str, _Three] = {
    "min3": _min3,
    "max3": _max3,
    "med3": _med3,
    "minimum3": lambda fmt, x, y, z: ieee_minimum(fmt, ieee_minimum(fmt, x, y), z),
    "maximum3": lambda fmt, x, y, z: ieee_maximum(fmt, ieee_maximum(fmt, x, y), z),
    "fma": b.ffma,
    "fma_legacy": b.ffma,
    "mad": _mad,
    "mad_legacy": _mad,
}
_APPROXIMATE: dict[str, Op] = {
    "rcp": Op.FRCP,
    "rcp_iflag": Op.FRCP,
    "rsq": Op.FRSQ,
    "sqrt": Op.FSQRT,
    "exp": Op.FEXP2,
    "exp_legacy": Op.FEXP2,
    "log": Op.FLOG2,
    "log_legacy": Op.FLOG2,
    "sin": Op.FSIN,
    "cos": Op.FCOS,
}
_ACCUMULATING: dict[str, _Three] = {"fmac": b.ffma, "mac": _mad}
_WITH_LITERAL: dict[str, _Three] = {"fmamk": b.ffma, "fmaak": b.ffma, "madmk": _mad, "madak": _mad}


def _sources(form: Form, fmt: str) -> list[Expr]:
    names = [spec.name for spec in form.definition.operands if spec.name in ("src0", "src1", "src2")]
    return [source(form, name, b.FLOAT_BITS[fmt]) for name in names]


def _exponent(fmt: str, value: Expr) -> Expr:
    return b.zext(b.extract(value, FRACTION[fmt], b.FLOAT_BITS[fmt] - 1 - FRACTION[fmt]), 32)


def _div_fixup(form: Form, fmt: str) -> Program:
    """Quotient, denominator, numerator: the special cases of a division."""
    quotient, below, above = _sources(form, fmt)
    bits = b.FLOAT_BITS[fmt]
    top = b.const(bits, infinity(fmt))
    negative = b.extract(b.xor(below, above), bits - 1, 1)

    def signed(magnitude: Expr) -> Expr:
        return b.ite(negative, b.fneg(magnitude), magnitude)

    zero = b.const(bits, 0)
    size_below, size_above = b.fabs(below), b.fabs(above)
    zeros = [b.is_zero(v) for v in (size_below, size_above)]
    infinite = [b.eq(v, top) for v in (size_below, size_above)]
    nan = [b.ult(top, v) for v in (size_below, size_above)]
    invalid = b.const(bits, (1 << (bits - 1)) | infinity(fmt) | 1 << (FRACTION[fmt] - 1))
    difference = b.sub(_exponent(fmt, above), _exponent(fmt, below))
    tiny = b.slt(difference, b.const(32, {"f16": -(1 << 20), "f32": -150, "f64": -1075}[fmt]))
    # A quotient that overflowed on the way comes out of the refinement steps as a NaN.
    value = b.ite(b.ult(top, b.fabs(quotient)), signed(top), signed(b.fabs(quotient)))
    # The guide names the value of an underflow but not its bits; nearest even rounds it to zero.
    value = b.ite(tiny, signed(zero), value)
    value = b.ite(b.or_(infinite[0], zeros[1]), signed(zero), value)
    value = b.ite(b.or_(zeros[0], infinite[1]), signed(top), value)
    value = b.ite(b.or_(b.and_(*zeros), b.and_(*infinite)), invalid, value)
    value = b.ite(nan[0], quieted(fmt, below), value)
    value = b.ite(nan[1], quieted(fmt, above), value)
    return float_program(form, fmt, value)


def _div_scale(form: Form, fmt: str) -> Program:
    """Value, denominator, numerator: the value scaled so that the division steps neither over- nor underflow."""
    value, below, above = _sources(form, fmt)
    bits, fraction = b.FLOAT_BITS[fmt], FRACTION[fmt]
    near_top, step, low, least = (96, 64, 23, -126) if fmt == "f32" else (768, 128, 53, -1022)
    exponent_below, exponent_above = _exponent(fmt, below), _exponent(fmt, above)
    difference = b.sub(exponent_above, exponent_below)
    mantissas = [b.extract(v, 0, fraction) for v in (below, above)]
    lowest = b.const(32, least)
    quotient_denormal = b.or_(b.slt(difference, lowest), b.and_(b.eq(difference, lowest), b.ult(mantissas[1], mantissas[0])))
    bias = (1 << (bits - 2 - fraction)) - 1
    edge = b.const(32, bias - least)
    inverse_denormal = b.or_(b.ult(edge, exponent_below), b.and_(b.eq(edge, exponent_below), b.nonzero(mantissas[0])))
    denormal_below = b.and_(b.is_zero(exponent_below), b.nonzero(mantissas[0]))
    up = b.fldexp(fmt, value, b.const(32, step))
    down = b.fldexp(fmt, value, b.const(32, -step))
    of_below = b.ite(b.eq(value, below), up, value)
    # Guides print "up" for this one, which overflows the large denominators it is for.
    below_down = b.ite(b.eq(value, below), down, value)
    of_above = b.ite(b.eq(value, above), up, value)
    nan = b.const(bits, infinity(fmt) | 1 << (fraction - 1))
    zero = b.or_(b.is_zero(b.fabs(below)), b.is_zero(b.fabs(above)))
    large = b.not_(b.slt(difference, b.const(32, near_top)))
    both = b.and_(inverse_denormal, quotient_denormal)
    result = b.ite(b.not_(b.ult(b.const(32, low), exponent_above)), up, value)
    result = b.ite(quotient_denormal, of_above, result)
    result = b.ite(inverse_denormal, down, result)
    result = b.ite(both, below_down, result)
    result = b.ite(denormal_below, up, result)
    result = b.ite(large, of_below, result)
    result = b.ite(zero, nan, result)
    plain = b.and_(b.not_(denormal_below), quotient_denormal)
    scaled = b.and_(b.not_(zero), b.or_(large, plain))
    return lane_program(form, result, Write("sdst", scaled))


def _div_fmas(form: Form, fmt: str) -> Program:
    """Undo div_scale: a quotient above 1 was scaled down, one below scaled up."""
    # Guides of this family print 2^32 for all, which does not fit what div_scale does; this rule is that of later guides.
    x, y, z = _sources(form, fmt)
    value = b.ffma(fmt, x, y, z)
    step, bias = {"f32": (64, 127), "f64": (128, 1023)}[fmt]
    above = b.ult(b.const(32, bias), _exponent(fmt, z))
    up = b.fldexp(fmt, value, b.const(32, step))
    scaled = b.ite(above, up, _scaled_once(fmt, (x, y, z), value, step))
    return float_program(form, fmt, b.ite(b.lane_bit(b.special("vcc")), scaled, value))


def _trig_preop(form: Form) -> Program:
    """53 bits of 2 / pi from a place that segment and exponent give, as a double: what a reduction multiplies by."""
    exponent = _exponent("f64", source(form, "src0", 64))
    segment = b.and_(source(form, "src1"), b.const(32, 31))
    beyond = b.sub(exponent, b.const(32, 1077))
    beyond = b.ite(b.slt(beyond, b.const(32, 0)), b.const(32, 0), beyond)
    shift = b.add(b.mul(segment, b.const(32, 53)), beyond)
    word = b.lshr(shift, b.const(32, 6))
    high, low = (_two_over_pi_word(b.add(word, b.const(32, n))) for n in (0, 1))
    inside = b.zext(b.and_(shift, b.const(32, 63)), 128)
    bits = b.extract(b.shl(b.concat(high, low), inside), 75, 53)
    large = b.not_(b.ult(exponent, b.const(32, 1968)))
    scale = b.add(b.sub(b.const(32, -53), shift), b.ite(large, b.const(32, 128), b.const(32, 0)))
    value = b.fldexp("f64", b.itof("u64", "f64", b.zext(bits, 64)), scale)
    return lane_program(form, scale_and_clamp(form, "f64", value))


def _two_over_pi_word(number: Expr) -> Expr:
    """64 bits of the fraction of 2 / pi, the uppermost having number 0; beyond its 1201 bits there are none."""
    result: Expr = b.const(64, 0)
    for n, word in enumerate(two_over_pi()):
        result = b.ite(b.eq(number, b.const(32, n)), b.const(64, word), result)
    return result


def _scaled_once(fmt: str, terms: tuple[Expr, Expr, Expr], value: Expr, step: int) -> Expr:
    """2^-step * (x * y + z) rounded once: `value` is the sum rounded, which a denormal result would round a second time.

    The second rounding goes wrong only where the rounded sum is a tie of the result's precision, and the exact one is not.
    """
    x, y, z = terms
    bits = value.bits
    low = b.fldexp(fmt, value, b.const(32, -step))
    rest = b.fadd(fmt, value, b.fneg(b.fldexp(fmt, low, b.const(32, step))))
    lost = b.ffma(fmt, x, y, b.fadd(fmt, z, b.fneg(value)))
    least = 1 - ((1 << (bits - 2 - FRACTION[fmt])) - 1) - FRACTION[fmt]
    tie = b.eq(b.fabs(rest), float_const(fmt, 2.0 ** (least - 1 + step)))
    same = b.is_zero(b.extract(b.xor(rest, lost), bits - 1, 1))
    # In a direction two roundings are as good as one.
    nearest = b.is_zero(b.extract(b.special("mode"), 0 if fmt == "f32" else 2, 2))
    wrong = b.all_of(nearest, tie, b.nonzero(b.fabs(lost)), same, b.not_(b.funo(fmt, lost, lost)))
    outward = b.is_zero(b.extract(b.xor(rest, value), bits - 1, 1))
    moved = b.add(low, b.ite(outward, b.const(bits, 1), b.const(bits, -1)))
    return b.ite(wrong, b.fop(Op.FCANON, fmt, moved), low)


def program(form: Form) -> Program | None:
    """The program of a float instruction; None when it is not one of these."""
    stem, _, fmt = form.name[2:].rpartition("_")
    if fmt not in ("f16", "f32", "f64"):
        return None
    bits = b.FLOAT_BITS[fmt]
    if stem in _ONE:
        return float_program(form, fmt, b.fop(_ONE[stem], fmt, *_sources(form, fmt)))
    if stem in _TWO:
        return float_program(form, fmt, _TWO[stem](fmt, *_sources(form, fmt)))
    if stem in _THREE:
        return float_program(form, fmt, _THREE[stem](fmt, *_sources(form, fmt)))
    if stem in _APPROXIMATE:
        return float_program(form, fmt, b.fop(_APPROXIMATE[stem], fmt, *_sources(form, fmt)), approximate=True)
    if stem in _ACCUMULATING:
        x, y = _sources(form, fmt)
        before = b.extract(b.old("vdst", max(bits, 32)), 0, bits)
        return float_program(form, fmt, _ACCUMULATING[stem](fmt, x, y, before))
    if stem in _WITH_LITERAL:
        x, y = _sources(form, fmt)
        literal = b.src("imm32", bits)
        second, third = (literal, y) if stem.endswith("mk") else (y, literal)
        return float_program(form, fmt, _WITH_LITERAL[stem](fmt, x, second, third))
    if stem == "ldexp":
        amount = b.sext(source(form, "src1", 16), 32) if fmt == "f16" else source(form, "src1")
        return float_program(form, fmt, b.fldexp(fmt, source(form, "src0", bits), amount))
    if stem.startswith("frexp_exp"):
        value = b.frexp_exp(fmt, source(form, "src0", bits))
        return lane_program(form, b.extract(value, 0, 16) if fmt == "f16" else value)
    if stem == "trig_preop":
        return _trig_preop(form)
    if stem in ("div_fixup", "div_fixup_legacy"):
        return _div_fixup(form, fmt)
    if stem == "div_scale":
        return _div_scale(form, fmt)
    if stem == "div_fmas":
        return _div_fmas(form, fmt)
    return None


__all__ = [
    "FRACTION",
    "float_const",
    "ieee_maximum",
    "ieee_minimum",
    "infinity",
    "is_signalling",
    "maximum",
    "minimum",
    "program",
    "quieted",
]
