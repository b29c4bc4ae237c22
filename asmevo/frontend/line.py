"""One line of assembly to one instruction.

Owns the two routes to it, which must agree: the grammar, and templates of line shapes seen before. Statements other than
instructions are in `source`; what a tree means is in `template`.
"""

from __future__ import annotations

import difflib
import re
import struct
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple, NoReturn

from lark import Token

from asmevo.diagnostics import Diagnostic, DiagnosticError, Span
from asmevo.frontend.modifiers import MODIFIER_NAMES
from asmevo.frontend.syntax import GrammarError, parse_tree
from asmevo.frontend.template import LineError, Template, compile_template, with_constant_operand
from asmevo.ir import isa
from asmevo.ir.instruction import Immediate, Instruction, Modifier, Operand, Register, WaitCounts
from asmevo.ir.isa.model import Family, OpcodeDef
from asmevo.ir.isa.offsets import offset_range
from asmevo.ir.registers import SPECIAL_NAMES, RegisterRange
from asmevo.ir.symbols import NAMED_SOURCES

_HOLE = re.compile(r"((?<=\b[sva])\d+\b|(?<=\bL_)[0-9a-f]+\b|(?<!\.)\b(?:0x[0-9a-fA-F]+|\d+)\b(?!\.))")
"""The numbers of a line: register numbers, constants and the addresses in labels of recovered code."""

_LINE_LIMIT = 1024
"""Far above any instruction, far below what would nest too deeply for the parser."""

_MEMO_LINES = 1 << 16
_WORD = (1 << 32) - 1
_IMMEDIATE_FAMILIES = (Family.SOPP, Family.SOPK)
_INLINE_FLOATS = frozenset((0, 0x3F000000, 0x3F800000, 0x40000000, 0x40800000, 0x3E22F983))
"""0, 0.5, 1, 2, 4 and 1/(2 pi) as 32-bit floats, without sign."""

_RAW = ".long"


class Parts(NamedTuple):
    """What a line says: an instruction without its place."""

    mnemonic: str
    operands: tuple[Operand, ...]
    modifiers: tuple[Modifier, ...]
    definition: OpcodeDef | None


def parse_line(text: str, span: Span | None = None, *, allow_opaque: bool = False) -> Instruction:
    """The instruction that a line of assembly (no label, no comment) stands for, with its definition.

    `span` is where the line stands; its column is that of the text's first character. An opcode without a definition is an
    error unless `allow_opaque`, which gives an instruction whose `definition` is None.

    Raises: DiagnosticError E0121 (syntax), E0122 (unknown opcode), E0123 (unknown operand word), E0124 (operand form), E0125
    (register), E0126 (constant), E0127 (modifier), E0128 (operand count).
    """
    parts = line_parser().parse(text, span, allow_opaque=allow_opaque)
    return Instruction(*parts, span=span)


@lru_cache(maxsize=1)
def line_parser() -> LineParser:
    """The shared parser; its memory only saves time and never changes a result."""
    return LineParser()


