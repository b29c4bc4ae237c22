"""What differs between two objects: instructions aligned, moves told from changes, and all that a kernel promises its host.

Owns finding and naming differences; it judges none of them. Instructions are compared by what they say, a branch by the
instruction it leads to, so code that merely stands elsewhere is the same.
"""

from __future__ import annotations

import enum
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields

from asmevo.frontend.codeobject import CodeObject
from asmevo.frontend.recover import recover
from asmevo.ir.abi import KernelDescriptor, KernelMetadata
from asmevo.ir.instruction import Instruction, Label
from asmevo.ir.kernel import Kernel
from asmevo.ir.printer import print_instruction
from asmevo.verify.diff.align import said
from asmevo.verify.diff.sequences import matched


class Change(str, enum.Enum):
    """How one instruction differs."""

    ADDED = "added"
    REMOVED = "removed"
    MOVED = "moved"
    """In both, but not in the same order with the others."""
    RETARGETED = "retargeted"
    """A branch in the same place that leads to another instruction."""
    REENCODED = "re-encoded"
    """The same text in other bytes."""


@dataclass(frozen=True, slots=True)
class InstructionChange:
    """One instruction's difference. Offsets are bytes in .text; the one of the side that lacks it is None."""

    change: Change
    text: str
    old_offset: int | None
    new_offset: int | None


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A named value that differs; None where there is none. `area` is descriptor, resources, metadata or arguments."""

    area: str
    name: str
    old: str | None
    new: str | None


@dataclass(frozen=True, slots=True)
class KernelDiff:
    """All differences of one kernel; `same` counts the instructions that both have, in order."""

    name: str
    instructions: tuple[InstructionChange, ...]
    fields: tuple[FieldChange, ...]
    same: int

    @property
    def is_empty(self) -> bool:
        """Whether nothing differs."""
        return not self.instructions and not self.fields


@dataclass(frozen=True, slots=True)
class ObjectDiff:
    """All differences of two objects. Kernels are matched by name; `only_old` and `only_new` name those without a partner.

    `sections` names those whose bytes differ, whatever the reason, and those that only one side has; `is_identical` says that
    the files are the same bytes.
    """

    target: tuple[str, str]
    kernels: tuple[KernelDiff, ...]
    only_old: tuple[str, ...]
    only_new: tuple[str, ...]
    sections: tuple[str, ...]
    is_identical: bool


def diff_objects(old: CodeObject, new: CodeObject) -> ObjectDiff:
    """Compare two objects, kernel by kernel in the old one's order."""
    old_names, new_names = [k.name for k in old.kernels], [k.name for k in new.kernels]
    common = [name for name in old_names if name in set(new_names)]
    return ObjectDiff(
        target=(old.target, new.target),
        kernels=tuple(diff_kernels(recover(old, name), recover(new, name)) for name in common),
        only_old=tuple(name for name in old_names if name not in set(new_names)),
        only_new=tuple(name for name in new_names if name not in set(old_names)),
        sections=_sections(old, new),
        is_identical=old.data == new.data,
    )


def _sections(old: CodeObject, new: CodeObject) -> tuple[str, ...]:
    sides = [{s.name: obj.elf.contents(s) for s in obj.elf.sections} for obj in (old, new)]
    names = [*sides[0], *(name for name in sides[1] if name not in sides[0])]
    return tuple(name for name in names if sides[0].get(name) != sides[1].get(name))


def diff_kernels(old: Kernel, new: Kernel) -> KernelDiff:
    """Compare two versions of a kernel."""
    before, after = list(old.instructions()), list(new.instructions())
    pairs = matched([said(i) for i in before], [said(i) for i in after])
    differing = [*_retargeted(old, new, before, after, pairs), *_reencoded(before, after, pairs)]
    changes = sorted([*differing, *_moved_or_changed(before, after, pairs)], key=_place)
    return KernelDiff(old.name, tuple(changes), tuple(_fields(old, new)), len(pairs) - len(differing))


def _place(change: InstructionChange) -> tuple[int, int]:
    offset = change.new_offset if change.new_offset is not None else change.old_offset
    assert offset is not None
    return offset, list(Change).index(change.change)


def _moved_or_changed(
    before: Sequence[Instruction], after: Sequence[Instruction], pairs: Sequence[tuple[int, int]]
) -> Iterator[InstructionChange]:
    kept_old, kept_new = {i for i, _ in pairs}, {j for _, j in pairs}
    gone: defaultdict[object, deque[Instruction]] = defaultdict(deque)
    for index, instruction in enumerate(before):
        if index not in kept_old:
            gone[said(instruction)].append(instruction)
    for index, instruction in enumerate(after):
        if index in kept_new:
            continue
        origin = gone[said(instruction)]
        text = print_instruction(instruction)
        if origin:
            yield InstructionChange(Change.MOVED, text, origin.popleft().offset, instruction.offset)
        else:
            yield InstructionChange(Change.ADDED, text, None, instruction.offset)
    for left in gone.values():
        for instruction in left:
            yield InstructionChange(Change.REMOVED, print_instruction(instruction), instruction.offset, None)


