"""Broken kernels that strict emulation must report: waits weakened, barriers and definitions removed, accesses moved.

Owns how they are made, and how one is judged on launches: reported by a fault, seen by other results, never run, shown to be
harmless, or silent, which is a failure. What shows harmlessness is the static checks and the proof, which run nothing.
"""

import enum
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from asmevo.backend.emulator import run
from asmevo.backend.launch import Dispatch, RunResult
from asmevo.ir.analysis.dataflow.liveness import Liveness
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.effects import effects
from asmevo.ir.instruction import Immediate, Instruction, Modifier, WaitCounts
from asmevo.ir.isa.model import Access, IssueClass, Space
from asmevo.ir.kernel import Kernel
from asmevo.ir.registers import FLAT_SCRATCH, VCC_MASK, VECTOR_MASK, units
from asmevo.verify.judge import Judge, Level
from asmevo.verify.verdict import Outcome

WAIT, BARRIER, DEFINITION = "wait weakened", "barrier removed", "first definition removed"
ADDRESS, PAST = "access one element further", "access past the end"
KINDS = (WAIT, BARRIER, ADDRESS, PAST, DEFINITION)
_COUNTERS = {"vmcnt": 63, "lgkmcnt": 15}
_NAMED = (1 << FLAT_SCRATCH) - 1 | VCC_MASK | VECTOR_MASK
_PAIR = ("offset0", "offset1")
_BUDGET = 20
"""A mutant may run so many times as long as the original."""


Changes = list[tuple[str, Instruction | None]]
"""What to put in an instruction's place, None for nothing, each with a word on it."""


class Fate(enum.Enum):
    """What became of a mutant."""

    REPORTED = "reported"
    DIFFERS = "other results"
    NOT_RUN = "never run"
    HARMLESS = "harmless"
    SILENT = "silent"


@dataclass(frozen=True, slots=True)
class Mutant:
    """A changed kernel: the kind of change, where, and the uid of the instruction that was changed or removed."""

    kind: str
    where: str
    uid: int
    kernel: Kernel


@dataclass(frozen=True, slots=True)
class Judged:
    """A mutant's fate, with the fault's kind or the reason."""

    mutant: Mutant
    fate: Fate
    why: str


def _from_start(kernel: Kernel) -> Kernel:
    """The kernel as it starts where nothing was put into SGPRs beforehand: by its first entry, which loads them."""
    assert kernel.descriptor is not None
    return replace(kernel, descriptor=replace(kernel.descriptor, preload_dwords=0))


class Original:
    """A kernel with its launches and what they gave; one whose arguments may be preloaded is run in both ways."""

    def __init__(self, kernel: Kernel, dispatches: Sequence[Dispatch], seeds: Sequence[int] = (0, 1)) -> None:
        self.kernel = kernel
        preloads = kernel.descriptor is not None and kernel.descriptor.preload_dwords > 0
        starts = (lambda k: k, _from_start) if preloads else (lambda k: k,)
        self.runs = [
            (start, d, seed, run(start(kernel), d, seed=seed)) for start in starts for d in dispatches for seed in seeds
        ]
        for *_, result in self.runs:
            assert not result.faults, result.faults
        self.largest = max(
            *(len(b.data) for d in dispatches for b in d.buffers),
            *(d.dynamic_lds_bytes + kernel.descriptor.group_segment_bytes for d in dispatches if kernel.descriptor),
        )
        self._liveness = AnalysisManager(kernel).get(Liveness)
        self.executed = {uid for *_, result in self.runs for uid, count in result.executions.items() if count}

    def judge(self, mutant: Mutant, timeout_s: float = 2.0) -> Judged:
        """What becomes of a mutant of this kernel."""
        differs = ""
        if mutant.uid not in self.executed:
            return Judged(mutant, Fate.NOT_RUN, "no launch gets there")
        for start, dispatch, seed, before in self.runs:
            limit = _BUDGET * before.wave_instructions
            after = run(start(mutant.kernel), dispatch, seed=seed, max_instructions=limit)
            if after.faults:
                return Judged(mutant, Fate.REPORTED, after.faults[0].kind)
            if not _same(before, after):
                differs = dispatch.name
        if differs:
            return Judged(mutant, Fate.DIFFERS, differs)
        if self._is_dead(mutant):
            return Judged(mutant, Fate.HARMLESS, "nothing reads what the instruction writes")
        judge = Judge(Level.SMT, (), timeout_s)
        outcome = judge(self.kernel, mutant.kernel).outcome
        if outcome in (Outcome.PROVED, Outcome.IDENTICAL):
            return Judged(mutant, Fate.HARMLESS, "proved equal")
        without = _without_next_barrier(mutant)
        if without is not None and judge(self.kernel, without).outcome is Outcome.PROVED:
            return Judged(mutant, Fate.HARMLESS, "proved equal even without the barrier that it is for")
        return Judged(mutant, Fate.SILENT, outcome.value)

    def _is_dead(self, mutant: Mutant) -> bool:
        """Whether no register that the changed instruction of the original writes is live behind it, and it stores nothing."""
        for block in self.kernel.blocks:
            for index, i in enumerate(block.instructions):
                if i.uid == mutant.uid and i.definition is not None:
                    stores = i.definition.access not in (None, Access.LOAD)
                    written = effects(i).writes
                    return bool(written) and not stores and not self._liveness.live_after(block.label, index) & written
        return False