class LineParser:
    """Parses lines, remembering the lines and the shapes it has seen."""

    def __init__(self) -> None:
        self._lines: dict[str, Parts] = {}
        self._templates: dict[str, tuple[Template, OpcodeDef | None]] = {}

    def parse(self, text: str, span: Span | None = None, *, allow_opaque: bool = False) -> Parts:
        """The parts of a line; see `parse_line`."""
        parts = self._lines.get(text)
        if parts is None:
            if len(text) > _LINE_LIMIT:
                message = f"the line has {len(text)} characters, the limit is {_LINE_LIMIT}"
                raise DiagnosticError(Diagnostic("E0121", message, place(text, span, 0, len(text))))
            parts = self._from_shape(text) or self.parse_with_grammar(text, span)
            if len(self._lines) >= _MEMO_LINES:
                self._lines.clear()
            self._lines[text] = parts
        if parts.definition is None and not allow_opaque and parts.mnemonic != _RAW:
            self._refuse_opaque(text, span)
        return parts

    def parse_with_grammar(self, text: str, span: Span | None = None) -> Parts:
        """The parts of a line by the grammar alone; remembers the line's shape."""
        literals = _HOLE.split(text)
        template, definition = self._compile(text, span)
        if template.is_complete:
            if len(self._templates) >= _MEMO_LINES:
                self._templates.clear()
            self._templates["#".join(literals[::2])] = template, definition
        try:
            return _finish(template, literals[1::2], definition)
        except LineError as error:
            _fail(error, text, span)

    def _from_shape(self, text: str) -> Parts | None:
        pieces = _HOLE.split(text)
        known = self._templates.get("#".join(pieces[::2]))
        if known is None:
            return None
        template, definition = known
        try:
            return _finish(template, pieces[1::2], definition)
        except LineError:
            # Carets belong to the line the template came from: the grammar finds the error again, at its place in this line.
            return None

    def _compile(self, text: str, span: Span | None) -> tuple[Template, OpcodeDef | None]:
        holes = {match.span(): index for index, match in enumerate(_HOLE.finditer(text))}
        try:
            tree = parse_tree(text, "instruction")
        except GrammarError as error:
            where = place(text, span, error.start, error.length)
            raise DiagnosticError(Diagnostic("E0121", error.message, where, error.help)) from error
        mnemonic = str(tree.children[0])
        try:
            template = compile_template(tree, holes, takes_labels=_takes_labels(mnemonic))
        except LineError as error:
            _fail(error, text, span)
        definition = isa.resolve(mnemonic, len(template.operands), template.modifier_tokens)
        if definition is None and (implied := _implied(mnemonic, len(template.operands))) is not None:
            template = with_constant_operand(template, *implied)
            definition = isa.resolve(mnemonic, len(template.operands), template.modifier_tokens)
        return template, definition

    def _refuse_opaque(self, text: str, span: Span | None) -> NoReturn:
        template, _ = self._compile(text, span)
        variants = isa.variants(template.mnemonic)
        _fail(_wrong_count(template, variants) if variants else _unknown_mnemonic(template), text, span)


def _finish(template: Template, holes: list[str], definition: OpcodeDef | None) -> Parts:
    operands, modifiers = template.fill(holes)
    mnemonic = template.mnemonic
    if definition is not None:
        if definition.family in _IMMEDIATE_FAMILIES:
            _check_immediate(operands, definition, template)
        elif isa.base_mnemonic(mnemonic).endswith("_f16"):
            operands = tuple([_half(operand) for operand in operands])
        for modifier in modifiers:
            if modifier.name == "offset":
                _check_offset(modifier, definition, template.modifier_tokens["offset"])
    if mnemonic == "s_waitcnt" and len(operands) == 1 and isinstance(operands[0], Immediate):
        if operands[0].value >= 1 << 16:
            raise LineError("E0126", f"s_waitcnt takes 16 bits, {operands[0].text} given", template.operand_tokens[0])
        operands = (_wait_counts(operands[0].value),)
    return Parts(mnemonic, operands, modifiers, definition)


def _implied(mnemonic: str, given: int) -> tuple[int, Operand] | None:
    """Place and operand that a short form leaves out: VCC as mask, result or carry, and the offset 0 of a scalar access."""
    if not mnemonic.endswith("_e32") and mnemonic != isa.base_mnemonic(mnemonic):
        return None
    vcc = Register(RegisterRange(*SPECIAL_NAMES["vcc"]))
    for definition in isa.variants(mnemonic):
        names = [operand.name for operand in definition.operands]
        if len(names) != given + 1:
            continue
        if definition.family is Family.SMEM and names[-1] == "soffset":
            return given, Immediate(0, "0x0")
        if definition.family not in (Family.VOP2, Family.VOPC):
            continue
        if definition.mnemonic.startswith("v_cndmask_"):
            return given, vcc
        if "sdst" in names and "src2" not in names:
            return names.index("sdst"), vcc
    return None


def _check_immediate(operands: Sequence[Operand], definition: OpcodeDef, template: Template) -> None:
    """A 16-bit field takes no more: LLVM cuts `s_nop 0x10001` to `s_nop 1`."""
    for index, operand in enumerate(operands):
        if (
            isinstance(operand, Immediate)
            and definition.operands[index].name == "simm16"
            and 1 << 16 <= operand.value < (-1 << 15) & _WORD
        ):
            message = f"{definition.mnemonic} takes 16 bits, {operand.text} given"
            raise LineError("E0126", message, template.operand_tokens[index])


