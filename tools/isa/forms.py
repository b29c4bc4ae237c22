"""Every opcode as lines of assembly: a form for each encoding and addressing mode, with registers that meet every rule.

Owns the texts that probes and pages start from. It must not ask the assembler anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from asmevo.ir.isa import definitions, permitted_bits
from asmevo.ir.isa.model import Access, Encoding, Family, Flag, OpcodeDef
from asmevo.ir.isa.operands import Constants, operand_class
from asmevo.ir.registers import RegisterFile

_WORDS = {"hwreg": "hwreg(HW_REG_MODE)", "gpr_idx": "gpr_idx(SRC0)", "imm32": "0x1234"}
# Their SDWA form chooses the source's bytes only.
_WHOLE_RESULT = frozenset({"v_cvt_f32_fp8", "v_cvt_f32_bf8", "v_cvt_pk_f32_fp8", "v_cvt_pk_f32_bf8"})
_BUFFER_MODES = (("off", 0, ""), ("", 32, "offen"), ("", 32, "idxen"), ("", 64, "idxen offen"))
# Of cbsz and blgp, the format with sources of that many bits.
_FORMATS = {256: 0, 192: 2, 128: 4}


@dataclass(frozen=True, slots=True)
class Form:
    """One way to print an opcode. `bits` are the operands' widths in this mode, 0 where no register is printed."""

    definition: OpcodeDef
    encoding: Encoding
    operands: tuple[str, ...]
    bits: tuple[int, ...]
    modifiers: str = ""

    def line(self, index: int = -1, text: str = "") -> str:
        """The form as assembly; operand `index`, if any, printed as `text`."""
        operands = [text if number == index else operand for number, operand in enumerate(self.operands)]
        return f"{self.definition.mnemonic}{self.encoding.value} {', '.join(operands)} {self.modifiers}".strip()

    def with_operand(self, name: str, text: str, bits: int) -> Form:
        """The form with another text and width for the operand called `name`; itself when it has none."""
        names = [spec.name for spec in self.definition.operands]
        if name not in names:
            return self
        at = names.index(name)
        operands = (*self.operands[:at], text, *self.operands[at + 1 :])
        return replace(self, operands=operands, bits=(*self.bits[:at], bits, *self.bits[at + 1 :]))

    def with_modifiers(self, *words: str) -> Form:
        """The form with more modifiers."""
        return replace(self, modifiers=" ".join(word for word in (self.modifiers, *words) if word))


def register(file: RegisterFile, count: int, position: int) -> str:
    """A register tuple that satisfies every alignment rule and overlaps no other operand's."""
    letter = file.value
    if count == 1:
        return f"{letter}{(3 if letter == 's' else 240) + position}"
    first = 16 + 16 * position if letter == "s" else 32 * position
    return f"{letter}[{first}:{first + count - 1}]"


def forms(definition: OpcodeDef, target: str) -> Iterator[Form]:
    """All forms of a definition on a target, the shortest encoding first."""
    for encoding in (encoding for encoding in Encoding if encoding in definition.encodings):
        yield from _modes(_plain(definition, encoding), target)


def all_forms(target: str) -> Iterator[Form]:
    """All forms of every definition that a target has."""
    for found in definitions().values():
        for definition in found:
            if target in definition.targets:
                yield from forms(definition, target)