def _without_next_barrier(mutant: Mutant) -> Kernel | None:
    """A mutant whose wait stands just before a barrier, without that barrier too: what waits and orders less."""
    for block in mutant.kernel.blocks:
        for index, i in enumerate(block.instructions[:-1]):
            if i.uid == mutant.uid and _without_barrier(block.instructions[index + 1]):
                other = replace(block, instructions=(*block.instructions[: index + 1], *block.instructions[index + 2 :]))
                return replace(mutant.kernel, blocks=tuple(other if b is block else b for b in mutant.kernel.blocks))
    return None


def _same(before: RunResult, after: RunResult) -> bool:
    return all(
        np.array_equal(w, v) and np.array_equal(a[w], b[v])
        for a, b, w, v in zip(before.buffers, after.buffers, before.written, after.written, strict=True)
    )


def mutants(original: Original, kind: str) -> Iterator[Mutant]:
    """Every mutant of a kind, in the order of the text.

    An access past the end is moved by the size of the largest buffer, or of LDS, so that the first element of any that it may
    be in becomes the one behind the end.
    """
    kernel = original.kernel
    changes_of: dict[str, Callable[[Instruction], Changes]] = {
        WAIT: _weaker_wait,
        BARRIER: _without_barrier,
        ADDRESS: lambda i: _further(i, 1),
        PAST: lambda i: _further(i, original.largest),
    }
    made = changes_of.get(kind)
    seen = 0
    for block in kernel.blocks:
        for index, i in enumerate(block.instructions):
            if i.definition is None:
                continue
            where = f"{block.label}[{index}] {i.mnemonic}"
            if made is not None:
                changes = made(i)
            else:
                new = effects(i).writes & _NAMED & ~seen
                seen |= new
                changes = [(str(next(units(new))), None)] if new else []
            for what, changed in changes:
                middle = () if changed is None else (changed,)
                body = (*block.instructions[:index], *middle, *block.instructions[index + 1 :])
                other = replace(block, instructions=body)
                blocks = tuple(other if b is block else b for b in kernel.blocks)
                yield Mutant(kind, f"{where} {what}", i.uid, replace(kernel, blocks=blocks))


def _weaker_wait(i: Instruction) -> Changes:
    counts = i.operands[0] if i.mnemonic == "s_waitcnt" else None
    if not isinstance(counts, WaitCounts):
        return []
    found: Changes = []
    for field, none in _COUNTERS.items():
        value = getattr(counts, field)
        if value is not None:
            weaker = replace(counts, **{field: value + 1 if value + 1 < none else None})
            found.append((f"{field}({value})", i.edited(operands=(weaker,))))
    return found


def _without_barrier(i: Instruction) -> Changes:
    is_barrier = i.definition is not None and i.definition.issue is IssueClass.BARRIER
    return [("", None)] if is_barrier else []


def _further(i: Instruction, distance: int) -> Changes:
    """The access moved by `distance` bytes, rounded up to what one lane touches there; a scalar one to dwords."""
    definition = i.definition
    assert definition is not None
    if definition.space is Space.SCALAR:
        at = next((n for n, o in enumerate(i.operands) if n and isinstance(o, Immediate)), None)
        if at is None:
            return []
        old = i.operands[at]
        assert isinstance(old, Immediate)
        value = old.value + _rounded(distance, 4)
        moved = replace(old, value=value, text=hex(value))
        return [(f"+{_rounded(distance, 4)}", i.edited(operands=(*i.operands[:at], moved, *i.operands[at + 1 :])))]
    if definition.space is None or definition.access is None or not definition.memory_bytes:
        return []
    if "read2" in i.mnemonic or "write2" in i.mnemonic:
        element = definition.memory_bytes // 2
        return [(f"{name}+{n}", _moved(i, name, n)) for n in [_rounded(distance, element) // element] for name in _PAIR]
    step = _rounded(distance, definition.memory_bytes)
    return [(f"+{step}", _moved(i, "offset", step))]


def _rounded(distance: int, step: int) -> int:
    return -(-distance // step) * step


def _moved(i: Instruction, name: str, distance: int) -> Instruction:
    old = i.modifier(name, 0)
    assert isinstance(old, int)
    others = tuple(m for m in i.modifiers if m.name != name)
    return i.edited(modifiers=(*others, Modifier(name, int(old) + distance)))
