"""Representative lines of every opcode, made from the operand specifications of the instruction tables.

A line's registers do not overlap, but for the read-write operands that the tables name. Lines are plausible, not necessarily
encodable: what a modifier means does not depend on whether an encoding has room for it. Where a modifier means the same on all
opcodes, each opcode gets some of its values, chosen by the opcode's name; together they get all.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence

from asmevo.ir.isa.model import Access, Family, Flag, OpcodeDef, OperandSpec, Role

_VECTOR = frozenset({Family.VOP1, Family.VOP2, Family.VOP3, Family.VOP3P, Family.VOPC, Family.MATRIX})
_SCALAR_NAMES = frozenset({"sdst", "ssrc0", "ssrc1", "sdata", "sbase", "srsrc", "soffset", "saddr"})
_SCALAR = frozenset({Family.SOP1, Family.SOP2, Family.SOPK, Family.SOPC, Family.SOPP, Family.SMEM})
_E64 = frozenset({Family.VOP1, Family.VOP2, Family.VOPC})
_BYTES = ("src0_sel:BYTE_1 src1_sel:WORD_1", "src0_sel:WORD_1 src1_sel:BYTE_3", "src0_sel:DWORD src1_sel:BYTE_0")
_PLACES = (
    "dst_sel:DWORD dst_unused:UNUSED_PAD",
    "dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE",
    "dst_sel:BYTE_1 dst_unused:UNUSED_SEXT",
)
_DPP = (
    "quad_perm:[2,1,3,0] row_mask:0xf bank_mask:0xf",
    "row_shr:3 row_mask:0xa bank_mask:0x7",
    "row_shl:1 row_mask:0xf bank_mask:0xf bound_ctrl:0",
    "row_ror:5 row_mask:0xf bank_mask:0xf",
    "row_bcast:15 row_mask:0xa bank_mask:0xf",
    "row_bcast:31 row_mask:0xc bank_mask:0xf",
    "row_half_mirror row_mask:0xf bank_mask:0xf",
    "row_mirror row_mask:0xf bank_mask:0xf",
    "wave_shr:1 row_mask:0xf bank_mask:0xf",
    "row_newbcast:6 row_mask:0xf bank_mask:0xf",
)


_CONSTANTS = ("-5", "64", "1.0", "-4.0", "0.15915494", "s4", "exec_lo", "src_scc")


def _some(name: str, items: Sequence[str], count: int) -> list[str]:
    """`count` items in a row, from a place that depends on `name`."""
    first = zlib.crc32(name.encode())
    return [items[(first + n) % len(items)] for n in range(min(count, len(items)))]


def _register(kind: str, first: int, bits: int) -> str:
    count = max(1, bits // 32)
    return f"{kind}{first}" if count == 1 else f"{kind}[{first}:{first + count - 1}]"


class _Registers:
    """Hands out registers that are not in use, aligned to even numbers (scalar ones to fours)."""

    def __init__(self) -> None:
        self.next = {"v": 8, "s": 8}

    def take(self, kind: str, bits: int) -> str:
        count = max(1, bits // 32)
        align = 2 if kind == "v" else 4
        first = -(-self.next[kind] // align) * align
        self.next[kind] = first + count
        return _register(kind, first, bits)


def _kind(definition: OpcodeDef, spec: OperandSpec) -> str:
    if definition.family not in _VECTOR:
        return "s" if spec.name in _SCALAR_NAMES or (definition.family in _SCALAR and spec.name != "vaddr") else "v"
    if spec.name == "sdst":
        return "s"
    mask = spec.name == "src2" and spec.bits == 64 and ("cndmask" in definition.mnemonic or "_co_" in definition.mnemonic)
    lane = spec.name == "src1" and definition.mnemonic == "v_readlane_b32"
    written = definition.mnemonic == "v_writelane_b32" and spec.role is Role.READ
    return "s" if mask or lane or written else "v"


def _operands(definition: OpcodeDef, given: dict[str, str] | None = None) -> list[str]:
    registers = _Registers()
    texts: list[str] = []
    for spec in definition.operands:
        text = (given or {}).get(spec.name)
        if text is None:
            if spec.name == "simm16":
                text = "0x8123" if "u32" in definition.mnemonic else "-1234"
            elif spec.name == "imm32":
                text = "0x3e12" if definition.mnemonic.endswith("f16") else "0x40490fdb"
            else:
                text = registers.take(_kind(definition, spec), spec.bits)
        texts.append(text)
    return texts


def _line(name: str, operands: list[str], modifiers: str = "") -> str:
    return f"{name} {', '.join(operands)} {modifiers}".strip()


def _sources(definition: OpcodeDef) -> list[OperandSpec]:
    """Those that may be something else than VGPRs, too: what is wider than 64 bits may not, as the assembler has it."""
    named = [s for s in definition.operands if s.name in ("src0", "src1", "src2") and _kind(definition, s) == "v"]
    return [s for s in named if s.bits <= 64 or definition.family is not Family.VOP3]


def _is_float(definition: OpcodeDef) -> bool:
    return any(part in ("f16", "f32", "f64") for part in definition.mnemonic.split("_"))


def _short(definition: OpcodeDef) -> list[str]:
    """Operands of the short encoding: carries and compares in VCC."""
    fixed = {"sdst": "vcc"} if any(s.name == "sdst" and s.bits == 64 for s in definition.operands) else {}
    if any(s.name == "src2" for s in definition.operands):
        fixed["src2"] = "vcc"
    return _operands(definition, fixed)


def _vector(definition: OpcodeDef) -> Iterator[str]:
    name, family = definition.mnemonic, definition.family
    plain = _operands(definition)
    yield _line(name, plain)
    sources = _sources(definition)
    if not sources or family is Family.MATRIX:
        return
    packed = family is Family.VOP3P
    first = sources[0]
    for text in _some(name, _CONSTANTS, 3) if first.role is Role.READ else ():
        whole = {"s4": "s[4:5]", "exec_lo": "exec"}.get(text, text) if first.bits == 64 else text
        yield _line(name, _operands(definition, {first.name: whole}))
    if family in (Family.VOP1, Family.VOP2, Family.VOPC) and not any(s.name == "imm32" for s in definition.operands):
        if first.role is Role.READ:
            yield _line(name, _operands(definition, {first.name: "0x40123456" if first.bits == 32 else "0xc0580000"}))
        if family is not Family.VOP1:
            yield _line(f"{name}_e32", _short(definition))
    if packed:
        yield from _packed(definition, plain, len(sources))
        return
    long = f"{name}_e64" if family in _E64 else name
    indices = [definition.operands.index(s) for s in sources]
    if _is_float(definition):
        negated = list(plain)
        for n, index in enumerate(indices):
            negated[index] = f"-{plain[index]}" if n % 2 else f"-|{plain[index]}|"
        yield _line(long, negated)
        for modifiers in _some(name, ("clamp", "mul:2", "div:2 clamp", "mul:4"), 2):
            yield _line(long, plain, modifiers)
    elif any(part in ("u16", "i16", "u32", "i32") for part in name.split("_")):
        yield _line(long, plain, "clamp")
    if family is Family.VOP3 and name.endswith(("16",)):
        flags = ",".join("1" for _ in sources)
        yield _line(name, plain, f"op_sel:[{flags},{len(name) % 2}]")
    if family in _E64 and all(s.bits == 32 for s in sources) and not any(s.name == "imm32" for s in definition.operands):
        yield from _sub_dword(definition)


def _sub_dword(definition: OpcodeDef) -> Iterator[str]:
    """The SDWA and DPP lines of VOP1, VOP2 and VOPC."""
    name = definition.mnemonic
    short = _short(definition)
    two = len(_sources(definition)) > 1
    compare = definition.family is Family.VOPC
    for k in (zlib.crc32(name.encode()) % len(_BYTES),):
        selects = _BYTES[k]
        chosen = selects if two else selects.split()[0]
        texts = list(short)
        if k != 2:
            at = definition.operands.index(_sources(definition)[0])
            texts[at] = f"-|{texts[at]}|" if _is_float(definition) else f"sext({texts[at]})"
        yield _line(f"{name}_sdwa", texts, chosen if compare else f"{_PLACES[k]} {chosen}")
    if not compare:
        for control in _some(name, _DPP, 1):
            yield _line(f"{name}_dpp", short, control)


def _packed(definition: OpcodeDef, plain: list[str], count: int) -> Iterator[str]:
    name = definition.mnemonic

    def flags(*items: int) -> str:
        return "[" + ",".join(str(n) for n in items[:count]) + "]"

    yield _line(name, plain, f"op_sel:{flags(1, 0, 1)} op_sel_hi:{flags(0, 1, 0)}")
    yield _line(name, plain, f"op_sel:{flags(0, 1, 1)} op_sel_hi:{flags(1, 0, 0)}")
    if _is_float(definition):
        yield _line(name, plain, f"neg_lo:{flags(1, 0, 1)} neg_hi:{flags(0, 1, 1)}")
        if "mix" in name:
            yield _line(name, plain, f"op_sel:{flags(1, 0, 1)} op_sel_hi:{flags(1, 1, 1)}")
    yield _line(name, plain, "clamp")


def _memory(definition: OpcodeDef) -> Iterator[str]:
    name, family = definition.mnemonic, definition.family
    returns = " sc0" if definition.access is Access.ATOMIC_RETURN and family is not Family.DS else ""
    if family is Family.DS:
        two = "2" in name.split("_")[1]
        yield _line(name, _operands(definition), "offset0:3 offset1:9" if two else "offset:256")
        yield _line(name, _operands(definition))
    elif family in (Family.GLOBAL, Family.FLAT):
        if family is Family.GLOBAL:
            yield _line(name, _operands(definition, {"saddr": "off"}), f"offset:-16{returns}")
            yield _line(name, _operands(definition, {"vaddr": "v2"}), f"offset:32{returns}")
        else:
            yield _line(name, _operands(definition), f"offset:32{returns}")
    elif family is Family.SCRATCH:
        tail = f"offset:16{' lds' if Flag.M0_LDS in definition.flags else ''}"
        yield _line(name, _operands(definition, {"vaddr": "off", "saddr": "off"}), tail)
        yield _line(name, _operands(definition, {"vaddr": "v2", "saddr": "off"}), tail)
        yield _line(name, _operands(definition, {"vaddr": "off", "saddr": "s4"}), tail)
        yield _line(name, _operands(definition, {"vaddr": "v2", "saddr": "s4"}), "offset:-16")
    elif family is Family.MUBUF:
        lds = " lds" if Flag.M0_LDS in definition.flags else ""
        tail = f"offset:16{returns}{lds}"
        yield _line(name, _operands(definition, {"vaddr": "off"}), tail)
        yield _line(name, _operands(definition, {"vaddr": "v2"}), f"offen {tail}")
        yield _line(name, _operands(definition, {"vaddr": "v2", "soffset": "0"}), f"idxen {tail}")
        yield _line(name, _operands(definition, {"vaddr": "v[2:3]"}), f"idxen offen {tail}")
    elif family is Family.SMEM:
        yield _line(name, _operands(definition, {"soffset": "0x40"}), returns)
        yield _line(name, _operands(definition), returns)


def _scalar(definition: OpcodeDef) -> Iterator[str]:
    name = definition.mnemonic
    yield _line(name, _operands(definition))
    for spec in definition.operands:
        if spec.name.startswith("ssrc"):
            for text in _some(name + spec.name, ("-3", "0x12345678", "0.5", "-16"), 1):
                yield _line(name, _operands(definition, {spec.name: text}))
    if any(s.name == "sdst" and s.bits == 64 for s in definition.operands):
        yield _line(name, _operands(definition, {"sdst": "vcc", "ssrc0": "exec"}))


def lines_of(definition: OpcodeDef) -> list[str]:
    """Lines of one definition, the plainest first; none for control instructions."""
    family = definition.family
    if family in _VECTOR:
        return list(_vector(definition))
    if family in (Family.SOP1, Family.SOP2, Family.SOPK, Family.SOPC):
        return list(_scalar(definition))
    return list(_memory(definition))
