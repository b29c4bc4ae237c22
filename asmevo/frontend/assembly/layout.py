"""What a source's code is once it is laid out: values that wait for addresses, what alignments fill in, sizes.

Owns putting answers of the layout into entries; asking for them is the business of `resolve`.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, replace
from itertools import accumulate

from asmevo.frontend.assembly.code import Code, Entry, Waiting
from asmevo.frontend.assembly.data import data_instruction
from asmevo.frontend.assembly.lines import located
from asmevo.frontend.assembly.resolve import Answer, FlatLine, resolve
from asmevo.frontend.line import line_parser
from asmevo.ir.instruction import Immediate, Instruction, Operand, Symbolic

_NOP = b"\x00\x00\x80\xbf"
_MAX_PADDING_BYTES = 1 << 18


@dataclass(frozen=True, slots=True)
class LaidOut:
    """The code with nothing left open. `labels` are by index into `entries`; `moving` are the entries that know their place.

    `sizes` are the bytes of each entry, empty when nobody asked for them.
    """

    entries: tuple[Entry, ...]
    labels: dict[str, int]
    moving: frozenset[int]
    sizes: tuple[int, ...] = ()


def lay_out(code: Code, heads: Set[str], *, with_sizes: bool) -> LaidOut:
    """Settle everything that waits. `heads` are the labels of functions: what is filled in before one belongs to none.

    Raises: DiagnosticError E0126 and E0133 at what has no value, E0138 for too much padding.
    """
    labels = code.symbols.labels
    edges = frozenset(_edge_paddings(code, {labels[name] for name in heads if name in labels}))
    waiting = {item.entry: item for item in code.waiting if item.entry not in edges}
    answers = _answers(code, waiting.keys(), with_sizes) if waiting or with_sizes else {}
    pieces: list[tuple[Entry, ...]] = []
    padded = 0
    for index, entry in enumerate(code.entries):
        item = waiting.get(index)
        if index in edges:
            pieces.append(())
        elif item is None:
            pieces.append((entry,))
        elif item.is_padding:
            padded += len(answers[index].encoding)
            if padded > _MAX_PADDING_BYTES:
                entry.line.fail("E0138", f"alignments fill in more than {_MAX_PADDING_BYTES} bytes")
            pieces.append(tuple(_filling(entry, answers[index].encoding)))
        else:
            pieces.append((_settled(entry, item, answers[index]),))
    starts = [0, *accumulate(len(piece) for piece in pieces)]
    sizes = (
        len(answers[index].encoding) // len(piece) for index, piece in enumerate(pieces) if piece and with_sizes for _ in piece
    )
    return LaidOut(
        tuple(entry for piece in pieces for entry in piece),
        {label: starts[index] for label, index in labels.items()},
        frozenset(starts[index] for index, item in waiting.items() if not item.is_padding),
        tuple(sizes),
    )


def _answers(code: Code, waiting: Set[int], all_entries: bool) -> dict[int, Answer]:
    """The layout's answers by entry, for those that wait or for all."""
    flat: list[FlatLine] = []
    asked: list[int] = []
    index = -1
    for item in code.symbols.flat:
        index += item.is_entry
        if item.is_entry and (all_entries or index in waiting):
            asked.append(index)
            flat.append(item if item.asks else replace(item, asks=("0",)))
        else:
            flat.append(replace(item, asks=()) if item.asks else item)
    return dict(zip(asked, resolve(flat, code.symbols.target), strict=True))


def _edge_paddings(code: Code, starts: Set[int]) -> Iterator[int]:
    """Paddings with nothing but paddings between them and the start of a function or the end."""
    paddings = {item.entry for item in code.waiting if item.is_padding}
    for index in paddings:
        after = index + 1
        while after in paddings and after not in starts:
            after += 1
        if after in starts or after == len(code.entries):
            yield index


def _filling(entry: Entry, filled: bytes) -> Iterator[Entry]:
    """What an alignment filled in, as instructions where it is s_nop, else as data."""
    if filled and filled == _NOP * (len(filled) // len(_NOP)):
        nop = Instruction(*line_parser().parse("s_nop 0"), span=entry.line.span())
        yield from (replace(entry, instruction=nop, text="s_nop 0", start=None) for _ in range(len(filled) // len(_NOP)))
    elif filled:
        yield replace(entry, instruction=replace(data_instruction(filled), span=entry.line.span()))


def _settled(entry: Entry, waiting: Waiting, answer: Answer) -> Entry:
    if not waiting.deferred:
        if None in answer.values:
            entry.line.fail("E0133", "the data refer to a symbol that this source does not define")
        return replace(entry, instruction=replace(data_instruction(answer.encoding), span=entry.line.span()))
    operands: list[Operand] = list(entry.instruction.operands)
    for item, value in zip(waiting.deferred, answer.values, strict=True):
        if value is None and "@" not in item.text:
            if waiting.failure is not None:
                raise located(waiting.failure.diagnostics[0], entry.line.origin)
            entry.line.fail("E0133", f"'{item.text}' refers to a symbol that this source does not define")
        for index, operand in enumerate(operands):
            if isinstance(operand, Immediate) and operand.value == item.placeholder:
                operands[index] = _operand(operand, item.text, value)
    return replace(entry, instruction=replace(entry.instruction, operands=tuple(operands), encoding=answer.encoding))


def _operand(placed: Immediate, text: str, value: int | None) -> Operand:
    if value is None:
        return Symbolic(text)
    bits = value & 0xFFFFFFFF
    return replace(placed, value=bits, text=f"{bits:#x}")
