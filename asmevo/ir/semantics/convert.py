"""Conversions between numeric formats, fp8 included.

fp8 here is gfx942's: E4M3 with bias 8 and E5M2 with bias 16, without infinities or negative zero, 0x80 the only NaN. A value
beyond the largest becomes NaN, or with MODE's FP16_OVFL bit (23) the largest. Source: CDNA3 ISA guide, "Float conversions" and
the instruction descriptions.
"""

from __future__ import annotations

from dataclasses import dataclass

from asmevo.ir.semantics import build as b
from asmevo.ir.semantics.expr import Expr, Op, Program
from asmevo.ir.semantics.form import Form, UnsupportedFormError
from asmevo.ir.semantics.modifiers import float_const, float_program, lane_program, source
from asmevo.ir.semantics.vector_float import infinity

_FP16_OVFL = 23


@dataclass(frozen=True, slots=True)
class SmallFloat:
    """An 8-bit float without infinities: fraction bits and exponent bias."""

    fraction: int
    bias: int


SMALL = {"fp8": SmallFloat(3, 8), "bf8": SmallFloat(2, 16)}


def from_small(fmt: str, value: Expr) -> Expr:
    """The f32 equal to an 8-bit float."""
    small = SMALL[fmt]
    exponent_bits = 7 - small.fraction
    sign = b.extract(value, 7, 1)
    fraction = b.zext(b.extract(value, 0, small.fraction), 32)
    exponent = b.zext(b.extract(value, small.fraction, exponent_bits), 32)
    biased = b.add(exponent, b.const(32, 127 - small.bias))
    normal = b.or_(b.shl(biased, b.const(32, 23)), b.shl(fraction, b.const(32, 23 - small.fraction)))
    lowest = b.itof("u32", "f32", fraction)
    denormal = b.fmul("f32", lowest, float_const("f32", 2.0 ** (1 - small.bias - small.fraction)))
    size = b.ite(b.is_zero(exponent), denormal, normal)
    signed = b.or_(size, b.shl(b.zext(sign, 32), b.const(32, 31)))
    return b.ite(b.eq(value, b.const(8, 0x80)), b.const(32, 0x7FC00000), signed)


def _small_bits(fmt: str, value: Expr, rounding: Expr) -> Expr:
    """The magnitude of the 8-bit float as 32 bits; `rounding` is added below the last kept bit (as for a normal result)."""
    small = SMALL[fmt]
    dropped = 23 - small.fraction
    size = b.fabs(value)
    least = 1 - small.bias
    exponent = b.lshr(size, b.const(32, 23))
    smallest = b.const(32, 127 + least)
    short = b.ite(b.ult(exponent, smallest), b.sub(smallest, exponent), b.const(32, 0))
    whole = b.or_(b.and_(size, b.const(32, 0x7FFFFF)), b.const(32, 0x800000))
    # A denormal result keeps fewer bits: the mantissa with its leading one is moved down with sticky bits preserved.
    limit = b.const(32, 25)
    amount = b.ite(b.ult(short, limit), short, limit)
    moved = b.lshr(whole, amount)
    lost = b.nonzero(b.and_(whole, b.sub(b.shl(b.const(32, 1), amount), b.const(32, 1))))
    moved = b.or_(moved, b.zext(lost, 32))
    rebased = b.sub(size, b.const(32, (127 - small.bias) << 23))
    exact = b.ite(b.is_zero(short), rebased, moved)
    return b.lshr(b.add(exact, rounding_of(exact, rounding, dropped)), b.const(32, dropped))


def rounding_of(exact: Expr, rounding: Expr, dropped: int) -> Expr:
    """What to add before `dropped` bits go: nearest even when `rounding` is the constant 0 of 1 bit, else those random bits."""
    if rounding.bits == 1:
        odd = b.and_(b.lshr(exact, b.const(32, dropped)), b.const(32, 1))
        return b.add(odd, b.const(32, (1 << (dropped - 1)) - 1))
    return b.lshr(rounding, b.const(32, 32 - dropped))


def to_small(fmt: str, value: Expr, rounding: Expr | None = None) -> Expr:
    """An f32 as an 8-bit float: to nearest even, or with 32 random bits in `rounding`."""
    size = _small_bits(fmt, value, b.const(1, 0) if rounding is None else rounding)
    over = b.ult(b.const(32, 0x7F), size)
    saturated = b.ite(b.extract(b.special("mode"), _FP16_OVFL, 1), b.const(8, 0x7F), b.const(8, 0x80))
    negative = b.concat(b.extract(value, 31, 1), b.const(7, 0))
    magnitude = b.ite(over, saturated, b.extract(size, 0, 8))
    signed = b.ite(b.is_zero(magnitude), magnitude, b.or_(magnitude, negative))
    return b.ite(b.ult(b.const(32, infinity("f32")), b.fabs(value)), b.const(8, 0x80), signed)


