"""Modifiers of vector instructions: what they do to a source before, and to a result after the operation.

Owns neg, abs, sext, op_sel of 16-bit sources, SDWA and DPP selection, omod, clamp and the placing of narrow results. It must
not know opcodes.
"""

from __future__ import annotations

from asmevo.ir.semantics import build as b
from asmevo.ir.semantics.expr import Domain, Expr, Program, Write
from asmevo.ir.semantics.form import Form, UnsupportedFormError

_SELECT = {"BYTE_0": (0, 8), "BYTE_1": (8, 8), "BYTE_2": (16, 8), "BYTE_3": (24, 8), "WORD_0": (0, 16), "WORD_1": (16, 16)}
_ONE = {"f16": 0x3C00, "bf16": 0x3F80, "f32": 0x3F800000, "f64": 0x3FF0000000000000}
_DPP_SHIFTS = ("quad_perm", "row_shl", "row_shr", "row_ror", "wave_shl", "wave_rol", "wave_shr", "wave_ror", "row_mirror")
_DPP = (*_DPP_SHIFTS, "row_half_mirror", "row_bcast", "row_newbcast")
_DX10_CLAMP, _IEEE = 8, 9
_DENORMAL_RESULTS = {"f16": 7, "bf16": 5, "f32": 5, "f64": 7}
"""MODE's bit that allows denormal results of a format."""
_SOURCES = ("src0", "src1", "src2")


def float_const(fmt: str, value: float) -> Expr:
    """A power of two, or zero, as a constant of the format."""
    if value == 0:
        return b.const(b.FLOAT_BITS[fmt], 0)
    fraction, bias = {"f16": (10, 15), "bf16": (7, 127), "f32": (23, 127), "f64": (52, 1023)}[fmt]
    mantissa, exponent = value.hex().split("p")
    if mantissa.lstrip("-") != "0x1.0000000000000":
        raise ValueError(f"{value} is not a power of two")
    sign = int(value < 0) << (b.FLOAT_BITS[fmt] - 1)
    return b.const(b.FLOAT_BITS[fmt], sign | (int(exponent) + bias) << fraction)


# Sources ---------------------------------------------------------------------------------------------------------------------


def _number(form: Form, name: str) -> int:
    value = form.modifier(name, 0)
    return value if isinstance(value, int) else 0


def is_dpp(form: Form) -> bool:
    """Whether source 0 comes from another lane."""
    return any(form.modifier(name) is not False for name in _DPP)


def _dpp_source(form: Form) -> tuple[Expr, Expr]:
    """The lane that source 0 is read from, and whether there is such a lane."""
    lane = b.lane()
    row = b.and_(lane, b.const(32, 0x30))
    place = b.and_(lane, b.const(32, 15))
    yes = b.const(1, 1)
    one, n15, n63 = b.const(32, 1), b.const(32, 15), b.const(32, 63)
    perm = form.modifier("quad_perm")
    if isinstance(perm, tuple):
        table = sum(item << (2 * k) for k, item in enumerate(perm))
        amount = b.shl(b.and_(lane, b.const(32, 3)), one)
        chosen = b.and_(b.lshr(b.const(32, table), amount), b.const(32, 3))
        return b.or_(b.and_(lane, b.const(32, 0x3C)), chosen), yes
    if form.modifier("row_mirror"):
        return b.xor(lane, n15), yes
    if form.modifier("row_half_mirror"):
        return b.xor(lane, b.const(32, 7)), yes
    if n := _number(form, "row_shl"):
        moved = b.add(place, b.const(32, n))
        return b.add(lane, b.const(32, n)), b.ult(moved, b.const(32, 16))
    if n := _number(form, "row_shr"):
        return b.sub(lane, b.const(32, n)), b.not_(b.ult(place, b.const(32, n)))
    if n := _number(form, "row_ror"):
        return b.or_(row, b.and_(b.sub(place, b.const(32, n)), n15)), yes
    if form.modifier("wave_shl"):
        return b.add(lane, one), b.ne(lane, n63)
    if form.modifier("wave_shr"):
        return b.sub(lane, one), b.nonzero(lane)
    if form.modifier("wave_rol"):
        return b.and_(b.add(lane, one), n63), yes
    if form.modifier("wave_ror"):
        return b.and_(b.sub(lane, one), n63), yes
    if n := _number(form, "row_bcast"):
        if n == 15:
            return b.sub(row, one), b.nonzero(row)
        return b.const(32, 31), b.not_(b.ult(lane, b.const(32, 32)))
    return b.or_(row, b.const(32, _number(form, "row_newbcast"))), yes


def _dpp_valid(form: Form) -> Expr:
    index, inside = _dpp_source(form)
    return b.and_(inside, b.lane_active(index))


def write_enable(form: Form) -> Expr | None:
    """Whether DPP lets a lane write: its row and bank are on, and without bound_ctrl its source lane is there and active."""
    if not is_dpp(form):
        return None
    lane = b.lane()
    parts: list[Expr] = []
    rows, banks = (form.modifier(name, 15) for name in ("row_mask", "bank_mask"))
    if isinstance(rows, int) and rows != 15:
        parts.append(b.extract(b.lshr(b.const(32, rows), b.lshr(lane, b.const(32, 4))), 0, 1))
    if isinstance(banks, int) and banks != 15:
        bank = b.and_(b.lshr(lane, b.const(32, 2)), b.const(32, 3))
        parts.append(b.extract(b.lshr(b.const(32, banks), bank), 0, 1))
    if not form.modifier("bound_ctrl"):
        parts.append(_dpp_valid(form))
    return b.all_of(*parts) if parts else None


