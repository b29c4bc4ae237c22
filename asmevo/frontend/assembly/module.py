"""A whole assembly source to its kernels.

Owns the order of work: expand, read, lay out what needs addresses, cut into functions, attach descriptors and metadata.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from asmevo.diagnostics import Diagnostic, DiagnosticError, Span, fail
from asmevo.frontend.assembly.blocks import Region, build_kernel
from asmevo.frontend.assembly.data import data_instruction
from asmevo.frontend.assembly.expander import Expander
from asmevo.frontend.assembly.lines import Line, located, split_lines, unquoted
from asmevo.frontend.assembly.metadata_text import Value, parse_metadata
from asmevo.frontend.assembly.resolve import Answer, Candidate, check_instructions, descriptor_bytes, resolve
from asmevo.frontend.assembly.state import DescriptorBlock, Entry, SourceState, Waiting
from asmevo.frontend.descriptor import parse_descriptor
from asmevo.frontend.llvm import check_target
from asmevo.frontend.metadata import kernels_of
from asmevo.ir.abi import KernelDescriptor, KernelMetadata
from asmevo.ir.instruction import Immediate, Label, Operand, Symbolic
from asmevo.ir.kernel import Kernel

DEFAULT_TARGET = "gfx942"
_ROOT = re.compile(r"^[ \t]*; asmevo-root: (\S.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class SourceModule:
    """What a source holds. `kernels` are those with a descriptor, or the only function; `functions` are the others.

    `features` are the target ID's (`+sramecc,-xnack`); `symbols` the constants at the end of the source; `metadata` the map of
    `.amdgpu_metadata`, None without one.
    """

    target: str
    features: str
    kernels: tuple[Kernel, ...]
    functions: tuple[Kernel, ...]
    symbols: Mapping[str, int]
    metadata: Mapping[str, Value] | None


def parse_module(
    text: str, file: str = "<source>", include_root: Path | None = None, *, target: str = DEFAULT_TARGET, check: bool = True
) -> SourceModule:
    """The kernels and functions of a source, descriptors and metadata read. `include_root` is the only folder `.include` reads.

    Every instruction was accepted by the grammar and the tables and, with `check`, by LLVM's assembler for the target that the
    source names (else `target`). Instructions have no bytes, but for those whose size depends on an address.

    Raises: DiagnosticError E0121 to E0147 (docs/diagnostics.md), each with line and column, and a note for each macro it
    came through.
    """
    state = SourceState(check_target(target))
    lines = split_lines(text, file)
    for statement in Expander(state, include_root, raw=state.take_raw).statements(lines):
        state.take(statement)
    state.unfinished()
    if not state.entries:
        fail("E0134", "the source holds no instructions", Span(file))
    _settle(state)
    if check:
        check_instructions(_candidates(state), state.target)
    metadata = parse_metadata(state.metadata[1], state.metadata[0]) if state.metadata else None
    described = _kernel_metadata(metadata, state, file)
    roots = [unquoted(match.group(1)) for match in _ROOT.finditer(text)]
    kernels: list[Kernel] = []
    functions: list[Kernel] = []
    for region, block in _regions(state):
        descriptor = _descriptor(block, state, file) if block else None
        kernel = build_kernel(region, state.target, roots, file, descriptor, described.get(region.name))
        (kernels if block or not state.descriptors else functions).append(kernel)
        roots = []
    return SourceModule(state.target, state.features, tuple(kernels), tuple(functions), dict(state.constants), metadata)


def _settle(state: SourceState) -> None:
    """Give values to what depends on where the code lies."""
    if not state.waiting:
        return
    answers = resolve(state.flat, state.target)
    for waiting, answer in zip(state.waiting, answers, strict=True):
        entry = state.entries[waiting.entry]
        state.entries[waiting.entry] = _settled(entry, waiting, answer)


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


def _candidates(state: SourceState) -> list[Candidate]:
    """The instructions that LLVM can judge by themselves: no data, no label, nothing that waited for an address."""
    waited = {waiting.entry for waiting in state.waiting}
    found: list[Candidate] = []
    for index, entry in enumerate(state.entries):
        instruction = entry.instruction
        if instruction.definition is None or index in waited:
            continue
        if any(isinstance(operand, Label) for operand in instruction.operands):
            if state.target not in instruction.definition.targets:
                entry.line.fail("E0129", f"{state.target} has no {instruction.mnemonic}")
            continue
        found.append(Candidate(entry.text, entry.line, entry.start))
    return found


def _regions(state: SourceState) -> list[tuple[Region, DescriptorBlock | None]]:
    """The functions in layout order, each with its descriptor. Without descriptors the whole code is one."""
    blocks = {block.name: block for block in state.descriptors}
    for block in state.descriptors:
        if block.name not in state.labels:
            # A descriptor in front of code without a label names that code.
            if len(blocks) == 1 and not any(name in state.labels for name in state.functions):
                return [(_region(state, block.name, 0, len(state.entries), 0), block)]
            block.opening.fail("E0146", f"kernel '{block.name}' has no code: no label of that name")
    if not blocks:
        name = next(iter([*state.globals, *state.labels]), "kernel")
        return [(_region(state, name, 0, len(state.entries), 0), None)]
    heads = dict.fromkeys((*blocks, *(name for name in state.functions if name in state.labels)))
    places = sorted({state.labels[name]: name for name in reversed(list(heads))}.items())
    found: list[tuple[Region, DescriptorBlock | None]] = []
    for index, (start, name) in enumerate(places):
        end = places[index + 1][0] if index + 1 < len(places) else len(state.entries)
        if start >= end:
            state.descriptors[0].opening.fail("E0146", f"'{name}' has no code")
        found.append((_region(state, name, 0 if index == 0 else start, end, start), blocks.get(name)))
    return found


def _region(state: SourceState, name: str, start: int, end: int, root: int) -> Region:
    count = len(state.entries)
    labels = {label: index - start for label, index in state.labels.items() if start <= index < end or (index == end == count)}
    entries = state.entries[start:end]
    instructions = tuple(replace(entry.instruction, uid=uid) for uid, entry in enumerate(entries))
    fixed = any(start <= waiting.entry < end for waiting in state.waiting)
    elsewhere = state.labels.keys() - labels.keys()
    return Region(name, instructions, tuple(entry.line for entry in entries), labels, elsewhere, fixed, root - start)


def _descriptor(block: DescriptorBlock, state: SourceState, file: str) -> KernelDescriptor:
    settings = [(name, state.number(line.text, line, start), line) for name, line, start in block.settings]
    return parse_descriptor(descriptor_bytes(settings, block.opening, state.target, state.features), file)


def _kernel_metadata(metadata: Mapping[str, Value] | None, state: SourceState, file: str) -> dict[str, KernelMetadata]:
    if metadata is None or state.metadata is None:
        return {}
    opening: Line = state.metadata[0]
    try:
        return {kernel.name: kernel for kernel in kernels_of(cast("Mapping[object, object]", metadata), file, 0)}
    except DiagnosticError as error:
        raise located(Diagnostic("E0147", error.diagnostics[0].message, opening.span()), opening.origin) from error


__all__: Sequence[str] = ("DEFAULT_TARGET", "SourceModule", "parse_module")
