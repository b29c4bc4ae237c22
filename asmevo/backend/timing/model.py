"""Modelled cycles of a kernel: a static, deterministic estimate, never a measurement.

Owns the estimate: a representative path is issued by an in-order machine and each block's steady cost is weighed by how often
it runs. Not modelled: instruction fetch and alignment, LDS bank conflicts, cache misses beyond the chosen level, clock
changes, waves that wait for each other at barriers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from asmevo.backend.timing.machine import Simd, Wave
from asmevo.backend.timing.trace import block_executions, representative_path
from asmevo.diagnostics import fail
from asmevo.ir.analysis.costs import Timed, decoder
from asmevo.ir.analysis.flow import Flow
from asmevo.ir.analysis.loops import Loops
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.isa.chips import MI300X, Chip
from asmevo.ir.kernel import Kernel

_PATH_BUDGET = 24_000
"""Instructions issued for one estimate, all waves together: keeps an estimate well below a second."""


@dataclass(frozen=True, slots=True)
class BlockCost:
    """One block: cycles of the SIMD for one execution by one wave (steady state), and how often it runs."""

    cycles: float
    executions: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """Modelled cycles of one SIMD for all executions counted.

    `total_cycles` is the sum over blocks of cycles times executions. `stalls` gives, by uid and cause, the cycles a wave loses
    in all executions; other waves may use them. Blocks that never run are left out.
    """

    total_cycles: float
    per_block: dict[str, BlockCost]
    stalls: dict[int, dict[str, float]]
    chip: str
    waves_per_simd: int

    @property
    def stalls_by_cause(self) -> dict[str, float]:
        """Cycles lost by cause, over all instructions, largest first."""
        totals: dict[str, float] = {}
        for causes in self.stalls.values():
            for cause, cycles in causes.items():
                totals[cause] = totals.get(cause, 0.0) + cycles
        return dict(sorted(totals.items(), key=lambda item: (-item[1], item[0])))


def estimate(
    kernel: Kernel,
    executions: dict[int, int] | None = None,
    *,
    waves_per_simd: int = 1,
    simds: int | None = None,
    chip: Chip = MI300X,
) -> Estimate:
    """Models `kernel` with `waves_per_simd` waves on each of `simds` busy SIMDs of a compute unit (default: all).

    `executions` counts each instruction by uid, as `RunResult.executions`; without it loops are taken to run 16 times.
    DiagnosticError E0230 for a number of waves or SIMDs that the chip does not have.
    """
    busy = chip.simds.value if simds is None else simds
    if not 1 <= waves_per_simd <= chip.max_waves_per_simd.value:
        fail("E0230", f"{waves_per_simd} waves per SIMD; {chip.name} has 1 to {chip.max_waves_per_simd.value}")
    if not 1 <= busy <= chip.simds.value:
        fail("E0230", f"{busy} SIMDs; a compute unit of {chip.name} has {chip.simds.value}")
    manager = AnalysisManager(kernel)
    flow = manager.get(Flow)
    counts = block_executions(kernel, manager.get(Loops), executions)
    decoded = {
        block.label: [
            (i.uid, timed) for i, timed in zip(block.instructions, map(decoder(chip, busy), block.instructions), strict=True)
        ]
        for block in kernel.blocks
    }
    return _Estimator(flow, counts, decoded, chip, waves_per_simd).run()


_Decoded = dict[str, list[tuple[int, Timed]]]
"""By block, each instruction's uid and costs."""


@dataclass(slots=True)
class _Tally:
    visits: int = 0
    cycles: int = 0
    lost: dict[int, dict[str, int]] = field(default_factory=dict[int, dict[str, int]])

    def add(self, cycles: int, lost: list[tuple[int, dict[str, int]]]) -> None:
        self.visits += 1
        self.cycles += cycles
        for uid, causes in lost:
            known = self.lost.setdefault(uid, {})
            for cause, count in causes.items():
                known[cause] = known.get(cause, 0) + count


class _Estimator:
    def __init__(self, flow: Flow, counts: dict[str, int], decoded: _Decoded, chip: Chip, waves: int) -> None:
        self._flow = flow
        self._counts = counts
        self._decoded = decoded
        self._chip = chip
        self._waves = waves
        self._first: dict[str, _Tally] = {}
        self._steady: dict[str, _Tally] = {}

    def run(self) -> Estimate:
        size = sum(len(block) for block in self._decoded.values())
        limit = max(_PATH_BUDGET // self._waves, min(size, _PATH_BUDGET))
        path = representative_path(self._flow, self._counts, limit)
        if path:
            self._play(path)
        # Blocks that run but lie off the path are played alone, with nothing in flight.
        for label in self._flow.order:
            if self._counts[label] and label not in self._first and label in self._flow.reachable:
                self._play([label])
        per_block: dict[str, BlockCost] = {}
        stalls: dict[int, dict[str, float]] = {}
        for label in self._flow.order:
            tally = self._steady.get(label) or self._first.get(label)
            if tally is None or not self._counts[label]:
                continue
            count = self._counts[label]
            per_block[label] = BlockCost(tally.cycles / tally.visits / self._waves, count)
            for uid, causes in tally.lost.items():
                known = stalls.setdefault(uid, {})
                for cause, cycles in causes.items():
                    known[cause] = known.get(cause, 0.0) + cycles / tally.visits * count
        total = sum(cost.cycles * cost.executions for cost in per_block.values())
        return Estimate(total, per_block, stalls, self._chip.name, self._waves)

    def _play(self, path: list[str]) -> None:
        simd = Simd(self._chip)
        runs = [_Run(Wave(number * self._chip.slot.value), path, self._decoded) for number in range(self._waves)]
        active = list(runs)
        while active:
            # The wave whose turn comes first issues next; equal times go to the lower wave.
            run = min(active, key=_clock)
            finished = run.step(simd)
            if finished is not None:
                label, cycles, lost, revisited = finished
                tallies = self._steady if revisited else self._first
                tallies.setdefault(label, _Tally()).add(cycles, lost)
                if run.done:
                    active.remove(run)


def _clock(run: _Run) -> int:
    return run.wave.clock


class _Run:
    """One wave on its way along the path."""

    def __init__(self, wave: Wave, path: list[str], decoded: _Decoded) -> None:
        self.wave = wave
        self.done = not path
        self._path = path
        self._decoded = decoded
        self._position = 0
        self._index = 0
        self._entered = wave.clock
        self._seen: set[str] = set()
        self._lost: list[tuple[int, dict[str, int]]] = []

    def step(self, simd: Simd) -> tuple[str, int, list[tuple[int, dict[str, int]]], bool] | None:
        """Tries to issue one instruction; at a block's end: label, cycles, losses, and whether it was visited before."""
        label = self._path[self._position]
        block = self._decoded[label]
        if self._index < len(block):
            uid, timed = block[self._index]
            lost: dict[str, int] = {}
            if simd.issue(self.wave, timed, taken=self._takes(timed), lost=lost):
                self._index += 1
            if lost:
                self._lost.append((uid, lost))
        if self._index < len(block):
            return None
        result = (label, self.wave.clock - self._entered, self._lost, label in self._seen)
        self._seen.add(label)
        self._entered, self._lost, self._index = self.wave.clock, [], 0
        self._position += 1
        self.done = self._position == len(self._path)
        return result

    def _takes(self, timed: Timed) -> bool:
        following = self._path[self._position + 1] if self._position + 1 < len(self._path) else ""
        return bool(timed.target) and timed.target == following
