"""Which instruction's value a register read may see, and where a written value may be read.

Owns on-demand reaching definitions and uses over the block graph. A VGPR write under EXEC does not hide earlier writes, as
lanes that are off keep theirs; only a write of every lane ends a search.
"""

from __future__ import annotations

from dataclasses import dataclass

from asmevo.ir.analysis.control.flow import Flow
from asmevo.ir.analysis.dataflow.facts import EffectsTable
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.kernel import Kernel
from asmevo.ir.registers import units

Site = tuple[str, int]
"""Block label and index in the block."""


@dataclass(frozen=True, slots=True)
class DefUse:
    """Reaching definitions and uses; each answer is searched when asked for."""

    _flow: Flow
    _table: EffectsTable
    _kills: dict[str, tuple[int, ...]]

    @classmethod
    def compute(cls, kernel: Kernel, manager: AnalysisManager) -> DefUse:
        """The tables that searches need; nothing is searched yet."""
        del kernel
        flow, table = manager.get(Flow), manager.get(EffectsTable)
        kills = {label: tuple(effect.kills for effect in effects) for label, effects in table.by_block.items()}
        return cls(flow, table, kills)

    def definitions(self, label: str, index: int, unit: int) -> frozenset[Site]:
        """Sites whose write of `unit` may be seen just before instruction `index`.

        The value from before the kernel, where it may still be seen, appears as the site ("", -1).
        """
        found: set[Site] = set()
        if self._scan_back(label, index - 1, unit, found):
            return frozenset(found)
        visited: set[str] = set()
        pending = [label]
        while pending:
            current = pending.pop()
            if current in self._flow.roots:
                found.add(("", -1))
            for source in self._flow.predecessors[current]:
                if source in visited:
                    continue
                visited.add(source)
                if not self._scan_back(source, len(self._flow.blocks[source].instructions) - 1, unit, found):
                    pending.append(source)
        return frozenset(found)

    def uses(self, label: str, index: int) -> frozenset[Site]:
        """Sites that may read any unit written by instruction `index`."""
        found: set[Site] = set()
        for unit in units(self._table.by_block[label][index].writes):
            self._uses_of(label, index + 1, unit, found)
        return frozenset(found)

    def _uses_of(self, label: str, start: int, unit: int, found: set[Site]) -> None:
        visited: set[str] = set()
        pending = [(label, start)]
        while pending:
            current, first = pending.pop()
            if self._scan_forward(current, first, unit, found):
                continue
            for target in self._flow.successors[current]:
                if target not in visited:
                    visited.add(target)
                    pending.append((target, 0))

    def _scan_back(self, label: str, last: int, unit: int, found: set[Site]) -> bool:
        effects, kills = self._table.by_block[label], self._kills[label]
        for position in range(last, -1, -1):
            if effects[position].writes >> unit & 1:
                found.add((label, position))
                if kills[position] >> unit & 1:
                    return True
        return False

    def _scan_forward(self, label: str, first: int, unit: int, found: set[Site]) -> bool:
        effects, kills = self._table.by_block[label], self._kills[label]
        for position in range(first, len(effects)):
            if effects[position].reads >> unit & 1:
                found.add((label, position))
            if kills[position] >> unit & 1:
                return True
        return False
