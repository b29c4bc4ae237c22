"""The whole listing of a code object.

Owns the order of its parts and how a line is put together. What the parts say comes from the other modules of this package.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from asmevo.backend.listing.code import statements
from asmevo.backend.listing.comments import argument_comments, block_comments, preloaded
from asmevo.backend.listing.data import (
    Context,
    Statements,
    context_of,
    data_sections,
    declarations,
    has_directives,
    needs_text_label,
    section_label,
    section_statements,
)
from asmevo.backend.listing.descriptor import descriptor_lines
from asmevo.backend.listing.metadata import metadata_lines, note_lines
from asmevo.backend.listing.regions import Names, Region, is_writable, lift, regions_of
from asmevo.diagnostics import printable
from asmevo.frontend.codeobject import CodeObject, KernelEntry
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.instruction import Instruction
from asmevo.ir.kernel import Kernel
from asmevo.ir.printer import quoted

_ENTRY_ALIGNMENT_LOG2 = 8
_COMMENT_COLUMN = 56
_SIGNS = {"on": "+", "off": "-"}


@dataclass(frozen=True, slots=True)
class Options:
    """What a listing shows. `kernel` None: the whole object. `offsets` and `encoding` add each instruction's as comments."""

    kernel: str | None = None
    comments: bool = True
    offsets: bool = False
    encoding: bool = False


PLAIN = Options(comments=False)


def print_object(obj: CodeObject, options: Options = Options(), recovered: Mapping[str, Kernel] = {}) -> str:
    """The object as assembly text: target, code with labels, data, descriptors, metadata.

    Every instruction's text assembles to its bytes; where LLVM's would not, it is `.long` with the text as a comment.
    Descriptors and metadata are directives where these give the bytes back, else data. With `options.kernel` only that kernel's
    code and descriptor are printed, enough for `build.assemble_like`. `recovered`: kernels of this object that the caller has
    already, by name. Raises E0109 for an unknown kernel.
    """
    return "\n".join(_lines(obj, options, recovered)) + "\n"


def target_id(obj: CodeObject) -> str:
    """The target as `.amdgcn_target` names it, with the features that the object fixes."""
    flags = "".join(f":{name}{sign}" for name, sign in _features(obj))
    return f"amdgcn-amd-amdhsa--{obj.target}{flags}"


def features(obj: CodeObject) -> str:
    """The same features as the assembler's option: `+sramecc,-xnack`, "" when the object leaves them open."""
    return ",".join(f"{sign}{name}" for name, sign in _features(obj))


def _features(obj: CodeObject) -> Iterator[tuple[str, str]]:
    for name, setting in (("sramecc", obj.sramecc), ("xnack", obj.xnack)):
        if setting in _SIGNS:
            yield name, _SIGNS[setting]


def _lines(obj: CodeObject, options: Options, recovered: Mapping[str, Kernel]) -> Iterator[str]:
    chosen = obj.kernel(options.kernel) if options.kernel is not None else None
    if options.comments:
        yield f"; {printable(obj.name)}: {obj.target}, code object version {obj.abi_version + 2}"
    yield f'\t.amdgcn_target "{target_id(obj)}"'
    yield f"\t.amdhsa_code_object_version {obj.abi_version + 2}"
    yield "\t.text"
    yield f"\t.p2align {_ENTRY_ALIGNMENT_LOG2}"
    context = context_of(obj, features(obj))
    if chosen is None and needs_text_label(obj, context):
        yield f"{section_label(obj.text)}:"
    for region in regions_of(obj):
        if chosen is None or chosen in region.kernels:
            yield from _region_lines(obj, region, lift(obj, region, recovered), context.names, options)
    if chosen is not None:
        yield from _descriptor_alone(obj, chosen, context)
        return
    rest = obj.data[obj.text.offset + (obj.text.size & ~3) : obj.text.offset + obj.text.size]
    if rest:
        yield f"\t.byte {', '.join(f'{byte:#04x}' for byte in rest)}"
    for section in data_sections(obj):
        yield from section_statements(obj, section, context).lines
    yield from metadata_statements(obj).lines


def metadata_statements(obj: CodeObject) -> Statements:
    """The statements of the metadata note: YAML, or exact bytes."""
    raw = obj.data[obj.note[0] : sum(obj.note)]
    out = Statements()
    for line in metadata_lines(raw, obj.target) or note_lines(raw):
        out.add(line, 0)
    return out


