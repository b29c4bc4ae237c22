"""Scalar ALU: SOP1, SOP2, SOPK and SOPC.

Source: CDNA3 ISA guide, "Scalar ALU Operations" and the instruction descriptions of these families.
"""

from __future__ import annotations

from collections.abc import Callable

from asmevo.ir.semantics import build as b
from asmevo.ir.semantics.expr import Domain, Expr, Program, Write
from asmevo.ir.semantics.form import Form

_Unary = Callable[[Expr], Expr]
_Binary = Callable[[Expr, Expr], Expr]


def _program(*writes: Write) -> Program:
    return Program(Domain.SCALAR, writes)


def _scc(value: Expr) -> Write:
    return Write("scc", value)


def _carry() -> Expr:
    return b.zext(b.special("scc"), 33)


def _wide(a: Expr) -> Expr:
    return b.zext(a, a.bits + 1)


def _sum(form: Form, total: Expr) -> Program:
    """33-bit total: low 32 bits to the destination, bit 32 to SCC."""
    return _program(Write("sdst", b.extract(total, 0, 32)), _scc(b.extract(total, 32, 1)))


def _overflow_add(a: Expr, c: Expr, result: Expr) -> Expr:
    return b.extract(b.and_(b.xor(a, result), b.xor(c, result)), 31, 1)


def _overflow_sub(a: Expr, c: Expr, result: Expr) -> Expr:
    return b.extract(b.and_(b.xor(a, c), b.xor(a, result)), 31, 1)


def bit_field(value: Expr, low: Expr, width: Expr, *, signed: bool) -> Expr:
    """`width` bits of `value` from bit `low`; both of its own width. A width beyond the register takes all of it."""
    bits = value.bits
    size = b.const(bits, bits)
    moved = (b.ashr if signed else b.lshr)(value, low)
    if not signed:
        mask = b.sub(b.shl(b.const(bits, 1), width), b.const(bits, 1))
        return b.and_(moved, mask)
    spare = b.ite(b.ult(width, size), b.sub(size, width), b.const(bits, 0))
    return b.ite(b.is_zero(width), b.const(bits, 0), b.ashr(b.shl(moved, spare), spare))


_LOGIC: dict[str, _Binary] = {
    "and": b.and_,
    "or": b.or_,
    "xor": b.xor,
    "andn2": lambda a, c: b.and_(a, b.not_(c)),
    "orn2": lambda a, c: b.or_(a, b.not_(c)),
    "nand": lambda a, c: b.not_(b.and_(a, c)),
    "nor": lambda a, c: b.not_(b.or_(a, c)),
    "xnor": lambda a, c: b.not_(b.xor(a, c)),
}
_EXEC_LOGIC: dict[str, _Binary] = {
    **_LOGIC,
    "andn1": lambda a, c: b.and_(b.not_(a), c),
    "orn1": lambda a, c: b.or_(b.not_(a), c),
}
_SHIFTS: dict[str, _Binary] = {"lshl": b.shl, "lshr": b.lshr, "ashr": b.ashr}


def _amount(amount: Expr, bits: int) -> Expr:
    return b.zext(b.and_(amount, b.const(32, bits - 1)), bits)


def _type_bits(name: str) -> int:
    return 64 if name.endswith("64") else 32


def _sop2(form: Form) -> Program | None:
    name = form.name
    stem = name[2:].rsplit("_", 1)[0]
    a = b.src("ssrc0", form.spec("ssrc0").bits)
    c = b.src("ssrc1", form.spec("ssrc1").bits)
    if stem in _LOGIC:
        value = _LOGIC[stem](a, c)
        return _program(Write("sdst", value), _scc(b.nonzero(value)))
    if stem in _SHIFTS:
        value = _SHIFTS[stem](a, _amount(c, a.bits))
        return _program(Write("sdst", value), _scc(b.nonzero(value)))
    if stem == "bfe":
        bits = a.bits
        low = _amount(c, bits)
        width = b.zext(b.extract(c, 16, 7), bits)
        value = bit_field(a, low, width, signed="_i" in name)
        return _program(Write("sdst", value), _scc(b.nonzero(value)))
    if stem == "bfm":
        bits = _type_bits(name)
        ones = b.sub(b.shl(b.const(bits, 1), _amount(a, bits)), b.const(bits, 1))
        return _program(Write("sdst", b.shl(ones, _amount(c, bits))))
    if stem == "cselect":
        return _program(Write("sdst", b.ite(b.special("scc"), a, c)))
    if stem.startswith("pack_"):
        high = b.extract(c, 16 if stem[6] == "h" else 0, 16)
        low = b.extract(a, 16 if stem[5] == "h" else 0, 16)
        return _program(Write("sdst", b.concat(high, low)))
    return _sop2_arithmetic(form, a, c)


