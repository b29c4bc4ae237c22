"""Conversions between numeric formats. What fp8 and the other small floats are is `small_float`'s.

Stochastic rounding adds random bits below the last kept one and truncates; they are the upper ones of the random source. The
scaled conversions of gfx950 multiply by the power of two that the scale operand's exponent field names when they widen, and
divide by it when they narrow. Source: CDNA3 and CDNA4 ISA guides, "Float conversions" and the instruction descriptions.
"""

from __future__ import annotations

from asmevo.ir.semantics import build as b
from asmevo.ir.semantics.expr import Expr, Op, Program
from asmevo.ir.semantics.form import Form
from asmevo.ir.semantics.modifiers import float_const, float_program, lane_program, source
from asmevo.ir.semantics.small_float import SMALL, format_of, from_small, rounding_of, to_small
from asmevo.ir.semantics.vector_int import next_random


def _small(form: Form) -> Program | None:
    name = form.name
    fmt = format_of("bf8" if "bf8" in name else "fp8", form.target)
    if name in ("v_cvt_f32_fp8", "v_cvt_f32_bf8"):
        low = 8 * _source_byte(form)
        return float_program(form, "f32", from_small(fmt, b.extract(source(form, "src0"), low, 8)))
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
        return lane_program(form, _into_byte(form, value))
    return None


def _source_byte(form: Form) -> int:
    """The byte of source 0 that op_sel's first two items name."""
    selected = form.flags("op_sel", 2, 0)
    return selected[0] + 2 * selected[1]


def _into_byte(form: Form, value: Expr) -> Expr:
    """The destination with one byte replaced, which op_sel's last two items name."""
    selected = form.flags("op_sel", 4, 0)
    low = 8 * (selected[2] + 2 * selected[3])
    before = b.old("vdst", 32)
    result = b.concat(value, b.extract(before, 0, low)) if low else value
    return b.concat(b.extract(before, low + 8, 24 - low), result) if low < 24 else result


def _stochastic(form: Form) -> Program:
    """v_cvt_sr_{f16,bf16}_f32: bits of the second source are added below the last kept one."""
    target = form.name.split("_")[3]
    value, random = source(form, "src0"), source(form, "src1")
    dropped = 13 if target == "f16" else 16
    moved = b.add(value, rounding_of(value, random, dropped))
    kept = b.and_(moved, b.const(32, -1 << dropped))
    special = b.ult(b.const(32, 0x7F7FFFFF), b.fabs(value))
    return lane_program(form, b.fcvt("f32", target, b.ite(special, value, kept), toward_zero=True), approximate=True)


# Scaled conversions of gfx950 ------------------------------------------------------------------------------------------------

_WIDE = ("f32", "f16", "bf16")


def _power(scale: Expr, *, negate: bool) -> Expr:
    """The exponent that a scale operand names, as a signed 32-bit number: its exponent field less 127."""
    field = b.zext(b.extract(scale, 23, 8), 32)
    bias = b.const(32, 127)
    return b.sub(bias, field) if negate else b.sub(field, bias)


def _scaled(form: Form) -> Program | None:
    """v_cvt_scalef32_[sr_][pk_]TO_FROM between a small float and f32, f16 or bf16; None for others."""
    words = form.name.removeprefix("v_cvt_scalef32_").split("_")
    random = words[0] == "sr"
    words = words[1:] if random else words
    if words[0] in ("pk32", "2xpk16"):
        return _thirty_two(form, words[1], words[2], random=random, halves=words[0] == "2xpk16")
    packed = words[0] == "pk"
    words = words[1:] if packed else words
    if len(words) != 2:
        return None
    target, given = words
    if given in _WIDE:
        return _narrowed(form, target, given, packed=packed, random=random)
    return None if random else _widened(form, target, given, packed=packed)


def _widened(form: Form, target: str, given: str, *, packed: bool) -> Program:
    fmt = format_of(given, form.target)
    bits = 4 if given == "fp4" else 8
    low = 8 * _source_byte(form) if given == "fp4" or not packed else 16 * form.flags("op_sel", 1, 0)[0]
    amount = _power(source(form, "src1"), negate=False)
    parts: list[Expr] = []
    for k in range(2 if packed else 1):
        value = from_small(fmt, b.extract(source(form, "src0"), low + bits * k, bits))
        value = b.fldexp("f32", value, amount)
        parts.append(value if target == "f32" else b.fcvt("f32", target, value))
    result = b.concat(parts[1], parts[0]) if packed else parts[0]
    return lane_program(form, result, approximate=True)


def _narrowed(form: Form, target: str, given: str, *, packed: bool, random: bool) -> Program:
    fmt = format_of(target, form.target)
    in_one = packed and given != "f32"
    scale = source(form, "src2" if random or (packed and given == "f32") else "src1")
    amount = _power(scale, negate=True)
    noise = source(form, "src1") if random else None
    codes: list[Expr] = []
    for k in range(2 if packed else 1):
        if in_one:
            value = b.extract(source(form, "src0"), 16 * k, 16)
        elif packed and random:
            value = b.extract(source(form, "src0", 64), 32 * k, 32)
        else:
            value = source(form, "src1" if k else "src0", b.FLOAT_BITS[given])
        wide = value if given == "f32" else b.fcvt(given, "f32", value)
        codes.append(to_small(fmt, b.fldexp("f32", wide, amount), noise))
        noise = next_random(noise) if noise is not None else None
    result = b.concat(codes[1], codes[0]) if packed else codes[0]
    if result.bits == 8:
        result = _into_byte(form, result)
    return lane_program(form, result, approximate=True)


def _thirty_two(form: Form, target: str, given: str, *, random: bool, halves: bool) -> Program:
    """32 elements at once; `halves`: the elements of two sources of 16 take turns."""
    widens = given not in _WIDE
    small = format_of(given if widens else target, form.target)
    bits = SMALL[small].bits if widens else b.FLOAT_BITS[given]
    scale = b.src("src2" if random or halves else "src1", 32)
    amount = _power(scale, negate=not widens)
    noise = b.src("src1", 32) if random else None
    parts: list[Expr] = []
    for n in range(32):
        name, place = ("src0", "src1")[n % 2] if halves else "src0", n // 2 if halves else n
        element = b.extract(b.src(name, bits * (16 if halves else 32)), bits * place, bits)
        if widens:
            value = b.fldexp("f32", from_small(small, element), amount)
            parts.append(value if target == "f32" else b.fcvt("f32", target, value))
            continue
        wide = element if given == "f32" else b.fcvt(given, "f32", element)
        rounding = None if noise is None else next_random(noise, n)
        parts.append(to_small(small, b.fldexp("f32", wide, amount), rounding))
    while len(parts) > 1:
        parts = [b.concat(parts[n + 1], parts[n]) for n in range(0, len(parts), 2)]
    return lane_program(form, parts[0], approximate=True)


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
    if name.startswith("v_cvt_scalef32_"):
        return _scaled(form)
    if name in ("v_cvt_sr_f16_f32", "v_cvt_sr_bf16_f32"):
        return _stochastic(form)
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
