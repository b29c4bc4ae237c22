"""What can be seen of one hot window: its lines with dependences, waits and stalls, and what analyses say of it.

Owns the reading of a window as plain data, bounded in size. It must not change anything, and show nothing of the object but
code: names go through `names`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from asmevo.backend.timing.model import Estimate
from asmevo.ir.analysis.control.loops import Loops
from asmevo.ir.analysis.cost.pressure import Pressure
from asmevo.ir.analysis.dataflow.dependence import DependenceGraph, Edge, Kind
from asmevo.ir.analysis.dataflow.liveness import Liveness
from asmevo.ir.analysis.hazards.needed import HazardState, NopNeeds
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.analysis.waits.needed import WaitState
from asmevo.ir.analysis.waits.redundancy import Redundancy
from asmevo.ir.effects import effects
from asmevo.ir.instruction import Instruction
from asmevo.ir.kernel import Block, Kernel
from asmevo.ir.printer import print_operand
from asmevo.ir.registers import AGPR_MASK, FLAT_SCRATCH, VGPR_MASK, unit_name, units
from asmevo.search.llm.names import Names
from asmevo.search.profile import Profile
from asmevo.search.proposal import HotWindow

MAX_LINES = 512
"""Instructions of a window that are shown at most; a longer one is shown in parts."""

_MAX_NAMES = 48
"""Registers named in one list."""

_SGPR_MASK = (1 << FLAT_SCRATCH) - 1

Topic = Literal["stalls", "waits", "hazards", "registers", "surroundings"]
"""What an analysis can be asked about."""


@dataclass(frozen=True)
class WindowView:
    """One window of `parent`, seen through the analyses of the whole kernel; `profile` is that of the parent."""

    parent: Kernel
    window: HotWindow
    profile: Profile
    names: Names = field(init=False)
    analyses: AnalysisManager = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", Names.of(self.parent))
        object.__setattr__(self, "analyses", AnalysisManager(self.parent))

    @property
    def block(self) -> Block:
        """The block that the window lies in."""
        return self.parent.block(self.window.label)

    @property
    def instructions(self) -> tuple[Instruction, ...]:
        """The window's instructions."""
        return self.block.instructions[self.window.start : self.window.stop]

    @property
    def timing(self) -> Estimate:
        """The cycle model's estimate of the parent."""
        return self.profile.estimate

    @cached_property
    def _graph(self) -> DependenceGraph:
        return DependenceGraph.of(self.instructions)

    def read(self, first: int = 0, count: int = MAX_LINES) -> dict[str, Any]:
        """The window as lines from position `first` on, at most `count` of them, with a head that says what the columns are."""
        shown = range(min(first, len(self.instructions)), min(first + min(count, MAX_LINES), len(self.instructions)))
        cost = self.timing.per_block.get(self.window.label)
        return {
            "block": self.names.label(self.window.label),
            "lines": [self._line(position) for position in shown],
            "columns": "#uid text | cycles lost here in one execution, by cause | reads results of | "
            "may move alone by (lines up, down) | loads outstanding before it (vmcnt, lgkmcnt)",
            "first": shown.start,
            "instructions": len(self.instructions),
            "block_cycles": round(cost.cycles, 1) if cost else None,
            "executions": cost.executions if cost else 0,
            "kernel_cycles": round(self.timing.total_cycles, 1),
            "waves_per_simd": self.profile.waves_per_simd,
        }

    def ask(self, topic: Topic) -> dict[str, Any]:
        """What an analysis says of the window."""
        match topic:
            case "stalls":
                return self._stalls()
            case "waits":
                return self._waits()
            case "hazards":
                return self._hazards()
            case "registers":
                return self._registers()
            case "surroundings":
                return self._surroundings()

    def _line(self, position: int) -> str:
        instruction = self.instructions[position]
        parts = [f"#{instruction.uid} {self.names.instruction(instruction)}"]
        lost = self._lost(instruction)
        parts.append(" ".join(f"{cause}:{cycles:.1f}" for cause, cycles in lost.items()) or "-")
        sources = self._graph_predecessors[position]
        results = [f"#{self.instructions[edge.source].uid}" for edge in sources if edge.kind is Kind.RAW]
        parts.append(" ".join(results[-6:]) or "-")
        low = max((edge.source for edge in sources), default=-1) + 1
        high = min((edge.target for edge in self._graph_successors[position]), default=len(self.instructions)) - 1
        parts.append(f"-{position - low} +{high - position}")
        before = self._outstanding[self.window.start + position]
        parts.append(f"{before[0]} {before[1]}")
        return " | ".join(parts)

    @cached_property
    def _graph_predecessors(self) -> tuple[tuple[Edge, ...], ...]:
        return self._graph.predecessors()

    @cached_property
    def _graph_successors(self) -> tuple[tuple[Edge, ...], ...]:
        return self._graph.successors()

    @cached_property
    def _outstanding(self) -> list[tuple[int, int]]:
        walk = self.analyses.get(WaitState).walk(self.window.label)
        return [(len(before.vmcnt.slots), len(before.lgkmcnt.slots)) for _, before in walk]

    def _lost(self, instruction: Instruction) -> dict[str, float]:
        cost = self.timing.per_block.get(self.window.label)
        lost = self.timing.stalls.get(instruction.uid)
        if cost is None or lost is None or not cost.executions:
            return {}
        ranked = sorted(lost.items(), key=lambda item: (-item[1], item[0]))
        return {cause: cycles / cost.executions for cause, cycles in ranked if cycles}

    def _stalls(self) -> dict[str, Any]:
        totals: dict[str, float] = {}
        worst: list[tuple[float, int, str]] = []
        for instruction in self.instructions:
            lost = self._lost(instruction)
            for cause, cycles in lost.items():
                totals[cause] = totals.get(cause, 0.0) + cycles
            if lost:
                worst.append((sum(lost.values()), instruction.uid, self.names.instruction(instruction)))
        worst.sort(key=lambda row: (-row[0], row[1]))
        return {
            "cycles_lost_in_one_execution": {
                cause: round(cycles, 1) for cause, cycles in sorted(totals.items(), key=lambda item: (-item[1], item[0]))
            },
            "worst": [{"uid": uid, "text": text, "cycles": round(cycles, 1)} for cycles, uid, text in worst[:16]],
        }

    def _waits(self) -> dict[str, Any]:
        excess = {wait.index: wait for wait in self.analyses.get(Redundancy).waits if wait.label == self.window.label}
        found: list[dict[str, Any]] = []
        for position, instruction in enumerate(self.instructions):
            if instruction.mnemonic != "s_waitcnt":
                continue
            index = self.window.start + position
            weaker = excess.get(index)
            enough = "as it is" if weaker is None else "none" if weaker.is_redundant else print_operand(weaker.enough)
            vmcnt, lgkmcnt = self._outstanding[index]
            text = self.names.instruction(instruction)
            found.append(
                {"uid": instruction.uid, "text": text, "enough": enough, "outstanding": {"vmcnt": vmcnt, "lgkmcnt": lgkmcnt}}
            )
        return {"waits": found}

    def _hazards(self) -> dict[str, Any]:
        here = range(self.window.start, self.window.stop)
        state, needs = self.analyses.get(HazardState), self.analyses.get(NopNeeds)
        close = [
            {
                "uid": self.block.instructions[hazard.consumer[1]].uid,
                "rule": hazard.rule.name,
                "missing_llvm": hazard.missing_llvm,
                "missing_physical": hazard.missing_physical,
            }
            for hazard in state.findings()
            if hazard.consumer[0] == self.window.label and hazard.consumer[1] in here
        ]
        nops = [
            {"uid": self.block.instructions[index].uid, "least_states_llvm": needs.llvm[label, index]}
            for label, index in sorted(needs.llvm)
            if label == self.window.label and index in here
        ]
        return {"pairs_too_close": close[:64], "s_nop": nops[:64]}

    def _registers(self) -> dict[str, Any]:
        pressure, liveness = self.analyses.get(Pressure), self.analyses.get(Liveness)
        entering, leaving = liveness.live_in[self.window.label], liveness.live_out[self.window.label]
        touched = 0
        for instruction in self.block.instructions:
            effect = effects(instruction)
            touched |= effect.reads | effect.writes
        vgprs, agprs, sgprs = pressure.named_vgprs, pressure.named_agprs, pressure.named_sgprs
        named = ((1 << sgprs) - 1) | _first(VGPR_MASK, vgprs) | _first(AGPR_MASK, agprs)
        free = named & ~(entering | leaving | touched)
        return {
            "named": {"vgpr": vgprs, "agpr": agprs, "sgpr": sgprs},
            "most_alive": {"vgpr": pressure.vgprs, "agpr": pressure.agprs, "sgpr": pressure.sgprs},
            "waves_per_simd_allowed": pressure.waves_per_simd,
            "not_used_in_the_block_and_not_live_through_it": _listed(free),
            "live_into_the_block": _listed(entering),
            "live_out_of_the_block": _listed(leaving),
        }

    def _surroundings(self) -> dict[str, Any]:
        label = self.window.label
        before, after = self.window.start, len(self.block.instructions) - self.window.stop
        return {
            "target": self.parent.target,
            "loop_depth": self.analyses.get(Loops).depth.get(label, 0),
            "successors": [self.names.label(name) for name in self.block.successors],
            "predecessors": [self.names.label(b.label) for b in self.parent.blocks if label in b.successors][:16],
            "instructions_of_the_block_before_the_window": before,
            "instructions_of_the_block_after_the_window": after,
            "just_before": [self.names.instruction(i) for i in self.block.instructions[max(before - 8, 0) : before]],
            "just_after": [self.names.instruction(i) for i in self.block.instructions[self.window.stop : self.window.stop + 8]],
        }


def _first(mask: int, count: int) -> int:
    """The first `count` registers of a file, as a unit set."""
    lowest = (mask & -mask).bit_length() - 1
    return ((1 << count) - 1) << lowest


def _listed(mask: int) -> dict[str, Any]:
    names = [unit_name(unit) for unit in units(mask & (VGPR_MASK | AGPR_MASK | _SGPR_MASK))]
    return {"count": len(names), "names": names[:_MAX_NAMES]}