def _sop2_arithmetic(form: Form, a: Expr, c: Expr) -> Program | None:
    name = form.name
    if name in ("s_add_u32", "s_addc_u32"):
        total = b.add(_wide(a), _wide(c))
        return _sum(form, b.add(total, _carry()) if name == "s_addc_u32" else total)
    if name in ("s_sub_u32", "s_subb_u32"):
        total = b.sub(_wide(a), _wide(c))
        return _sum(form, b.sub(total, _carry()) if name == "s_subb_u32" else total)
    if name == "s_add_i32":
        value = b.add(a, c)
        return _program(Write("sdst", value), _scc(_overflow_add(a, c, value)))
    if name == "s_sub_i32":
        value = b.sub(a, c)
        return _program(Write("sdst", value), _scc(_overflow_sub(a, c, value)))
    if name[2:5] in ("min", "max"):
        first = b.less(a, c, signed=name.endswith("i32"))
        if name[2:5] == "max":
            first = b.not_(first)
        return _program(Write("sdst", b.ite(first, a, c)), _scc(first))
    if name == "s_mul_i32":
        return _program(Write("sdst", b.mul(a, c)))
    if name.startswith("s_mul_hi_"):
        signed = name.endswith("i32")
        wide = b.mul(b.extend(a, 64, signed=signed), b.extend(c, 64, signed=signed))
        return _program(Write("sdst", b.extract(wide, 32, 32)))
    if name == "s_absdiff_i32":
        difference = b.sub(a, c)
        value = b.ite(b.slt(difference, b.const(32, 0)), b.neg(difference), difference)
        return _program(Write("sdst", value), _scc(b.nonzero(value)))
    if name.startswith("s_lshl"):
        shift = int(name[6])
        total = b.add(b.zext(b.shl(b.zext(a, 36), b.const(36, shift)), 37), b.zext(c, 37))
        return _program(Write("sdst", b.extract(total, 0, 32)), _scc(b.nonzero(b.extract(total, 32, 5))))
    return None


def _first_one(value: Expr, count: Expr) -> Expr:
    """A bit count as 32 bits, -1 where `value` has no bit set."""
    narrow = b.extract(count, 0, 32)
    return b.ite(b.is_zero(value), b.const(32, -1), narrow)


def sign_run(value: Expr) -> Expr:
    """How many bits from the top equal the sign bit, as 32 bits; -1 when all do."""
    sign = b.ashr(value, b.const(value.bits, value.bits - 1))
    return _first_one(b.xor(value, sign), b.clz(b.xor(value, sign)))


def _groups(value: Expr, *, whole: bool) -> Expr:
    """The OR of each group of four bits: once (quadmask), or over all four (wqm)."""
    bits = value.bits
    result: Expr | None = None
    for low in range(0, bits, 4):
        some = b.nonzero(b.extract(value, low, 4))
        part = b.ite(some, b.const(4, 15), b.const(4, 0)) if whole else some
        result = part if result is None else b.concat(part, result)
    if result is None:
        raise ValueError("no bits")
    return b.zext(result, bits)


def _replicate(value: Expr) -> Expr:
    result = b.concat(b.extract(value, 0, 1), b.extract(value, 0, 1))
    for k in range(1, 32):
        bit = b.extract(value, k, 1)
        result = b.concat(b.concat(bit, bit), result)
    return result


_SOP1_PLAIN: dict[str, _Unary] = {
    "mov": lambda a: a,
    "brev": b.bitrev,
    "sext_i32_i8": lambda a: b.sext(b.extract(a, 0, 8), 32),
    "sext_i32_i16": lambda a: b.sext(b.extract(a, 0, 16), 32),
    "ff0_i32": lambda a: _first_one(b.not_(a), b.ctz(b.not_(a))),
    "ff1_i32": lambda a: _first_one(a, b.ctz(a)),
    "flbit_i32_b": lambda a: _first_one(a, b.clz(a)),
    "flbit_i32_i": sign_run,
    "bitreplicate_b64": _replicate,
}
_SOP1_SCC: dict[str, _Unary] = {
    "not": b.not_,
    "wqm": lambda a: _groups(a, whole=True),
    "quadmask": lambda a: _groups(a, whole=False),
    "bcnt0_i32": lambda a: b.extract(b.popcount(b.not_(a)), 0, 32),
    "bcnt1_i32": lambda a: b.extract(b.popcount(a), 0, 32),
    "abs": lambda a: b.ite(b.slt(a, b.const(32, 0)), b.neg(a), a),
}


