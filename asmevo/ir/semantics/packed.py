"""VOP3P: two operations side by side, mixed precision, and dot products; the dot products of VOP2 as well.

op_sel picks the half of each source for the low result, op_sel_hi for the high one; neg_lo and neg_hi negate them.
Source: CDNA3 ISA guide, "VOP3P" and "Packed Math". Float dot products are exact to the bit only where no sum rounds: the guide
does not publish the order of additions, hence `approximate`.
"""

from __future__ import annotations

from collections.abc import Callable

from asmevo.ir.semantics import build as b
from asmevo.ir.semantics.expr import Expr, Program
from asmevo.ir.semantics.form import Form, UnsupportedFormError
from asmevo.ir.semantics.modifiers import lane_program, raw, scale_and_clamp
from asmevo.ir.semantics.vector_float import ieee_maximum, ieee_minimum, maximum, minimum
from asmevo.ir.semantics.vector_int import saturate

_SOURCES = ("src0", "src1", "src2")


def _sources(form: Form) -> list[str]:
    return [spec.name for spec in form.definition.operands if spec.name in _SOURCES]


def _halves(form: Form, name: str, bits: int, high: int, *, negates: bool) -> Expr:
    """The part of a source that result half `high` reads."""
    place = _SOURCES.index(name)
    selected = form.flags("op_sel_hi", 3, 1)[place] if high else form.flags("op_sel", 3, 0)[place]
    value = b.extract(b.src(name, 2 * bits), bits if selected else 0, bits)
    if negates and form.flags("neg_hi" if high else "neg_lo", 3, 0)[place]:
        value = b.fneg(value)
    return value


_FLOAT: dict[str, Callable[[str, Expr, Expr], Expr]] = {
    "add": b.fadd,
    "mul": b.fmul,
    "min": minimum,
    "max": maximum,
}


_FLOAT_THREE: dict[str, Callable[[str, Expr, Expr, Expr], Expr]] = {
    "fma": b.ffma,
    "minimum3": lambda fmt, x, y, z: ieee_minimum(fmt, ieee_minimum(fmt, x, y), z),
    "maximum3": lambda fmt, x, y, z: ieee_maximum(fmt, ieee_maximum(fmt, x, y), z),
}


def _minmax(x: Expr, y: Expr, *, signed: bool, largest: bool) -> Expr:
    first = b.less(x, y, signed=signed)
    return b.ite(first, y, x) if largest else b.ite(first, x, y)


def _mask(value: Expr) -> Expr:
    return b.and_(value, b.const(16, 15))


_INTEGER: dict[str, Callable[[Expr, Expr], Expr]] = {
    "mul_lo_u16": b.mul,
    "ashrrev_i16": lambda x, y: b.ashr(y, _mask(x)),
    "lshlrev_b16": lambda x, y: b.shl(y, _mask(x)),
    "lshrrev_b16": lambda x, y: b.lshr(y, _mask(x)),
    "max_i16": lambda x, y: _minmax(x, y, signed=True, largest=True),
    "max_u16": lambda x, y: _minmax(x, y, signed=False, largest=True),
    "min_i16": lambda x, y: _minmax(x, y, signed=True, largest=False),
    "min_u16": lambda x, y: _minmax(x, y, signed=False, largest=False),
}


def _sum(word: str, args: list[Expr]) -> Expr:
    if word == "mad":
        return b.add(b.mul(args[0], args[1]), args[2])
    return (b.add if word == "add" else b.sub)(args[0], args[1])


def _integer(form: Form, stem: str, args: list[Expr]) -> Expr | None:
    if stem in _INTEGER:
        return _INTEGER[stem](args[0], args[1])
    word, kind = stem.rsplit("_", 1)
    if word not in ("add", "sub", "mad"):
        return None
    if not form.modifier("clamp"):
        return _sum(word, args)
    signed = kind == "i16"
    wide = _sum(word, [b.extend(x, 34, signed=signed) for x in args])
    return saturate(wide, 16, signed=signed)


