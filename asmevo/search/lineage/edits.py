"""What was done to a kernel as plain data, and the kernel that it makes of its parent again.

An edit names, for each changed block, every instruction in order: the parent's by its number, a new or changed one by its text.
So it is small, can be read, and gives the same bytes when it is replayed. Owns that form only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, cast

from asmevo.diagnostics import DiagnosticError, fail
from asmevo.frontend.line import parse_line
from asmevo.ir.instruction import Instruction
from asmevo.ir.kernel import Block, Kernel
from asmevo.ir.printer import print_instruction

_FORM = 1


def encoded(parent: Kernel, child: Kernel) -> dict[str, Any]:
    """Return the edit that makes `child` of `parent`. Both have the same blocks; instructions keep their uid."""
    known = {instruction.uid: instruction for instruction in parent.instructions()}
    blocks = {
        after.label: [_entry(known, instruction) for instruction in after.instructions]
        for before, after in zip(parent.blocks, child.blocks, strict=True)
        if before.instructions != after.instructions
    }
    return {"form": _FORM, "blocks": blocks}


def _entry(known: dict[int, Instruction], instruction: Instruction) -> int | list[int | str]:
    return instruction.uid if known.get(instruction.uid) == instruction else [instruction.uid, print_instruction(instruction)]


def applied(parent: Kernel, edit: object) -> Kernel:
    """Return the kernel that an edit makes. Raises E0803 for an edit that is not one of this kernel."""
    known = {instruction.uid: instruction for instruction in parent.instructions()}
    if not isinstance(edit, dict) or cast("dict[str, Any]", edit).get("form") != _FORM:
        fail("E0803", "the edit is of another form than this version reads")
    written = cast("dict[str, Any]", edit).get("blocks")
    if not isinstance(written, dict):
        fail("E0803", "the edit names no blocks")
    changed = cast("dict[str, Any]", written)
    labels = {block.label for block in parent.blocks}
    if strangers := sorted(set(changed) - labels):
        fail("E0803", f"the edit is of a block '{strangers[0]}' that the kernel does not have")
    return replace(parent, blocks=tuple(_block(block, changed.get(block.label), known) for block in parent.blocks))


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
