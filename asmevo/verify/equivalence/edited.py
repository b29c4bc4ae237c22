"""The difference of two kernels as windows: the parts of their blocks that are not the same text.

Owns which instructions a window has and what must hold after it; blocks, edges, ABI and frozen code must be the same in both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from asmevo.ir.analysis.dataflow.liveness import Liveness
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.instruction import Instruction
from asmevo.ir.kernel import Kernel
from asmevo.ir.vector_file import shared_vectors
from asmevo.verify.equivalence.window import ALL_UNITS, indexing_after, text_of

_CONTEXT = 256
"""How many instructions before a window are added when the window alone is not enough."""


@dataclass(frozen=True, slots=True)
class EditedWindow:
    """The differing part of one block.

    `start` is its first instruction's index in both blocks, `context` the unchanged instructions of the block before it and
    `live_out` the units that either kernel may need after it.
    """

    label: str
    start: int
    before: tuple[Instruction, ...]
    after: tuple[Instruction, ...]
    context: tuple[Instruction, ...]
    live_out: int

    def __str__(self) -> str:
        return f"{self.label}[{self.start}:{self.start + len(self.before)}]"


def structure_difference(before: Kernel, after: Kernel) -> str | None:
    """Why the kernels cannot be compared block by block; None when they can."""
    if shared_vectors(before) or shared_vectors(after):
        return "VGPRs above accum_offset are used as AGPRs too"
    for name in ("target", "roots", "descriptor", "metadata"):
        if getattr(before, name) != getattr(after, name):
            return f"the kernels differ in their {name}"
    if [(b.label, b.successors, b.frozen) for b in before.blocks] != [(b.label, b.successors, b.frozen) for b in after.blocks]:
        return "the kernels differ in their blocks or edges"
    for one, other in zip(before.blocks, after.blocks, strict=True):
        if one.frozen and [text_of(i) for i in one.instructions] != [text_of(i) for i in other.instructions]:
            return f"the frozen block {one.label} was changed"
    return None


def edited_windows(before: Kernel, after: Kernel) -> list[EditedWindow]:
    """Return the differing windows of two kernels with the same blocks (`structure_difference` is None), in layout order."""
    return with_liveness(windows_of(before, after), before, after)


def windows_of(before: Kernel, after: Kernel) -> list[EditedWindow]:
    """Return the differing windows as if every unit were needed after them."""
    windows: list[EditedWindow] = []
    for one, other in zip(before.blocks, after.blocks, strict=True):
        if one.instructions is other.instructions:
            continue
        old, new = [text_of(i) for i in one.instructions], [text_of(i) for i in other.instructions]
        if old == new:
            continue
        start = _common(old, new)
        end = _common(old[start:][::-1], new[start:][::-1])
        windows.append(
            EditedWindow(
                one.label,
                start,
                one.instructions[start : len(old) - end],
                other.instructions[start : len(new) - end],
                one.instructions[max(start - _CONTEXT, 0) : start],
                ALL_UNITS,
            )
        )
    return windows


def with_liveness(windows: list[EditedWindow], before: Kernel, after: Kernel) -> list[EditedWindow]:
    """Return the windows with what either kernel needs after them.

    A window may read what the liveness of the other kernel does not know of, so both count.
    """
    if not windows:
        return []
    old, new = (AnalysisManager(kernel).get(Liveness) for kernel in (before, after))
    return [
        replace(
            window,
            live_out=needed(old, window.label, window.start + len(window.before))
            | needed(new, window.label, window.start + len(window.after)),
        )
        for window in windows
    ]


def needed(liveness: Liveness, label: str, index: int) -> int:
    """Return the units needed before instruction `index` of a block, which may be its end."""
    return liveness.live_after(label, index - 1) if index else liveness.live_in[label]


def _common(one: Sequence[object], other: Sequence[object]) -> int:
    """Length of the common prefix."""
    for k, (x, y) in enumerate(zip(one, other, strict=False)):
        if x != y:
            return k
    return min(len(one), len(other))


def relative_vgprs(kernel: Kernel) -> Callable[[EditedWindow], bool]:
    """Return what tells of a window whether VGPR numbers may be relative at its start."""
    leaving = False
    for block in kernel.blocks:
        indexed = False
        for i in block.instructions:
            indexed = indexing_after(i, indexed)
        leaving |= indexed

    def relative(window: EditedWindow) -> bool:
        indexed = leaving
        for i in kernel.block(window.label).instructions[: window.start]:
            indexed = indexing_after(i, indexed)
        return indexed

    return relative