def _packed(form: Form) -> Program | None:
    stem = form.name[5:]
    if form.name == "v_pk_mov_b32":
        selected = form.flags("op_sel", 2, 0)
        parts = [b.extract(b.src(name, 64), 32 * selected[k], 32) for k, name in enumerate(("src0", "src1"))]
        return lane_program(form, b.concat(parts[1], parts[0]))
    word, _, kind = stem.rpartition("_")
    results: list[Expr] = []
    for high in (0, 1):
        if form.name == "v_pk_fmac_f16":
            args = [b.extract(b.src(name, 32), 16 * high, 16) for name in ("src0", "src1")]
            results.append(b.ffma("f16", args[0], args[1], b.extract(b.old("vdst", 32), 16 * high, 16)))
        elif kind in ("f16", "f32"):
            if word not in _FLOAT and word not in _FLOAT_THREE:
                return None
            args = [_halves(form, name, b.FLOAT_BITS[kind], high, negates=True) for name in _sources(form)]
            if word in _FLOAT_THREE:
                value = _FLOAT_THREE[word](kind, args[0], args[1], args[2])
            else:
                value = _FLOAT[word](kind, args[0], args[1])
            results.append(scale_and_clamp(form, kind, value))
        else:
            args = [_halves(form, name, 16, high, negates=False) for name in _sources(form)]
            value = _integer(form, stem, args)
            if value is None:
                return None
            results.append(value)
    return lane_program(form, b.concat(results[1], results[0]))


def _mixed_source(form: Form, name: str) -> Expr:
    """A source of v_fma_mix: f32, or with op_sel_hi the f16 half that op_sel names."""
    place = _SOURCES.index(name)
    value = b.src(name, 32)
    if form.flags("op_sel_hi", 3, 0)[place]:
        half = b.extract(value, 16 if form.flags("op_sel", 3, 0)[place] else 0, 16)
        value = b.fcvt("f16", "f32", half)
    kind = form.kind(name)
    # The packed encoding keeps the absolute flag in the bit that other instructions call neg_hi.
    if kind.absolute or form.flags("neg_hi", 3, 0)[place]:
        value = b.fabs(value)
    return b.fneg(value) if kind.negate or form.flags("neg_lo", 3, 0)[place] else value


def _mixed(form: Form) -> Program:
    value = b.ffma("f32", *(_mixed_source(form, name) for name in _SOURCES))
    if form.name == "v_fma_mix_f32":
        return lane_program(form, scale_and_clamp(form, "f32", value))
    half = scale_and_clamp(form, "f16", b.fcvt("f32", "f16", value))
    before = b.old("vdst", 32)
    if form.name == "v_fma_mixlo_f16":
        return lane_program(form, b.concat(b.extract(before, 16, 16), half))
    return lane_program(form, b.concat(half, b.extract(before, 0, 16)))


_DOT_IGNORES = 0x3F
"""MODE's rounding and its f32 denormals: float dot products round to nearest and flush."""


def _dot_accumulator(form: Form) -> Expr:
    return b.src("src2", 32) if form.has("src2") else b.old("vdst", 32)


def _dot(form: Form) -> Program | None:
    """v_dotN[c]_OUT_IN: the sum of N products and an accumulator (vdst itself for the c forms)."""
    _, count, target, kind = form.name.split("_")
    number = int(count.removeprefix("dot").removesuffix("c"))
    if form.modifier("op_sel") or form.modifier("op_sel_hi") or form.modifier("neg_lo") or form.modifier("neg_hi"):
        raise UnsupportedFormError("op_sel or neg on a dot product")
    if target == "f32":
        value = _dot_accumulator(form)
        for k in range(number):
            pair = [b.fcvt(kind, "f32", b.extract(raw(form, name), 16 * k, 16)) for name in ("src0", "src1")]
            value = b.ffma("f32", pair[0], pair[1], value)
        return lane_program(form, scale_and_clamp(form, "f32", value), approximate=True, ignored_mode=_DOT_IGNORES)
    signed = kind[0] == "i"
    width = 32 // number
    total = b.extend(_dot_accumulator(form), 36, signed=signed)
    for k in range(number):
        pair = [b.extend(b.extract(raw(form, name), width * k, width), 36, signed=signed) for name in ("src0", "src1")]
        total = b.add(total, b.mul(*pair))
    clamp = form.modifier("clamp")
    value = saturate(b.extend(total, 38, signed=signed), 32, signed=signed) if clamp else b.extract(total, 0, 32)
    return lane_program(form, value)


def program(form: Form) -> Program | None:
    """The program of a packed, mixed or dot instruction; None for others."""
    if form.name.startswith("v_pk_"):
        return _packed(form)
    if form.name.startswith("v_fma_mix"):
        return _mixed(form)
    return _dot(form) if form.name.startswith("v_dot") else None
