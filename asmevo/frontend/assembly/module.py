"""A whole assembly source to its kernels.

Owns the order of work: expand, read, lay out what needs addresses, cut into functions, attach descriptors and metadata.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from asmevo.diagnostics import Diagnostic, DiagnosticError, Span, fail
from asmevo.frontend.assembly.blocks import Region, build_kernel
from asmevo.frontend.assembly.code import Code
from asmevo.frontend.assembly.expander import Expander
from asmevo.frontend.assembly.layout import LaidOut, lay_out
from asmevo.frontend.assembly.lines import Line, located, split_lines, unquoted
from asmevo.frontend.assembly.metadata_text import Value, parse_metadata
from asmevo.frontend.assembly.resolve import Candidate, check_instructions, descriptor_bytes
from asmevo.frontend.assembly.state import DescriptorBlock, SourceState
from asmevo.frontend.assembly.symbols import SymbolTable
from asmevo.frontend.descriptor import parse_descriptor
from asmevo.frontend.llvm import check_target
from asmevo.frontend.metadata import kernels_of
from asmevo.frontend.recover import PRELOAD_PROLOGUE_BYTES
from asmevo.ir.abi import KernelDescriptor, KernelMetadata
from asmevo.ir.instruction import Label
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
    symbols = SymbolTable(check_target(target))
    code = Code(symbols)
    state = SourceState(symbols, code)
    lines = split_lines(text, file)
    for statement in Expander(state, include_root, raw=state.take_raw).statements(lines):
        state.take(statement)
    state.unfinished()
    if not code.entries:
        fail("E0134", "the source holds no instructions", Span(file))
    described = {block.name: _descriptor(block, state, file) for block in state.descriptors}
    laid = lay_out(code, _heads(state).keys(), with_sizes=any(item.preload_dwords for item in described.values()))
    if not laid.entries:
        fail("E0134", "the source holds no instructions", Span(file))
    if check:
        check_instructions(_candidates(laid, symbols.target), symbols.target)
    metadata = parse_metadata(state.metadata[1], state.metadata[0]) if state.metadata else None
    kernel_metadata = _kernel_metadata(metadata, state, file)
    named_roots = [unquoted(match.group(1)) for match in _ROOT.finditer(text)]
    kernels: list[Kernel] = []
    functions: list[Kernel] = []
    for name, start, end, root in _places(state, laid):
        descriptor = described.get(name)
        second = _preload_root(laid, root, end) if descriptor and descriptor.preload_dwords and not named_roots else None
        region = _region(laid, name, start, end, (root,) if second is None else (root, second))
        kernel = build_kernel(region, symbols.target, named_roots, file, descriptor, kernel_metadata.get(name))
        (kernels if descriptor or not state.descriptors else functions).append(kernel)
        named_roots = []
    return SourceModule(symbols.target, state.features, tuple(kernels), tuple(functions), dict(symbols.constants), metadata)


def _candidates(laid: LaidOut, target: str) -> list[Candidate]:
    """The instructions that LLVM can judge by themselves: no data, no label, nothing that waited for an address."""
    found: list[Candidate] = []
    for index, entry in enumerate(laid.entries):
        instruction = entry.instruction
        if instruction.definition is None or index in laid.moving:
            continue
        if any(isinstance(operand, Label) for operand in instruction.operands):
            if target not in instruction.definition.targets:
                entry.line.fail("E0129", f"{target} has no {instruction.mnemonic}")
            continue
        found.append(Candidate(entry.text, entry.line, entry.start))
    return found


def _heads(state: SourceState) -> dict[str, None]:
    """The names at which functions begin, those of kernels first; empty when the whole code is one."""
    kernels = dict.fromkeys(block.name for block in state.descriptors)
    labels = state.symbols.labels
    functions = [name for name in state.functions if name in labels]
    for block in state.descriptors:
        if block.name not in labels:
            # A descriptor in front of code without a label names that code.
            if len(kernels) == 1 and not functions:
                return {}
            block.opening.fail("E0146", f"kernel '{block.name}' has no code: no label of that name")
    return kernels | dict.fromkeys(functions) if kernels else {}


def _places(state: SourceState, laid: LaidOut) -> Iterator[tuple[str, int, int, int]]:
    """The functions in layout order: name, first entry, entry behind the last, and the entry that a wave starts at."""
    heads = _heads(state)
    if not heads:
        name = next(iter([*(block.name for block in state.descriptors), *state.globals, *laid.labels]), "kernel")
        yield name, 0, len(laid.entries), 0
        return
    starts = sorted({laid.labels[name]: name for name in reversed(heads)}.items())
    for index, (start, name) in enumerate(starts):
        end = starts[index + 1][0] if index + 1 < len(starts) else len(laid.entries)
        if start >= end:
            state.descriptors[0].opening.fail("E0146", f"'{name}' has no code")
        yield name, 0 if index == 0 else start, end, start


def _preload_root(laid: LaidOut, root: int, end: int) -> int | None:
    """The entry behind the prologue that a kernel with kernarg preload has; None when the code ends within it."""
    offset = 0
    for index in range(root, end):
        if offset >= PRELOAD_PROLOGUE_BYTES:
            if offset > PRELOAD_PROLOGUE_BYTES:
                break
            return index
        offset += laid.sizes[index]
    else:
        return None
    message = f"the kernel uses kernarg preload, and no instruction starts {PRELOAD_PROLOGUE_BYTES} bytes behind its entry"
    laid.entries[root].line.fail(
        "E0144", message, f"fill the prologue up, as with .p2align {PRELOAD_PROLOGUE_BYTES.bit_length() - 1}"
    )


def _region(laid: LaidOut, name: str, start: int, end: int, roots: tuple[int, ...]) -> Region:
    count = len(laid.entries)
    labels = {label: index - start for label, index in laid.labels.items() if start <= index < end or (index == end == count)}
    entries = laid.entries[start:end]
    instructions = tuple(replace(entry.instruction, uid=uid) for uid, entry in enumerate(entries))
    fixed = any(start <= index < end for index in laid.moving)
    elsewhere = laid.labels.keys() - labels.keys()
    lines = tuple(entry.line for entry in entries)
    return Region(name, instructions, lines, labels, elsewhere, fixed, tuple(root - start for root in roots))


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
