"""Equivalence of two kernels: the edited windows proved one by one, everything else being the same text.

Owns what is tried on each window, and the composition of window verdicts. What each window must preserve is what either kernel
needs afterwards, so that windows may be proved apart.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence

from asmevo.ir.analysis.control.loops import Loops
from asmevo.ir.analysis.dataflow.liveness import Liveness
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.effects import effects, may_skip_vectors
from asmevo.ir.instruction import Instruction
from asmevo.ir.kernel import Kernel
from asmevo.ir.registers import EXEC_MASK
from asmevo.verify.equivalence.budget import now
from asmevo.verify.equivalence.certificates import Certificate, certify
from asmevo.verify.equivalence.compare import decide
from asmevo.verify.equivalence.concrete import may_store
from asmevo.verify.equivalence.divergence import AN_ACCESS
from asmevo.verify.equivalence.edited import (
    EditedWindow,
    needed,
    relative_vgprs,
    structure_difference,
    windows_of,
    with_liveness,
)
from asmevo.verify.equivalence.execute import UnmodelledError
from asmevo.verify.equivalence.facts import DEFAULT_ASSUMPTIONS, NO_FACTS, Assumption, FactFinder, Facts
from asmevo.verify.equivalence.proof_cache import METHOD, ProofCache
from asmevo.verify.equivalence.regions import Region, region_around, region_differences
from asmevo.verify.equivalence.window import ASSUMPTIONS, prove_window, semantics
from asmevo.verify.equivalence.workers import WORTH_PROCESSES, in_processes
from asmevo.verify.verdict import Basis, Outcome, Verdict

_EARLIER = 2
"""How often a region that is not enough is begun one dominator earlier."""


def prove_kernel(
    before: Kernel,
    after: Kernel,
    *,
    timeout_s: float = 5.0,
    assumed: frozenset[Assumption] = DEFAULT_ASSUMPTIONS,
    cache: ProofCache | None = None,
    jobs: int = 1,
) -> Verdict:
    """Whether `after` computes what `before` does, window by window; `timeout_s` is one window's budget.

    A window that does not hold by itself is tried with the code before it, with what the analyses know of its entry (as far as
    `assumed` allows), and as part of a region: the acyclic stretch or loop body that holds all such windows.
    A REFUTED window differs for some state at its entry; that the kernel reaches that state was not decided. Where another
    edited window that follows may make up for a register, the verdict is UNKNOWN.
    `cache` has the proofs of earlier runs; the verdict says how many windows it proved. `jobs` processes take the windows that
    need a solver, each within its own memory limit (see `workers`).
    """
    reason = structure_difference(before, after)
    if reason is not None:
        return Verdict(Outcome.UNSUPPORTED, (Basis("z3", Outcome.UNSUPPORTED, reason),), reason=reason)
    windows = windows_of(before, after)
    total = sum(len(block.instructions) for block in before.blocks)
    if not windows:
        return Verdict(Outcome.IDENTICAL, (Basis("text", Outcome.IDENTICAL, f"{total} identical instructions"),))
    relative = relative_vgprs(before)
    for window in windows:
        if relative(window):
            reason = f"{window}: VGPR indexing may be on there"
            return Verdict(Outcome.UNSUPPORTED, (Basis("z3", Outcome.UNSUPPORTED, reason),), reason=reason)
    prover = KernelProver(before, after, timeout_s, assumed, cache)
    # Most edits keep every register, which needs neither liveness nor a solver.
    hard = [w for w in windows if not prover.window(w, 0.0, NO_FACTS).outcome.is_success]
    assumptions = dict.fromkeys(ASSUMPTIONS)
    left: list[tuple[EditedWindow, Verdict]] = []
    cached = 0
    hard = with_liveness(hard, before, after)
    for window, verdict in zip(hard, _verdicts(prover, hard, jobs), strict=True):
        cached += any(b.method == METHOD for b in verdict.basis)
        if verdict.outcome.is_success:
            assumptions.update(dict.fromkeys(a for b in verdict.basis for a in b.assumptions))
        else:
            left.append((window, verdict))
    regions: list[str] = []
    if left:
        verdict = prover.region([window for window, _ in left])
        if verdict is None or not verdict.outcome.is_success:
            verdict = prover.by_the_originals_needs(with_liveness(windows, before, after), [window for window, _ in left])
        if verdict is None or not verdict.outcome.is_success:
            return not_proved(left, before, verdict, prover.reads_what_is_new)
        assumptions.update(dict.fromkeys(a for b in verdict.basis for a in b.assumptions))
        regions = [b.detail for b in verdict.basis]
    edited = sum(len(w.before) for w in windows)
    shown = ", ".join(str(w) for w in windows[:8]) + (f" and {len(windows) - 8} more" if len(windows) > 8 else "")
    detail = f"{len(windows)} windows proved ({shown}), {edited} of {total} instructions; all others are identical"
    if cached:
        detail += f"; {cached} of them by the cache of proofs, in an earlier run"
    if regions:
        detail += f"; {len(left)} of them as part of {'; '.join(regions)}"
    return Verdict(Outcome.PROVED, (Basis("z3", Outcome.PROVED, detail, tuple(assumptions)),))


def _verdicts(prover: KernelProver, windows: list[EditedWindow], jobs: int) -> Iterable[Verdict]:
    """The best verdict on each window, in order."""
    if jobs > 1 and len(windows) >= WORTH_PROCESSES:
        return in_processes(prover, windows, jobs)
    return map(prover.best, windows)


def not_proved(
    left: Sequence[tuple[EditedWindow, Verdict]],
    before: Kernel,
    region: Verdict | None,
    reads_what_is_new: Callable[[EditedWindow], bool] = lambda _: False,
) -> Verdict:
    """Return the verdict on the first refuted window, else on the first one."""
    window, verdict = next(((w, v) for w, v in left if v.outcome is Outcome.REFUTED), left[0])
    others = [w for w, _ in left if w is not window]
    found = verdict.counterexample
    reason = f"{window}: {verdict.reason}"
    if found is not None and reads_what_is_new(window) and any(_reaches(before, o.label, [window]) for o in others):
        reason += "; another edited window before it may have made what it reads"
        return Verdict(Outcome.UNKNOWN, (Basis("z3", Outcome.UNKNOWN, reason),), reason=reason)
    if found is not None and others and found.where.startswith(AN_ACCESS):
        # An access that came from another block is new to the window, not to the kernel.
        reason += "; the original may make that access where another window was edited"
        return Verdict(Outcome.UNKNOWN, (Basis("z3", Outcome.UNKNOWN, reason),), reason=reason)
    if found is not None and not found.where.startswith(("memory+", "lds+")) and _reaches(before, window.label, others):
        reason += "; another edited window that follows may make up for it"
        return Verdict(Outcome.UNKNOWN, (Basis("z3", Outcome.UNKNOWN, reason),), reason=reason)
    if region is not None and verdict.outcome is Outcome.UNKNOWN:
        reason += f"; as a region: {region.reason}"
    basis = tuple(Basis(b.method, b.outcome, f"{window}: {b.detail}", b.assumptions) for b in verdict.basis)
    return Verdict(verdict.outcome, basis, found, reason)


def _reaches(kernel: Kernel, label: str, others: Sequence[EditedWindow]) -> bool:
    """Whether control may go from a block to one of the other windows."""
    successors = {block.label: block.successors for block in kernel.blocks}
    seen: set[str] = set()
    work = list(successors[label])
    while work:
        at = work.pop()
        if at not in seen:
            seen.add(at)
            work.extend(successors.get(at, ()))
    return any(other.label in seen for other in others)


_MANAGERS: OrderedDict[int, tuple[Kernel, AnalysisManager]] = OrderedDict()
_MANAGERS_KEPT = 4


def _manager(kernel: Kernel) -> AnalysisManager:
    """The analyses of an original, kept by identity, since a search asks about one original again and again."""
    found = _MANAGERS.get(id(kernel))
    if found is None or found[0] is not kernel:
        found = _MANAGERS[id(kernel)] = (kernel, AnalysisManager(kernel))
        if len(_MANAGERS) > _MANAGERS_KEPT:
            _MANAGERS.popitem(last=False)
    return found[1]


class KernelProver:
    """Proves windows and regions of one pair of kernels."""

    def __init__(
        self,
        before: Kernel,
        after: Kernel,
        timeout_s: float,
        assumed: frozenset[Assumption] = DEFAULT_ASSUMPTIONS,
        cache: ProofCache | None = None,
    ) -> None:
        self._kernels = (before, after)
        self._assumed = assumed
        self._cache = cache
        self._timeout_s = timeout_s
        self._vskip = may_skip_vectors(before.instructions()) or may_skip_vectors(after.instructions())
        self._managers = (_manager(before), AnalysisManager(after))
        self._facts = FactFinder(self._managers[0], assumed)

    def window(self, window: EditedWindow, timeout_s: float, facts: Facts, *, context: bool = False) -> Verdict:
        """Return the verdict on one window, alone or with the unchanged code before it."""
        head = window.context if context else ()
        return prove_window(
            (*head, *window.before),
            (*head, *window.after),
            window.live_out,
            timeout_s=timeout_s,
            vskip=self._vskip,
            facts=facts,
            target=self._kernels[0].target,
            cache=self._cache if timeout_s > 0 else None,
        )

    def best(self, window: EditedWindow) -> Verdict:
        """Return the best verdict: of the window alone, with the code before it, and with facts on its entry."""
        verdict = Verdict(Outcome.UNKNOWN)
        refuted = False
        for facts, context in self.attempts(window):
            verdict = self.window(window, self._timeout_s, facts, context=context)
            refuted |= verdict.outcome is Outcome.REFUTED
            if verdict.outcome.is_success or verdict.outcome is Outcome.UNSUPPORTED:
                break
        if verdict.outcome is Outcome.UNKNOWN and refuted:
            return self._refuted_with_values(window) or verdict
        return verdict

    def reads_what_is_new(self, window: EditedWindow) -> bool:
        """Whether the edited window reads registers that the original does not need at its entry: others may fill them."""
        old, new = (needed(manager.get(Liveness), window.label, window.start) for manager in self._managers)
        return bool(new & ~old & _read(window.after))

    def _refuted_with_values(self, window: EditedWindow) -> Verdict | None:
        """Return the refutation of the window alone by a state with the register values that the analyses know; None for none.

        What the analyses know of memory plays no part in a window whose accesses cannot meet a store.
        """
        for part in (window.before, window.after):
            accesses = [i for i in part if i.definition is not None and i.definition.space is not None]
            if len(accesses) > 1 and any(may_store(i) for i in accesses):
                return None
        facts = self._facts.at(window.label, window.start, _read((*window.before, *window.after)))
        verdict = self.window(window, self._timeout_s, facts)
        return verdict if verdict.outcome is Outcome.REFUTED else None

    def certificate(self, window: EditedWindow) -> Certificate | None:
        """Return the certificate of the first proof that succeeds; None where none does."""
        for facts, context in self.attempts(window):
            head = window.context if context else ()
            found = certify(
                str(window), (*head, *window.before), (*head, *window.after), window.live_out,
                timeout_s=self._timeout_s, vskip=self._vskip, facts=facts, target=self._kernels[0].target,
            )  # fmt: skip
            if found is not None:
                return found
        return None

    def attempts(self, window: EditedWindow) -> Iterator[tuple[Facts, bool]]:
        """Yield what is tried, cheapest first: the facts assumed, and whether the code before the window is part of it."""
        yield NO_FACTS, False
        if window.context:
            yield NO_FACTS, True
        start = window.start - len(window.context)
        facts = self._known(window.label, start, (*window.context, *window.before, *window.after))
        if not facts.is_empty:
            yield facts, True

    def __reduce__(self) -> tuple[object, ...]:
        """Another process makes the analyses anew."""
        return KernelProver, (*self._kernels, self._timeout_s, self._assumed, self._cache)

    def _known(self, label: str, index: int, instructions: Sequence[Instruction]) -> Facts:
        """Return the facts at one place, as far as these instructions may use them."""
        facts = self._facts.at(label, index, _read(instructions))
        uids = {i.uid for i in instructions if i.definition is not None and i.definition.space is not None}
        old, new = (
            {uid: found for uid, found in self._facts.extents(manager).items() if uid in uids} if uids else {}
            for manager in self._managers
        )
        return self._facts.with_extents(facts, old, new)

    def by_the_originals_needs(self, windows: Sequence[EditedWindow], left: Sequence[EditedWindow]) -> Verdict | None:
        """Return the verdict on the `left` ones of all windows when states need to agree only on what the original needs.

        Liveness may hold a register of the edited kernel for needed that is always written first, for the lanes that read it.
        Where the original does not need it, the two kernels may then differ in it, anywhere: each window must do the same
        whatever it holds at its entry. The proof of a window that reads no such register stands; the others are made anew, of
        the loops that hold them and of what lies outside of loops, as regions.
        """
        old, new = (manager.get(Liveness) for manager in self._managers)
        loops = self._managers[0].get(Loops)
        groups: dict[str, set[str]] = {}
        for window in windows:
            alone = needed(new, window.label, window.start) & ~needed(old, window.label, window.start)
            if window in left or alone & _read(window.after):
                loop = loops.innermost(window.label)
                groups.setdefault("" if loop is None else loop.header, set()).add(window.label)
        basis: list[Basis] = []
        for labels in groups.values():
            region = region_around(self._kernels[0], labels, loops)
            if region is None:
                return None
            entry = region.blocks[0]
            verdict = self._region_with(region, old.live_in, NO_FACTS, new.live_in[entry] & ~old.live_in[entry])
            if not verdict.outcome.is_success:
                return verdict
            basis.extend(verdict.basis)
        return Verdict(Outcome.PROVED, tuple(basis))

    def region(self, windows: Sequence[EditedWindow]) -> Verdict | None:
        """Return the verdict on the least region that holds all the windows, or on one that begins earlier.

        None when there is no region.
        """
        loops = self._managers[0].get(Loops)
        labels = {w.label for w in windows}
        verdict: Verdict | None = None
        for _ in range(_EARLIER + 1):
            region = region_around(self._kernels[0], labels, loops)
            if region is None:
                break
            verdict = self._region(region)
            above = loops.dominator.get(region.blocks[0])
            if verdict.outcome.is_success or above is None:
                break
            labels.add(above)
        return verdict

    def _region(self, region: Region) -> Verdict:
        old, new = (manager.get(Liveness) for manager in self._managers)
        live_in = {block.label: old.live_in[block.label] | new.live_in[block.label] for block in self._kernels[0].blocks}
        instructions = [i for kernel in self._kernels for label in region.blocks for i in kernel.block(label).instructions]
        verdict = self._region_with(region, live_in, NO_FACTS)
        if verdict.outcome.is_success or verdict.outcome is Outcome.UNSUPPORTED:
            return verdict
        facts = self._known(region.blocks[0], 0, instructions)
        return verdict if facts.is_empty else self._region_with(region, live_in, facts)

    def _region_with(self, region: Region, live_in: dict[str, int], facts: Facts, apart: int = 0) -> Verdict:
        deadline = now() + self._timeout_s
        basis: list[Basis] = []
        programs = semantics(self._kernels[0].target)
        for vectors in (True, False) if self._vskip else (True,):
            try:
                differing = region_differences(self._kernels, region, live_in, programs, facts, vectors=vectors, apart=apart)
            except UnmodelledError as error:
                return Verdict(Outcome.UNSUPPORTED, reason=f"{region}: {error}")
            verdict = decide(differing, f"region {region}", deadline, (*ASSUMPTIONS, *facts.assumptions))
            if not verdict.outcome.is_success:
                return verdict
            basis.extend(verdict.basis)
        return Verdict(Outcome.PROVED, tuple(basis))


def _read(instructions: Sequence[Instruction]) -> int:
    """Return the units that any of the instructions reads."""
    mask = EXEC_MASK
    for i in instructions:
        if i.definition is not None:
            mask |= effects(i).reads
    return mask
