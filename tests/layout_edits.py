"""Random edits that change a kernel's size, and the check that the rebuilt object is right. For tests only.

The check reads the result by AsmEvo's reader and by tools of others, and shares nothing with the writer's layout or its check.
"""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from asmevo.backend.writer import rebuild
from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.codeobject import CodeObject, load
from asmevo.frontend.line import parse_line
from asmevo.frontend.recover import recover
from asmevo.ir.instruction import Instruction, Label
from asmevo.ir.kernel import Kernel
from asmevo.ir.rewriter import Rewriter
from code_objects import check_structure

FILLER = ("s_nop", "s_code_end", ".long")
# Neither reads what the code around it needs, nor writes anything: 4 and 8 bytes.
_ADDED = ("s_nop 0", "s_nop 3", "v_nop", "s_setprio 0", "v_add_u32_e64 v0, v0, 0")


@dataclass(frozen=True, slots=True)
class Edit:
    """What was done: bytes added and removed."""

    kernel: Kernel
    added: int
    removed: int


def grown(kernel: Kernel, size: int, rng: random.Random) -> Edit:
    """The kernel with at least `size` bytes of instructions added, in runs at random places."""
    texts = [parse_line(text) for text in _ADDED]
    sizes = [8 if text.startswith("v_add") else 4 for text in _ADDED]
    rewriter = Rewriter(kernel)
    labels = [block.label for block in kernel.blocks if not block.frozen]
    added = 0
    for run in _split(size, rng.randint(1, 8), rng):
        label = rng.choice(labels)
        picked: list[Instruction] = []
        while run > 0:
            which = rng.randrange(len(texts)) if run >= 8 else 0
            picked.append(texts[which])
            run -= sizes[which]
            added += sizes[which]
        room = len(_open_part(rewriter.kernel.block(label).instructions))
        rewriter.insert(label, rng.randint(0, room), picked)
    return Edit(rewriter.kernel, added, 0)


