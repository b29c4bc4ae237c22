"""Modelled cycles of a kernel: a static, deterministic estimate, never a measurement.

Owns the estimate: the waves of one SIMD follow a representative path, and each block's steady cost is weighed by how often it
runs. Made for ranking versions of one kernel by the thousand: no fetch, no caches, no LDS conflicts, no work-groups; `simulate`
has those. The other SIMDs of the compute unit are taken to do the same and have their share of the data paths.
"""

# NumPy's own stubs leave several methods of plain arrays partially unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from asmevo.backend.timing import words
from asmevo.backend.timing.program import NO_DETAIL, Builder, Detail, Machine, Trace, cause_name
from asmevo.backend.timing.stalls import by_cause
from asmevo.backend.timing.trace import Edge, block_executions, edge_executions, representative_path
from asmevo.diagnostics import fail
from asmevo.ir.analysis.control.flow import Flow
from asmevo.ir.analysis.control.loops import Loops
from asmevo.ir.analysis.cost.costs import Timed, decoder
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.isa.chips import Chip, chip_for
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
        return by_cause(self.stalls)


def estimate(
    kernel: Kernel,
    executions: dict[int, int] | None = None,
    *,
    waves_per_simd: int = 1,
    simds: int | None = None,
    chip: Chip | None = None,
) -> Estimate:
    """Models `kernel` with `waves_per_simd` waves on each of `simds` busy SIMDs of a compute unit (default: all).

    `executions` counts each instruction by uid, as `RunResult.executions`; without it loops are taken to run 16 times. `chip`
    defaults to that of the kernel's target. DiagnosticError E0230 for a number of waves or SIMDs that the chip does not have.
    """
    chip = chip or chip_for(kernel.target)
    busy = chip.simds.value if simds is None else simds
    if not 1 <= waves_per_simd <= chip.max_waves_per_simd.value:
        fail("E0230", f"{waves_per_simd} waves per SIMD; {chip.name} has 1 to {chip.max_waves_per_simd.value}")
    if not 1 <= busy <= chip.simds.value:
        fail("E0230", f"{busy} SIMDs; a compute unit of {chip.name} has {chip.simds.value}")
    manager = AnalysisManager(kernel)
    flow = manager.get(Flow)
    counts = block_executions(kernel, manager.get(Loops), executions)
    decoded = {block.label: list(map(decoder(chip, busy), block.instructions)) for block in kernel.blocks}
    edges = None if executions is None else edge_executions(flow, counts)
    return _Estimator(flow, counts, edges, decoded, chip, waves_per_simd).run()


@dataclass(frozen=True, slots=True)
class _Played:
    """A path that was played: the number of each of its blocks, and by number the first operation, with the end behind."""

    machine: Machine
    numbers: dict[str, int]
    first: list[int]


class _Estimator:
    def __init__(
        self,
        flow: Flow,
        counts: dict[str, int],
        edges: dict[Edge, float] | None,
        decoded: dict[str, list[Timed]],
        chip: Chip,
        waves: int,
    ) -> None:
        self._flow = flow
        self._counts = counts
        self._edges = edges
        self._decoded = decoded
        self._chip = chip
        self._waves = waves

    def run(self) -> Estimate:
        size = sum(len(block) for block in self._decoded.values())
        limit = max(_PATH_BUDGET // self._waves, min(size, _PATH_BUDGET))
        path = representative_path(self._flow, self._counts, limit, edges=self._edges)
        played = [self._play(path)] if path else []
        # Blocks that run but lie off the path are played alone, with nothing in flight.
        seen = set(path)
        alone = {
            label: self._play([label])
            for label in self._flow.order
            if self._counts[label] and label not in seen and label in self._flow.reachable
        }
        per_block: dict[str, BlockCost] = {}
        stalls: dict[int, dict[str, float]] = {}
        for label in self._flow.order:
            if self._counts[label] and (label in seen or label in alone):
                self._weigh(label, alone[label] if label in alone else played[0], per_block, stalls)
        total = sum(cost.cycles * cost.executions for cost in per_block.values())
        return Estimate(total, per_block, stalls, self._chip.name, self._waves)

    def _play(self, path: list[str]) -> _Played:
        # Of the path's blocks alone: a branch to another one is not taken on it, and a kernel may have hundreds beside it.
        numbers = {label: number for number, label in enumerate(dict.fromkeys(path))}
        builder = Builder(self._chip)
        first: list[int] = [0]
        for label in numbers:
            block = self._decoded[label]
            builder.block(block, [_detail(timed, numbers) for timed in block])
            first.append(first[-1] + len(block))
        seen: set[str] = set()
        entries = np.empty(len(path), np.int64)
        for place, label in enumerate(path):
            entries[place] = numbers[label] * 2 + (label in seen)
            seen.add(label)
        builder.trace(Trace(entries))
        ready = builder.machine([0] * self._waves)
        ready.start()
        ready.run()
        return _Played(ready, numbers, first)

    def _weigh(self, label: str, played: _Played, per_block: dict[str, BlockCost], stalls: dict[int, dict[str, float]]) -> None:
        """Adds a block by its later visits where there are any: the first one finds nothing in flight."""
        number, count = played.numbers[label], self._counts[label]
        visits = played.machine.blocks()[number]
        later = int(visits[1, 0] > 0)
        times, cycles = int(visits[later, 0]), int(visits[later, 1])
        per_block[label] = BlockCost(cycles / max(times, 1) / self._waves, count)
        lost = played.machine.tallies()[later, played.first[number] : played.first[number + 1], : words.ISSUED]
        for place, cause in np.argwhere(lost).tolist():
            timed = self._decoded[label][place]
            uid = self._flow.blocks[label].instructions[place].uid
            known = stalls.setdefault(uid, {})
            name = cause_name(cause, timed)
            known[name] = known.get(name, 0.0) + int(lost[place, cause]) / max(times, 1) * count


def _detail(timed: Timed, numbers: dict[str, int]) -> Detail:
    return Detail(target=numbers.get(timed.target, -1)) if timed.target else NO_DETAIL
