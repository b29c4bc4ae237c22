"""Equivalence of two kernels: the edited windows proved one by one, everything else being the same text.

Owns the difference of two kernels and the composition of window verdicts. What each window must preserve is what either kernel
needs afterwards, so that windows may be proved apart; blocks, edges, ABI and frozen code must be the same in both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from asmevo.ir.analysis.liveness import Liveness
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.effects import may_skip_vectors
from asmevo.ir.instruction import Instruction
from asmevo.ir.kernel import Kernel
from asmevo.verify.equivalence.window import ASSUMPTIONS, indexing_after, prove_window, text_of
from asmevo.verify.verdict import Basis, Outcome, Verdict

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
    windows: list[EditedWindow] = []
    live: tuple[Liveness, Liveness] | None = None
    for one, other in zip(before.blocks, after.blocks, strict=True):
        old, new = [text_of(i) for i in one.instructions], [text_of(i) for i in other.instructions]
        if old == new:
            continue
        start = _common(old, new)
        end = _common(old[start:][::-1], new[start:][::-1])
        if live is None:
            live = (AnalysisManager(before).get(Liveness), AnalysisManager(after).get(Liveness))
        stops = (len(old) - end, len(new) - end)
        # A window reads what the other kernel's liveness may not know of, so both kernels' needs count.
        needed = 0
        for liveness, stop in zip(live, stops, strict=True):
            needed |= liveness.live_after(one.label, stop - 1) if stop else liveness.live_in[one.label]
        windows.append(
            EditedWindow(
                one.label,
                start,
                one.instructions[start : stops[0]],
                other.instructions[start : stops[1]],
                one.instructions[max(start - _CONTEXT, 0) : start],
                needed,
            )
        )
    return windows


def prove_kernel(before: Kernel, after: Kernel, *, timeout_s: float = 5.0) -> Verdict:
    """Whether `after` computes what `before` does, window by window; `timeout_s` is one window's budget.

    A REFUTED window differs for some state at its entry; that the kernel reaches that state was not decided.
    """
    reason = structure_difference(before, after)
    if reason is not None:
        return Verdict(Outcome.UNSUPPORTED, (Basis("z3", Outcome.UNSUPPORTED, reason),), reason=reason)
    windows = edited_windows(before, after)
    total = sum(1 for _ in before.instructions())
    if not windows:
        return Verdict(Outcome.IDENTICAL, (Basis("text", Outcome.IDENTICAL, f"{total} identical instructions"),))
    vskip = may_skip_vectors(before.instructions()) or may_skip_vectors(after.instructions())
    relative = _relative_vgprs(before)
    for window in windows:
        if relative(window):
            reason = f"{window}: VGPR indexing may be on there"
            return Verdict(Outcome.UNSUPPORTED, (Basis("z3", Outcome.UNSUPPORTED, reason),), reason=reason)
        verdict = _prove(window, timeout_s, vskip)
        if not verdict.outcome.is_success:
            basis = tuple(Basis(b.method, b.outcome, f"{window}: {b.detail}", b.assumptions) for b in verdict.basis)
            return Verdict(verdict.outcome, basis, verdict.counterexample, f"{window}: {verdict.reason}")
    edited = sum(len(w.before) for w in windows)
    shown = ", ".join(str(w) for w in windows[:8]) + (f" and {len(windows) - 8} more" if len(windows) > 8 else "")
    detail = f"{len(windows)} windows proved ({shown}), {edited} of {total} instructions; all others are identical"
    return Verdict(Outcome.PROVED, (Basis("z3", Outcome.PROVED, detail, ASSUMPTIONS),))


def _prove(window: EditedWindow, timeout_s: float, vskip: bool) -> Verdict:
    """Return the window's verdict; with the unchanged code before it when it does not hold for every entry state alone."""
    verdict = prove_window(window.before, window.after, window.live_out, timeout_s=timeout_s, vskip=vskip)
    if verdict.outcome.is_success or not window.context or verdict.outcome is Outcome.UNSUPPORTED:
        return verdict
    before, after = (*window.context, *window.before), (*window.context, *window.after)
    return prove_window(before, after, window.live_out, timeout_s=timeout_s, vskip=vskip)


def _common(one: Sequence[object], other: Sequence[object]) -> int:
    """Length of the common prefix."""
    for k, (x, y) in enumerate(zip(one, other, strict=False)):
        if x != y:
            return k
    return min(len(one), len(other))


def _relative_vgprs(kernel: Kernel) -> Callable[[EditedWindow], bool]:
    """Tells of a window whether VGPR numbers may be relative at its start."""
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