def _half(operand: Operand) -> Operand:
    """A float constant of a 16-bit operation that is no inline one is a 16-bit float in the encoding."""
    if not isinstance(operand, Immediate) or not operand.is_float or operand.value & 0x7FFFFFFF in _INLINE_FLOATS:
        return operand
    try:
        bits = int.from_bytes(
            struct.pack("<e", float.fromhex(operand.text) if "x" in operand.text else float(operand.text)), "little"
        )
    except OverflowError:
        raise LineError("E0126", f"constant {operand.text} is above the range of a 16-bit float") from None
    return replace(operand, value=bits, text=f"{bits:#x}", is_float=False)


def _wait_counts(field: int) -> WaitCounts:
    vmcnt, expcnt, lgkmcnt = field & 15 | (field >> 14 & 3) << 4, field >> 4 & 7, field >> 8 & 15
    return WaitCounts(
        vmcnt if vmcnt < 63 else None,
        expcnt if expcnt < 7 else None,
        lgkmcnt if lgkmcnt < 15 else None,
    )


def _takes_labels(mnemonic: str) -> bool:
    return mnemonic.startswith(("s_branch", "s_cbranch_", "s_call_"))


def _check_offset(modifier: Modifier, definition: OpcodeDef, token: Token) -> None:
    allowed = offset_range(definition.family)
    if allowed is None:
        raise LineError("E0127", f"{definition.mnemonic} has no offset", token)
    if modifier.value not in allowed:
        raise LineError("E0127", f"offset:{modifier.value} is out of range: {allowed[0]} to {allowed[-1]}", token)


def _wrong_count(template: Template, variants: Sequence[OpcodeDef]) -> LineError:
    given = len(template.operands)
    wanted = " or ".join(dict.fromkeys(_operand_list(definition) for definition in variants))
    most = max(len(definition.operands) for definition in variants)
    token = template.operand_tokens[most] if given > most else template.mnemonic_token
    return LineError("E0128", f"{template.mnemonic} takes {wanted}, {given} given", token or template.mnemonic_token)


def _operand_list(definition: OpcodeDef) -> str:
    names = ", ".join(operand.name for operand in definition.operands)
    count = len(definition.operands)
    return f"{count} {'operand' if count == 1 else 'operands'}{f' ({names})' if names else ''}"


def _unknown_mnemonic(template: Template) -> LineError:
    mnemonic = template.mnemonic
    if mnemonic.startswith("image_"):
        help = "write it as .long words; code with them is kept, never changed"
        return LineError("E0122", f"image instructions are not supported: '{mnemonic}'", template.mnemonic_token, help)
    base = isa.base_mnemonic(mnemonic)
    near = difflib.get_close_matches(base, list(isa.definitions()), n=1, cutoff=0.6)
    suggestion = f"did you mean '{near[0]}{mnemonic[len(base) :]}'?" if near else None
    return LineError("E0122", f"unknown opcode '{mnemonic}'", template.mnemonic_token, suggestion)


def _fail(error: LineError, text: str, span: Span | None) -> NoReturn:
    token, help_text = error.token, error.help
    if help_text is None and token is not None:
        help_text = _nearest(error.code, str(token))
    start = token.start_pos if token is not None and token.start_pos is not None else 0
    length = len(token) if token is not None else len(text)
    raise DiagnosticError(Diagnostic(error.code, error.message, place(text, span, start, length), help_text))


def _nearest(code: str, word: str) -> str | None:
    pools: dict[str, Iterable[str]] = {"E0123": (*SPECIAL_NAMES, *NAMED_SOURCES), "E0127": MODIFIER_NAMES}
    if code not in pools or word in pools[code]:
        return None
    near = difflib.get_close_matches(word, list(pools[code]), n=1)
    return f"did you mean '{near[0]}'?" if near else None


def place(text: str, span: Span | None, start: int, length: int) -> Span:
    """The span of `length` characters from `start` of a line that stands at `span`."""
    if span is None:
        return Span("<line>", 1, start + 1, length, source=text)
    if not span.line:
        return Span(span.file, 1, start + 1, length, span.offset, text)
    source = span.source if span.source is not None else text
    return Span(span.file, span.line, max(span.column, 1) + start, length, span.offset, source)
