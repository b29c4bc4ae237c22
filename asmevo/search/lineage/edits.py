"""What was done to a kernel as plain data, and the kernel that it makes of its parent again.

An edit names, for each changed block, every instruction in order: the parent's by its number, a new or changed one by its text.
What the kernel declares (descriptor and figures of the metadata) is named where it changed. So an edit is small, can be read,
and gives the same bytes when it is replayed. Owns that form only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, cast

from asmevo.diagnostics import DiagnosticError, fail
from asmevo.frontend.descriptor import parse_descriptor
from asmevo.frontend.line import parse_line
from asmevo.ir.abi import KernelDescriptor, KernelMetadata
from asmevo.ir.instruction import Instruction
from asmevo.ir.kernel import Block, Kernel
from asmevo.ir.printer import print_instruction

Edit = Mapping[str, Any]

_FORM = 2
_READ = (1, 2)
"""Form 1 had no declarations: what it says, form 2 says in the same words."""


def encoded(parent: Kernel, child: Kernel) -> dict[str, Any]:
    """Return the edit that makes `child` of `parent`; instructions keep their uid.

    Raises E0803 where the blocks are others, or where the child declares what an edit cannot say.
    """
    if [block.label for block in parent.blocks] != [block.label for block in child.blocks]:
        fail("E0803", "the two kernels have other blocks than each other")
    known = {instruction.uid: instruction for instruction in parent.instructions()}
    blocks = {
        after.label: [_entry(known, instruction) for instruction in after.instructions]
        for before, after in zip(parent.blocks, child.blocks, strict=True)
        if before.instructions != after.instructions
    }
    edit: dict[str, Any] = {"form": _FORM, "blocks": blocks}
    if declares := _declared(parent, child):
        edit["declares"] = declares
    return edit


def _declared(parent: Kernel, child: Kernel) -> dict[str, Any]:
    """What the child declares otherwise; E0803 for what an edit cannot say."""
    declares: dict[str, Any] = {}
    if child.descriptor != parent.descriptor:
        if child.descriptor is None or parse_descriptor(child.descriptor.raw, child.name) != child.descriptor:
            fail("E0803", "the descriptor's fields are not those of its bytes")
        declares["descriptor"] = child.descriptor.raw.hex()
    if child.metadata != parent.metadata:
        if parent.metadata is None or child.metadata is None:
            fail("E0803", "an edit cannot add or remove metadata")
        figures = {name: getattr(child.metadata, name) for name in _FIGURES}
        if replace(parent.metadata, **figures) != child.metadata:
            fail("E0803", "an edit can change only the resource figures of the metadata")
        declares["metadata"] = {n: v for n, v in figures.items() if v != getattr(parent.metadata, n)}
    return declares


_FIGURES = ("group_segment_bytes", "private_segment_bytes", "vgpr_count", "agpr_count", "sgpr_count")


def _entry(known: dict[int, Instruction], instruction: Instruction) -> int | list[int | str]:
    return instruction.uid if known.get(instruction.uid) == instruction else [instruction.uid, print_instruction(instruction)]


def applied(parent: Kernel, edit: object) -> Kernel:
    """Return the kernel that an edit makes. Raises E0803 for an edit that is not one of this kernel."""
    known = {instruction.uid: instruction for instruction in parent.instructions()}
    if not isinstance(edit, dict) or cast("dict[str, Any]", edit).get("form") not in _READ:
        fail("E0803", "the edit is of another form than this version reads")
    written = cast("dict[str, Any]", edit).get("blocks")
    if not isinstance(written, dict):
        fail("E0803", "the edit names no blocks")
    changed = cast("dict[str, Any]", written)
    labels = {block.label for block in parent.blocks}
    if strangers := sorted(set(changed) - labels):
        fail("E0803", f"the edit is of a block '{strangers[0]}' that the kernel does not have")
    blocks = tuple(_block(block, changed.get(block.label), known) for block in parent.blocks)
    declares = cast("dict[str, Any]", edit).get("declares", {})
    if not isinstance(declares, dict):
        fail("E0803", "what the edit declares is no table")
    descriptor, metadata = _redeclared(parent, cast("dict[str, Any]", declares))
    return replace(parent, blocks=blocks, descriptor=descriptor, metadata=metadata)


def _redeclared(parent: Kernel, declares: dict[str, Any]) -> tuple[KernelDescriptor | None, KernelMetadata | None]:
    descriptor, metadata = parent.descriptor, parent.metadata
    if "descriptor" in declares:
        text = declares["descriptor"]
        try:
            raw = bytes.fromhex(text) if isinstance(text, str) and len(text) == 128 else b""
        except ValueError:
            raw = b""
        if descriptor is None or not raw:
            fail("E0803", "the edit's descriptor is none, or the kernel has none")
        descriptor = parse_descriptor(raw, parent.name)
    if "metadata" in declares:
        figures = declares["metadata"]
        if metadata is None or not isinstance(figures, dict):
            fail("E0803", "the edit's metadata is no table, or the kernel has none")
        for name, value in cast("dict[str, Any]", figures).items():
            if name not in _FIGURES or type(value) is not int or getattr(metadata, name) is None:
                fail("E0803", f"the edit changes {name[:40]!r} of the metadata, which no edit may")
        metadata = replace(metadata, **figures)
    return descriptor, metadata


def _block(block: Block, entries: object, known: dict[int, Instruction]) -> Block:
    if entries is None:
        return block
    if not isinstance(entries, list):
        fail("E0803", f"the edit of block '{block.label}' is no list")
    return replace(block, instructions=tuple(_instruction(entry, known) for entry in cast("list[object]", entries)))


def _instruction(entry: object, known: dict[int, Instruction]) -> Instruction:
    match entry:
        case int() if entry in known:
            return known[entry]
        case [int() as uid, str() as text]:
            try:
                made = parse_line(text)
            except DiagnosticError as error:
                fail("E0803", f"the edit has an instruction that is not understood: {error.diagnostics[0].message}")
            before = known.get(uid)
            return edited_as(before, made) if before else replace(made, uid=uid)
        case _:
            fail("E0803", f"the edit refers to an instruction {str(entry)[:80]!r} that the kernel does not have")


def edited_as(before: Instruction, made: Instruction) -> Instruction:
    """Return `before` as it is once edited to say what `made` does.

    Where it stood goes with it, so that its line is still named in findings.
    """
    return replace(made, uid=before.uid, offset=before.offset, span=before.span)


def edited_text(edit: Mapping[str, Any]) -> Iterator[str]:
    """What an edit says, to be read: each block it changed, with the new and changed instructions in their places."""
    declares = edit.get("declares", {})
    if "descriptor" in declares:
        yield f"descriptor: {declares['descriptor']}"
    for name, value in declares.get("metadata", {}).items():
        yield f"metadata: {name} {value}"
    for label, entries in edit.get("blocks", {}).items():
        yield f"{label}:"
        kept = 0
        for entry in (*entries, None):
            if isinstance(entry, int):
                kept += 1
                continue
            if kept:
                yield f"  ... {kept} as before, in this order"
            kept = 0
            if entry is not None:
                yield f"  {entry[1]}"