def _retargeted(
    old: Kernel, new: Kernel, before: Sequence[Instruction], after: Sequence[Instruction], pairs: Sequence[tuple[int, int]]
) -> Iterator[InstructionChange]:
    forward = _nearest(dict(pairs), len(before))
    backward = _nearest({j: i for i, j in pairs}, len(after))
    old_starts, new_starts = _starts(old), _starts(new)
    for i, j in pairs:
        here, there = _target(before[i], old_starts), _target(after[j], new_starts)
        # A target without a partner was added or removed in front of the one meant: its nearest partner behind counts.
        if here is not None and there is not None and forward[here] != there and backward[there] != here:
            yield InstructionChange(Change.RETARGETED, print_instruction(after[j]), before[i].offset, after[j].offset)


def _nearest(partner: Mapping[int, int], count: int) -> list[int | None]:
    """For each index the partner of the first one from it on that has any."""
    nearest: list[int | None] = [None] * count
    for index in range(count - 1, -1, -1):
        following = nearest[index + 1] if index + 1 < count else None
        nearest[index] = partner.get(index, following)
    return nearest


def _reencoded(
    before: Sequence[Instruction], after: Sequence[Instruction], pairs: Sequence[tuple[int, int]]
) -> Iterator[InstructionChange]:
    for i, j in pairs:
        one, other = before[i], after[j]
        # The low half of a branch is its distance.
        low = 2 if any(isinstance(o, Label) for o in one.operands) else 0
        if one.encoding is not None and other.encoding is not None and one.encoding[low:] != other.encoding[low:]:
            yield InstructionChange(Change.REENCODED, print_instruction(other), one.offset, other.offset)


def _starts(kernel: Kernel) -> dict[str, int]:
    starts: dict[str, int] = {}
    count = 0
    for block in kernel.blocks:
        starts[block.label] = count
        count += len(block.instructions)
    return starts


def _target(instruction: Instruction, starts: dict[str, int]) -> int | None:
    return next((starts.get(o.name) for o in instruction.operands if isinstance(o, Label)), None)


def _fields(old: Kernel, new: Kernel) -> Iterator[FieldChange]:
    if old.target != new.target:
        yield FieldChange("resources", "target", old.target, new.target)
    if old.roots != new.roots and len(old.roots) != len(new.roots):
        yield FieldChange("resources", "entries", str(len(old.roots)), str(len(new.roots)))
    yield from _compared("resources", _resources(old.descriptor), _resources(new.descriptor))
    yield from _compared("descriptor", _descriptor(old.descriptor), _descriptor(new.descriptor))
    yield from _compared("metadata", _figures(old.metadata), _figures(new.metadata))
    yield from _compared("arguments", _arguments(old.metadata), _arguments(new.metadata))


def _compared(area: str, old: dict[str, str], new: dict[str, str]) -> Iterator[FieldChange]:
    for name in [*old, *(name for name in new if name not in old)]:
        if old.get(name) != new.get(name):
            yield FieldChange(area, name, old.get(name), new.get(name))


def _resources(descriptor: KernelDescriptor | None) -> dict[str, str]:
    if descriptor is None:
        return {}
    return {
        "vector registers": str(descriptor.vgpr_count),
        "first AGPR": str(descriptor.accum_offset),
        "SGPRs": str(descriptor.sgpr_count),
        "LDS bytes": str(descriptor.group_segment_bytes),
        "scratch bytes": str(descriptor.private_segment_bytes),
        "kernarg bytes": str(descriptor.kernarg_bytes),
        "user SGPRs": str(descriptor.user_sgpr_count),
        "preloaded dwords": str(descriptor.preload_dwords),
        "first preloaded dword": str(descriptor.preload_offset_dwords),
    }


def _descriptor(descriptor: KernelDescriptor | None) -> dict[str, str]:
    if descriptor is None:
        return {}
    reserved = descriptor.raw[12:16] + descriptor.raw[24:44] + descriptor.raw[60:64]
    return {
        "compute_pgm_rsrc1": f"0x{descriptor.rsrc1:08x}",
        "compute_pgm_rsrc2": f"0x{descriptor.rsrc2:08x}",
        "compute_pgm_rsrc3": f"0x{descriptor.rsrc3:08x}",
        "kernel_code_properties": f"0x{descriptor.properties:04x}",
        "reserved bytes": reserved.hex(),
    }


def _figures(metadata: KernelMetadata | None) -> dict[str, str]:
    if metadata is None:
        return {}
    values = ((f.name, getattr(metadata, f.name)) for f in fields(metadata) if f.name not in ("name", "arguments"))
    return {name: str(value) for name, value in values if value is not None}


def _arguments(metadata: KernelMetadata | None) -> dict[str, str]:
    if metadata is None:
        return {}
    shown: dict[str, str] = {}
    for a in metadata.arguments:
        words = (a.name, f"{a.size} bytes", a.value_kind, a.value_type, a.address_space, a.access)
        shown[f"+{a.offset}"] = " ".join(word for word in words if word)
    return shown
