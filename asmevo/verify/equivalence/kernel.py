"""Equivalence of two kernels: the edited windows proved one by one, everything else being the same text.

Owns the difference of two kernels and the composition of window verdicts. What each window must preserve is what either kernel
needs afterwards, so that windows may be proved apart; blocks, edges, ABI and frozen code must be the same in both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from asmevo.ir.analysis.liveness import Liveness
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.effects import may_skip_vectors
from asmevo.ir.instruction import Instruction
from asmevo.ir.kernel import Kernel
from asmevo.verify.equivalence.window import ALL_UNITS, ASSUMPTIONS, indexing_after, prove_window, text_of
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
    return _with_liveness(_windows(before, after), before, after)


def _windows(before: Kernel, after: Kernel) -> list[EditedWindow]:
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


def _with_liveness(windows: list[EditedWindow], before: Kernel, after: Kernel) -> list[EditedWindow]:
    """Return the windows with what either kernel needs after them.

    A window may read what the liveness of the other kernel does not know of, so both count.
    """
    if not windows:
        return []
    old, new = (AnalysisManager(kernel).get(Liveness) for kernel in (before, after))
    return [
        replace(
            window,
            live_out=_needed(old, window.label, window.start + len(window.before))
            | _needed(new, window.label, window.start + len(window.after)),
        )
        for window in windows
    ]


def _needed(liveness: Liveness, label: str, index: int) -> int:
    """Return the units needed before instruction `index` of a block, which may be its end."""
    return liveness.live_after(label, index - 1) if index else liveness.live_in[label]


def prove_kernel(before: Kernel, after: Kernel, *, timeout_s: float = 5.0) -> Verdict:
    """Whether `after` computes what `before` does, window by window; `timeout_s` is one window's budget.

    A REFUTED window differs for some state at its entry; that the kernel reaches that state was not decided.
    """
    reason = structure_difference(before, after)
    if reason is not None:
        return Verdict(Outcome.UNSUPPORTED, (Basis("z3", Outcome.UNSUPPORTED, reason),), reason=reason)
    windows = _windows(before, after)
    total = sum(len(block.instructions) for block in before.blocks)
    if not windows:
        return Verdict(Outcome.IDENTICAL, (Basis("text", Outcome.IDENTICAL, f"{total} identical instructions"),))
    relative = _relative_vgprs(before)
    for window in windows:
        if relative(window):
            reason = f"{window}: VGPR indexing may be on there"
            return Verdict(Outcome.UNSUPPORTED, (Basis("z3", Outcome.UNSUPPORTED, reason),), reason=reason)
    vskip = may_skip_vectors(before.instructions()) or may_skip_vectors(after.instructions())
    # Most edits keep every register, which needs neither liveness nor a solver.
    hard = [w for w in windows if not prove_window(w.before, w.after, ALL_UNITS, timeout_s=0.0, vskip=vskip).outcome.is_success]
    for window in _with_liveness(hard, before, after):
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