def raw(form: Form, name: str, bits: int = 32) -> Expr:
    """A source's bits after DPP and SDWA selection, before neg and abs."""
    if name == "src0" and is_dpp(form):
        index, _ = _dpp_source(form)
        value = b.gather(name, index, bits)
        if form.modifier("bound_ctrl"):
            value = b.ite(_dpp_valid(form), value, b.const(bits, 0))
    else:
        value = b.src(name, bits)
    selection = form.modifier(f"{name}_sel")
    if bits == 32 and isinstance(selection, str):
        signed = form.kind(name).sign_extend
        if selection in _SELECT:
            low, width = _SELECT[selection]
            value = b.extend(b.extract(value, low, width), 32, signed=signed)
    return value


def _signs(form: Form, name: str, value: Expr) -> Expr:
    kind = form.kind(name)
    if kind.absolute:
        value = b.fabs(value)
    return b.fneg(value) if kind.negate else value


def high_half(form: Form, name: str) -> bool:
    """Whether op_sel makes a 16-bit source read the upper half of its register."""
    selected = form.flags("op_sel", 4, 0)
    return name in _SOURCES and bool(selected[_SOURCES.index(name)])


def source(form: Form, name: str, bits: int = 32) -> Expr:
    """A source of 16, 32 or 64 bits with all its modifiers; the sign bit is that of this width."""
    if bits == 16:
        value = b.extract(raw(form, name), 16 if high_half(form, name) else 0, 16)
    else:
        value = raw(form, name, bits)
    return _signs(form, name, value)


# Results ---------------------------------------------------------------------------------------------------------------------


def scale_and_clamp(form: Form, fmt: str, value: Expr) -> Expr:
    """Output modifiers of a float result: omod, then clamp to [0, 1] with NaN to 0 under DX10_CLAMP.

    Hardware ignores omod where MODE's IEEE bit is set or denormal results are allowed, and it turns -0 into +0 (CDNA3 ISA
    guide, "Output Modifiers").
    """
    factor = {2: 2.0, 4: 4.0}.get(_number(form, "mul"), 0.5 if form.modifier("div") else 1.0)
    if factor != 1.0:
        scaled = b.fmul(fmt, value, float_const(fmt, factor))
        scaled = b.ite(b.is_zero(b.fabs(scaled)), b.const(scaled.bits, 0), scaled)
        bits = (_IEEE, _DENORMAL_RESULTS[fmt])
        ignored = b.any_of(*(b.extract(b.special("mode"), bit, 1) for bit in bits))
        value = b.ite(ignored, value, scaled)
    if form.modifier("clamp"):
        bits = b.FLOAT_BITS[fmt]
        zero, one = b.const(bits, 0), b.const(bits, _ONE[fmt])
        inside = b.ite(b.flt(fmt, value, zero), zero, b.ite(b.flt(fmt, one, value), one, value))
        dx10 = b.extract(b.special("mode"), _DX10_CLAMP, 1)
        value = b.ite(b.funo(fmt, value, value), b.ite(dx10, zero, value), inside)
    return value


def place(form: Form, value: Expr, target: str = "vdst") -> Expr:
    """A result as its destination register receives it, narrow and SDWA results included."""
    selection = form.modifier("dst_sel")
    if isinstance(selection, str) and selection in _SELECT and form.spec(target).bits == 32:
        low, width = _SELECT[selection]
        return _insert(form, b.extract(b.zext(value, max(32, value.bits)), 0, width), low, target)
    if value.bits >= 32:
        return value
    if value.bits == 16 and form.flags("op_sel", 4, 0)[_destination_place(form)]:
        return b.concat(value, b.extract(b.old(target, 32), 0, 16))
    if form.keeps_rest(target):
        return b.concat(b.extract(b.old(target, 32), value.bits, 32 - value.bits), value)
    return b.zext(value, 32)


def _destination_place(form: Form) -> int:
    """The destination's position in op_sel: after the sources, or last of four items."""
    printed = form.modifier("op_sel", ())
    if isinstance(printed, tuple) and len(printed) == 4:
        return 3
    return min(3, sum(spec.name in _SOURCES for spec in form.definition.operands))


def _insert(form: Form, part: Expr, low: int, target: str) -> Expr:
    unused = form.modifier("dst_unused", "UNUSED_PRESERVE")
    above = 32 - low - part.bits
    if unused == "UNUSED_PRESERVE":
        before = b.old(target, 32)
        result = b.concat(part, b.extract(before, 0, low)) if low else part
        return b.concat(b.extract(before, low + part.bits, above), result) if above else result
    result = b.concat(part, b.const(low, 0)) if low else part
    return b.extend(result, 32, signed=unused == "UNUSED_SEXT")


def lane_program(
    form: Form, value: Expr, *extra: Write, target: str = "vdst", approximate: bool = False, ignored_mode: int = 0
) -> Program:
    """The program of a vector instruction with one vector result."""
    enable = write_enable(form)
    if enable is not None and extra:
        raise UnsupportedFormError("DPP with a second result")
    writes = (Write(target, place(form, value, target), enable), *extra)
    return Program(Domain.LANE, writes, approximate=approximate, ignored_mode=ignored_mode)


def float_program(form: Form, fmt: str, value: Expr, *, approximate: bool = False) -> Program:
    """The program of a float vector instruction: output modifiers, then the write."""
    return lane_program(form, scale_and_clamp(form, fmt, value), approximate=approximate)