def _small(form: Form) -> Program | None:
    name = form.name
    fmt = "bf8" if "bf8" in name else "fp8"
    if name in ("v_cvt_f32_fp8", "v_cvt_f32_bf8"):
        if form.modifier("op_sel"):
            raise UnsupportedFormError("op_sel of an fp8 source")
        return float_program(form, "f32", from_small(fmt, b.extract(source(form, "src0"), 0, 8)))
    if name in ("v_cvt_pk_f32_fp8", "v_cvt_pk_f32_bf8"):
        low = 16 if form.flags("op_sel", 1, 0)[0] else 0
        pair = source(form, "src0")
        halves = [from_small(fmt, b.extract(pair, low + k, 8)) for k in (0, 8)]
        return lane_program(form, b.concat(halves[1], halves[0]))
    if name in ("v_cvt_pk_fp8_f32", "v_cvt_pk_bf8_f32"):
        low, high = (to_small(fmt, source(form, s)) for s in ("src0", "src1"))
        return lane_program(form, b.concat(high, low))
    if name in ("v_cvt_sr_fp8_f32", "v_cvt_sr_bf8_f32"):
        value = to_small(fmt, source(form, "src0"), source(form, "src1"))
        selected = form.flags("op_sel", 4, 0)
        low = 8 * (selected[2] + 2 * selected[3])
        before = b.old("vdst", 32)
        result = b.concat(value, b.extract(before, 0, low)) if low else value
        return lane_program(form, b.concat(b.extract(before, low + 8, 24 - low), result) if low < 24 else result)
    return None


def _integer_target(form: Form, source_format: str, target: str) -> Program:
    value = source(form, "src0", b.FLOAT_BITS[source_format])
    return lane_program(form, b.ftoi(source_format, target, value))


def _normalised(form: Form, fmt: str, name: str, *, signed: bool) -> Expr:
    """A float in [-1, 1] or [0, 1] as a 16-bit fraction, to nearest even."""
    value = source(form, name, b.FLOAT_BITS[fmt])
    wide = b.fcvt("f16", "f32", value) if fmt == "f16" else value
    low = float_const("f32", -1.0) if signed else float_const("f32", 0.0)
    inside = b.fmin("f32", b.fmax("f32", wide, low), float_const("f32", 1.0))
    scaled = b.fmul("f32", inside, b.const(32, 0x46FFFE00 if signed else 0x477FFF00))
    whole = b.ite(b.funo("f32", wide, wide), b.const(32, 0), b.fop(Op.FRNDNE, "f32", scaled))
    return b.extract(b.ftoi("f32", "i32", whole), 0, 16)


def _packed(form: Form) -> Program | None:
    name = form.name
    if name == "v_cvt_pkrtz_f16_f32":
        low, high = (b.fcvt("f32", "f16", source(form, s), toward_zero=True) for s in ("src0", "src1"))
        return lane_program(form, b.concat(high, low))
    if name in ("v_cvt_pk_bf16_f32", "v_cvt_pk_f16_f32"):
        target = name.split("_")[3]
        low, high = (b.fcvt("f32", target, source(form, s)) for s in ("src0", "src1"))
        return lane_program(form, b.concat(high, low))
    if name == "v_pack_b32_f16":
        # It is a float instruction: denormals are flushed by MODE and signalling NaNs quieted (so LLVM uses it).
        low, high = (b.fop(Op.FCANON, "f16", source(form, s, 16)) for s in ("src0", "src1"))
        return lane_program(form, b.concat(high, low))
    if name.startswith("v_cvt_pknorm_"):
        _, _, _, target, fmt = name.split("_")
        low, high = (_normalised(form, fmt, s, signed=target == "i16") for s in ("src0", "src1"))
        return lane_program(form, b.concat(high, low))
    if name.startswith("v_cvt_norm_"):
        return lane_program(form, _normalised(form, "f16", "src0", signed="i16" in name))
    if name == "v_cvt_pk_u8_f32":
        whole = b.ftoi("f32", "u32", b.fop(Op.FRNDNE, "f32", source(form, "src0")))
        most = b.const(32, 255)
        byte = b.ite(b.ult(most, whole), most, whole)
        amount = b.shl(b.and_(source(form, "src1"), b.const(32, 3)), b.const(32, 3))
        kept = b.and_(source(form, "src2"), b.not_(b.shl(most, amount)))
        return lane_program(form, b.or_(kept, b.shl(byte, amount)))
    return None


def program(form: Form) -> Program | None:
    """The program of a conversion; None for other instructions."""
    name = form.name
    match name:
        case "v_cvt_f32_ubyte0" | "v_cvt_f32_ubyte1" | "v_cvt_f32_ubyte2" | "v_cvt_f32_ubyte3":
            byte = b.extract(source(form, "src0"), 8 * int(name[-1]), 8)
            return float_program(form, "f32", b.itof("u32", "f32", b.zext(byte, 32)))
        case "v_cvt_off_f32_i4":
            steps = b.itof("i32", "f32", b.sext(b.extract(source(form, "src0"), 0, 4), 32))
            return float_program(form, "f32", b.fmul("f32", steps, float_const("f32", 0.0625)))
        case "v_cvt_flr_i32_f32" | "v_cvt_rpi_i32_f32":
            value = source(form, "src0")
            if "rpi" in name:
                value = b.fadd("f32", value, float_const("f32", 0.5))
            return lane_program(form, b.ftoi("f32", "i32", b.fop(Op.FFLOOR, "f32", value)))
        case _:
            pass
    found = _small(form) or _packed(form)
    if found:
        return found
    parts = name.split("_")
    if len(parts) != 4 or parts[1] != "cvt":
        return None
    target, given = parts[2], parts[3]
    if target in b.FLOAT_BITS and given in b.FLOAT_BITS:
        value = b.fcvt(given, target, source(form, "src0", b.FLOAT_BITS[given]))
        return float_program(form, target, value)
    if target in b.FLOAT_BITS and given in b.INTEGER_BITS:
        value = source(form, "src0", b.INTEGER_BITS[given])
        return float_program(form, target, b.itof(given, target, value))
    if target in b.INTEGER_BITS and given in b.FLOAT_BITS:
        return _integer_target(form, given, target)
    return None