def _plain(definition: OpcodeDef, encoding: Encoding) -> Form:
    texts: list[str] = []
    bits: list[int] = []
    for index, spec in enumerate(definition.operands):
        takes = operand_class(definition, index, encoding)
        if takes.fixed:
            texts.append(takes.fixed)
            bits.append(0)
        elif takes.constants is Constants.IMMEDIATE:
            texts.append(_WORDS.get(spec.name, "1"))
            bits.append(0)
        else:
            # A vector instruction may read one scalar register only: the value of v_writelane is a constant beside its lane.
            file = _preferred(takes.files)
            inline = definition.mnemonic == "v_writelane_b32" and spec.name == "src0"
            texts.append("1" if inline else register(file, spec.bits // 32, index))
            bits.append(spec.bits)
    return Form(definition, encoding, tuple(texts), tuple(bits), _fixed_modifiers(definition, encoding))


def _preferred(files: frozenset[RegisterFile]) -> RegisterFile:
    for file in (RegisterFile.VGPR, RegisterFile.AGPR, RegisterFile.SGPR):
        if file in files:
            return file
    raise ValueError("an operand class without a register file")


def _fixed_modifiers(definition: OpcodeDef, encoding: Encoding) -> str:
    sources = sum(spec.name in ("src0", "src1") for spec in definition.operands)
    if encoding is Encoding.SDWA:
        if definition.mnemonic in _WHOLE_RESULT:
            return "src0_sel:WORD_1"
        selects = " src1_sel:DWORD" if sources > 1 else ""
        kept = "" if definition.family is Family.VOPC else "dst_sel:DWORD dst_unused:UNUSED_PAD "
        return f"{kept}src0_sel:WORD_1{selects}" if sources else ""
    if encoding is Encoding.DPP:
        # Double-precision DPP knows this control only.
        wide = any(spec.bits == 64 and spec.name in ("vdst", "src0", "src1") for spec in definition.operands)
        return f"{'row_newbcast:0' if wide else 'quad_perm:[0,0,0,0]'} row_mask:0xf bank_mask:0xf"
    return ""


def _modes(form: Form, target: str) -> Iterator[Form]:
    definition = form.definition
    family = definition.family
    returns = ""
    if definition.access is Access.ATOMIC_RETURN and family is not Family.DS:
        returns = "glc" if target == "gfx90a" or family is Family.SMEM else "sc0"
        form = form if family in (Family.SMEM, Family.MUBUF) else form.with_modifiers(returns)
    if definition.mnemonic.startswith("ds_gws_"):
        form = form.with_modifiers("gds")
    if family in (Family.MUBUF, Family.MTBUF):
        yield from _buffer(form, returns)
    elif family is Family.GLOBAL:
        yield from _files(form.with_operand("saddr", "off", 0))
        yield form.with_operand("vaddr", "v2", 32)
    elif family is Family.SCRATCH:
        yield from _files(form.with_operand("saddr", "off", 0))
        yield form.with_operand("vaddr", "off", 0)
        if target != "gfx90a":
            yield form
            yield form.with_operand("vaddr", "off", 0).with_operand("saddr", "off", 0)
    elif family is Family.SMEM:
        yield form.with_modifiers(returns)
        if form.operands and definition.operands[-1].name == "soffset":
            yield form.with_modifiers("offset:0x10", returns)
    elif family is Family.MATRIX:
        yield from _matrix(form)
    else:
        yield from _files(form)


def _buffer(form: Form, returns: str) -> Iterator[Form]:
    to_lds = "lds" if Flag.M0_LDS in form.definition.flags and form.definition.family is Family.MUBUF else ""
    if not any(spec.name == "vaddr" for spec in form.definition.operands):
        yield form.with_modifiers(to_lds)
        return
    for fixed, bits, words in _BUFFER_MODES:
        text = fixed or register(RegisterFile.VGPR, bits // 32, 2)
        mode = form.with_operand("vaddr", text, bits).with_modifiers(words, returns, to_lds)
        if words == "offen":
            yield from _files(mode)
        else:
            yield mode


def _files(form: Form) -> Iterator[Form]:
    """The form with its data in VGPRs, and in AGPRs where the class allows them."""
    yield form
    changed = form
    for index, spec in enumerate(form.definition.operands):
        takes = operand_class(form.definition, index, form.encoding)
        if RegisterFile.VGPR in takes.files and RegisterFile.AGPR in takes.files and form.bits[index]:
            changed = changed.with_operand(
                spec.name, register(RegisterFile.AGPR, form.bits[index] // 32, index), form.bits[index]
            )
    if changed != form:
        yield changed


def _matrix(form: Form) -> Iterator[Form]:
    names = [spec.name for spec in form.definition.operands]
    if "src2" not in names:
        yield form
        return
    yield from _files(form)
    yield form.with_operand("src2", "0", form.bits[names.index("src2")])
    if form.definition.mnemonic.endswith("_f8f6f4"):
        for index, modifier in ((1, "cbsz"), (2, "blgp")):
            for bits in permitted_bits(form.definition, index):
                yield _source(form, index, bits).with_modifiers(f"{modifier}:{_FORMATS[bits]}")


def _source(form: Form, index: int, bits: int) -> Form:
    return form.with_operand(form.definition.operands[index].name, register(RegisterFile.VGPR, bits // 32, index), bits)


def printed(lines: Sequence[str]) -> str:
    """Lines as one source text."""
    return "\n".join(lines) + "\n"