def _sop1(form: Form) -> Program | None:
    name = form.name
    if name == "s_getpc_b64":
        return _program(Write("sdst", b.special("pc")))
    if not form.has("ssrc0"):
        return None
    stem = name[2:].rsplit("_", 1)[0]
    a = b.src("ssrc0", form.spec("ssrc0").bits)
    if name.endswith(("_saveexec_b64", "_wrexec_b64")):
        before = b.special("exec")
        logic, _, kind = stem.partition("_")
        value = _EXEC_LOGIC[logic](a, before)
        kept = before if kind == "saveexec" else value
        return _program(Write("sdst", kept), Write("exec", value), _scc(b.nonzero(value)))
    if stem == "cmov":
        return _program(Write("sdst", a, b.special("scc")))
    if stem in ("bitset0", "bitset1"):
        bits = form.spec("sdst").bits
        bit = b.shl(b.const(bits, 1), _amount(a, bits))
        before = b.old("sdst", bits)
        return _program(Write("sdst", b.or_(before, bit) if stem == "bitset1" else b.and_(before, b.not_(bit))))
    if stem == "flbit" or name == "s_flbit_i32_i64":
        return _program(Write("sdst", sign_run(a)))
    if stem == "flbit_i32":
        return _program(Write("sdst", _SOP1_PLAIN["flbit_i32_b"](a)))
    plain = _SOP1_PLAIN.get(stem) or _SOP1_PLAIN.get(name[2:])
    if plain:
        return _program(Write("sdst", plain(a)))
    if stem in _SOP1_SCC:
        value = _SOP1_SCC[stem](a)
        return _program(Write("sdst", value), _scc(b.nonzero(value)))
    return None


def _condition(word: str, a: Expr, c: Expr, *, signed: bool) -> Expr:
    table: dict[str, Callable[[], Expr]] = {
        "eq": lambda: b.eq(a, c),
        "lg": lambda: b.ne(a, c),
        "lt": lambda: b.less(a, c, signed=signed),
        "ge": lambda: b.not_(b.less(a, c, signed=signed)),
        "gt": lambda: b.less(c, a, signed=signed),
        "le": lambda: b.not_(b.less(c, a, signed=signed)),
    }
    return table[word]()


def _sopc(form: Form) -> Program | None:
    parts = form.name.split("_")
    if parts[1] == "cmp":
        a, c = (b.src(name, form.spec(name).bits) for name in ("ssrc0", "ssrc1"))
        return _program(_scc(_condition(parts[2], a, c, signed=parts[3][0] == "i")))
    if parts[1] in ("bitcmp0", "bitcmp1"):
        a = b.src("ssrc0", form.spec("ssrc0").bits)
        bit = b.extract(b.lshr(a, _amount(b.src("ssrc1", 32), a.bits)), 0, 1)
        return _program(_scc(bit if parts[1] == "bitcmp1" else b.not_(bit)))
    return None


def _sopk(form: Form) -> Program | None:
    name = form.name
    parts = name.split("_")
    if parts[1] == "cmpk":
        a, c = b.src("ssrc0", 32), b.src("simm16", 32)
        return _program(_scc(_condition(parts[2], a, c, signed=parts[3][0] == "i")))
    constant = b.src("simm16", 32)
    before = b.old("sdst", 32)
    match name:
        case "s_movk_i32":
            return _program(Write("sdst", constant))
        case "s_cmovk_i32":
            return _program(Write("sdst", constant, b.special("scc")))
        case "s_mulk_i32":
            return _program(Write("sdst", b.mul(before, constant)))
        case "s_addk_i32":
            value = b.add(before, constant)
            return _program(Write("sdst", value), _scc(_overflow_add(before, constant, value)))
        case _:
            return None


def program(form: Form) -> Program | None:
    """The program of a scalar ALU instruction; None when it has no semantics here."""
    family = form.definition.family.value
    return {"sop1": _sop1, "sop2": _sop2, "sopk": _sopk, "sopc": _sopc}[family](form)