def shrunk(kernel: Kernel, size: int, rng: random.Random) -> Edit:
    """The kernel without at most `size` bytes of instructions, at random places, that the rewriter lets go."""
    rewriter = Rewriter(kernel)
    candidates = [i for block in kernel.blocks if not block.frozen for i in _open_part(block.instructions)]
    removed = 0
    for instruction in rng.sample(candidates, min(len(candidates), max(size // 4, 1))):
        if removed >= size:
            break
        try:
            rewriter.erase(instruction.uid)
        except DiagnosticError as error:
            if error.diagnostics[0].code != "E0313":
                raise
            continue
        removed += len(instruction.encoding or b"")
    return Edit(rewriter.kernel, 0, removed)


def _split(size: int, parts: int, rng: random.Random) -> list[int]:
    cuts = sorted(rng.randrange(0, size + 1, 4) for _ in range(parts - 1))
    return [b - a for a, b in zip([0, *cuts], [*cuts, size], strict=True)]


def _open_part(instructions: Sequence[Instruction]) -> Sequence[Instruction]:
    last = instructions[-1].definition if instructions else None
    return instructions[:-1] if last is not None and (last.is_branch or last.is_terminator) else instructions


def check_rebuilt(obj: CodeObject, edited: Kernel, folder: Path) -> bytes:
    """Rebuild, read the result anew, and compare everything with what was meant. Returns the new object."""
    data = rebuild(obj, edited)
    check_structure(data)
    new = load(data, "rebuilt")
    got = recover(new, edited.name)
    _check_code(edited, got)
    _check_symbols(obj, new, edited, got)
    for before, after in zip(obj.kernels, new.kernels, strict=True):
        assert after.metadata == before.metadata
        same_place = replace(after.descriptor, raw=b"", entry_offset=0)
        assert same_place == replace(before.descriptor, raw=b"", entry_offset=0)
        assert after.descriptor.raw[:16] + after.descriptor.raw[24:] == before.descriptor.raw[:16] + before.descriptor.raw[24:]
    for section in obj.elf.sections:
        if section.name not in (".text", ".symtab", ".dynsym", ".dynamic", ".rodata"):
            there = new.elf.sections[section.index]
            assert (there.name, there.flags, there.alignment) == (section.name, section.flags, section.alignment)
            assert new.elf.contents(there) == obj.elf.contents(section)
    _check_with_tools(obj.data, data, folder)
    return data


def _check_code(wanted: Kernel, got: Kernel) -> None:
    left, right = list(wanted.instructions()), list(got.instructions())
    for side in (left, right):
        while side and side[-1].mnemonic in FILLER:
            side.pop()
    assert [_said(i) for i in right] == [_said(i) for i in left]
    starts, found = _starts(wanted), _starts(got)
    for one, other in zip(left, right, strict=True):
        for label, there in zip(one.operands, other.operands, strict=True):
            if isinstance(label, Label):
                assert isinstance(there, Label)
                assert starts[label.name] == found[there.name]
    assert [starts[label] for label in wanted.roots] == [found[label] for label in got.roots]


def _check_symbols(old: CodeObject, new: CodeObject, wanted: Kernel, got: Kernel) -> None:
    """A symbol that stood at a block, the kernel's own among them, stands at that block."""
    assert [(s.name, s.kind, s.section) for s in new.symbols] == [(s.name, s.kind, s.section) for s in old.symbols]
    indices, places = _starts(wanted), {index: label for label, index in _starts(got).items()}
    at = {block.offset: block.label for block in wanted.blocks if block.instructions}
    offsets = {block.label: block.offset for block in got.blocks}
    for before, after in zip(old.symbols, new.symbols, strict=True):
        label = at.get(before.value - old.text.address) if before.section == old.text.index else None
        if label is not None and indices[label] in places:
            assert offsets[places[indices[label]]] == after.value - new.text.address, before.name


def _said(instruction: Instruction) -> tuple[object, ...]:
    operands = tuple("label" if isinstance(o, Label) else o for o in instruction.operands)
    return instruction.mnemonic, operands, instruction.modifiers


def _starts(kernel: Kernel) -> dict[str, int]:
    starts: dict[str, int] = {}
    count = 0
    for block in kernel.blocks:
        starts[block.label] = count
        count += len(block.instructions)
    return starts


@cache
def tools() -> dict[str, tuple[str, ...]]:
    """The command lines of installed tools that read objects, by name. An llvm-objdump before 18 does not know the targets."""
    found: dict[str, tuple[str, ...]] = {}
    if path := shutil.which("readelf") or shutil.which("llvm-readelf"):
        found["readelf"] = (path, "-a", "-W")
    for name in ("llvm-objdump", *(f"llvm-objdump-{number}" for number in range(30, 17, -1))):
        if path := shutil.which(name):
            said = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
            version = re.search(r"version (\d+)", said)
            if version and int(version[1]) >= 18:
                # The chip named: an older version does not know gfx950's ELF flags.
                found["llvm-objdump"] = (path, "-d", "--mcpu=gfx942")
                break
    return found


def _check_with_tools(old: bytes, new: bytes, folder: Path) -> None:
    before, after = folder / "before.co", folder / "after.co"
    before.write_bytes(old)
    after.write_bytes(new)
    for command in tools().values():
        assert _complaints(command, after) <= _complaints(command, before), command


def _complaints(command: Sequence[str], file: Path) -> set[str]:
    run = subprocess.run([*command, file.name], capture_output=True, text=True, errors="replace", timeout=300, cwd=file.parent)
    assert run.returncode == 0, (command, run.stderr[:500])
    lines = run.stderr.splitlines()
    if "-a" in command:
        # In a disassembly the word is a remark on an instruction, with its address.
        lines += [line for line in run.stdout.splitlines() if "arning:" in line]
    return {line.replace(file.name, "") for line in lines if line.strip()}