def _descriptor_alone(obj: CodeObject, entry: KernelEntry, context: Context) -> Iterator[str]:
    """A descriptor that can be edited; one that is exact bytes stands in the whole listing only."""
    if not has_directives(obj, entry, context.names):
        return
    yield '\t.section .rodata,"a",@progbits'
    yield "\t.p2align 6"
    yield from descriptor_lines(entry.name, entry.descriptor, obj.target, features(obj)) or ()


def _region_lines(obj: CodeObject, region: Region, kernel: Kernel, names: Names, options: Options) -> Iterator[str]:
    manager = AnalysisManager(kernel)
    instructions = list(kernel.instructions())
    written = iter(zip(instructions, statements(instructions, obj.target), strict=True))
    labels = _labels(obj, region, names, kernel)
    about = block_comments(kernel, manager) if options.comments else {}
    notes = _notes(kernel, manager, options) if options != PLAIN else {}
    yield ""
    if options.comments and any(instruction.mnemonic == "s_getpc_b64" for instruction in instructions):
        yield "; what is added to s_getpc_b64 is a number here: data and functions must keep their distance (asm --like)"
    for block in kernel.blocks:
        # A symbol may stand in the middle of a block, but not within an instruction.
        members = {member.offset for member in block.instructions} & labels.keys() if labels else set[int | None]()
        yield from _block_label(block.label, block.offset, labels, about.get(block.label))
        if options.comments and block.label == kernel.roots[0]:
            yield from (f"\t; {line}" for line in preloaded(kernel))
        for _ in block.instructions:
            instruction, (statement, text) = next(written)
            if members and instruction.offset in members and instruction.offset != block.offset:
                yield from _other_labels(labels, instruction.offset)
            note = notes.get(instruction.uid, "") if notes else ""
            if text or note:
                yield f"\t{statement:<{_COMMENT_COLUMN}}; {'; '.join(filter(None, (note, text)))}"
            else:
                yield f"\t{statement}"


@dataclass(frozen=True, slots=True)
class _Label:
    """A label that is no block's: its name as written, and the directives before it."""

    name: str
    directives: tuple[str, ...] = ()


def _labels(obj: CodeObject, region: Region, names: Names, kernel: Kernel) -> dict[int, list[_Label]]:
    """Offset in .text to the labels there, for the symbols in a region and the ends of its functions."""
    labels: dict[int, list[_Label]] = {}
    places = {member.offset for member in kernel.instructions()}
    taken = {block.label for block in kernel.blocks}
    base = obj.text.address
    for symbol in names.within(obj.text.index, base + region.start, base + region.stop):
        offset = symbol.value - base
        if offset not in places:
            continue
        # An end that is a label moves with the code; a number would stay.
        end = offset + symbol.size
        end_label = f"L_{end:04x}" if symbol.size and end in places else None
        labels.setdefault(offset, []).append(_Label(quoted(symbol.name), tuple(declarations(symbol, end_label))))
        if end_label is not None and end_label not in taken:
            labels.setdefault(end, []).append(_Label(end_label))
            taken.add(end_label)
    for entry in region.kernels:
        if entry.name not in names.addresses and is_writable(entry.name):
            labels.setdefault(entry.entry, []).append(_Label(quoted(entry.name)))
    return labels


def _block_label(label: str, offset: int | None, labels: dict[int, list[_Label]], about: str | None) -> Iterator[str]:
    yield from _other_labels(labels, offset)
    head = f"{quoted(label)}:"
    yield f"{head:<{_COMMENT_COLUMN + 8}}; {about}" if about else head


def _other_labels(labels: dict[int, list[_Label]], offset: int | None) -> Iterator[str]:
    for label in labels.get(offset, ()) if offset is not None else ():
        yield from label.directives
        yield f"{label.name}:"


def _notes(kernel: Kernel, manager: AnalysisManager, options: Options) -> dict[int, str]:
    """Uid to what the options ask to say of an instruction."""
    notes = argument_comments(kernel, manager) if options.comments else {}
    if not (options.offsets or options.encoding):
        return notes
    return {
        instruction.uid: "; ".join(filter(None, (_place(instruction, options), notes.get(instruction.uid))))
        for instruction in kernel.instructions()
    }


def _place(instruction: Instruction, options: Options) -> str:
    parts = [f"{instruction.offset:06x}"] if options.offsets and instruction.offset is not None else []
    if options.encoding and instruction.encoding is not None:
        size = 4 if len(instruction.encoding) % 4 == 0 else 1
        words = (instruction.encoding[at : at + size] for at in range(0, len(instruction.encoding), size))
        parts.append(" ".join(word[::-1].hex() for word in words))
    return " ".join(parts)
