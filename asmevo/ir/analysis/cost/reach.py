"""How much of what a kernel was given its code can touch: vector registers by name, LDS by the values of addresses.

Owns those bounds, for every launch that descriptor and metadata allow. What cannot be bounded is None, with the reason. It must
not judge: whether a smaller declaration is safe or worth anything is said elsewhere.

Source: CDNA3 ISA guide 9.1.9 (loads to LDS: M0[15:0], the instruction's offset, four bytes a lane and dword) and 11.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from asmevo.ir.analysis.control.flow import Flow
from asmevo.ir.analysis.cost.pressure import Pressure
from asmevo.ir.analysis.dataflow.facts import EffectsTable, is_lds_dma
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.analysis.values.fixpoint import Values
from asmevo.ir.analysis.values.value import LANES
from asmevo.ir.instruction import Instruction
from asmevo.ir.isa.model import Access, Space
from asmevo.ir.kernel import Block, Kernel
from asmevo.ir.registers import M0

_M0_BITS = 0xFFFF
_RELATIVE = ("s_set_gpr_idx", "v_movrel")


@dataclass(frozen=True, slots=True)
class Reach:
    """The first VGPR, AGPR and LDS byte behind all that reachable code touches; None where that is not known.

    `why` says for each of those, "registers" and "LDS", what stands in the way; both for code that tells what it was given.
    """

    vgprs: int | None
    agprs: int | None
    lds_bytes: int | None
    why: dict[str, str]

    @classmethod
    def compute(cls, kernel: Kernel, manager: AnalysisManager) -> Reach:
        """The reach of `kernel`. Complexity: the value analysis, and each block once more where it loads to LDS."""
        flow = manager.get(Flow)
        why: dict[str, str] = {}
        for block in kernel.blocks:
            if block.label in flow.reachable:
                for instruction in block.instructions:
                    for what, reason in _obstacles(instruction):
                        why.setdefault(what, f"{block.label}: {reason}")
        lds = None if "LDS" in why else _lds(kernel, manager, why)
        named = manager.get(Pressure)
        known = "registers" not in why
        return cls(named.named_vgprs if known else None, named.named_agprs if known else None, lds, why)


def _obstacles(i: Instruction) -> Iterator[tuple[str, str]]:
    definition = i.definition
    if definition is None or definition.mnemonic in ("s_setpc_b64", "s_swappc_b64", "s_call_b64"):
        yield from ((what, f"{i.mnemonic} leads to what is not seen") for what in ("registers", "LDS"))
        return
    if i.mnemonic.startswith(_RELATIVE):
        yield "registers", f"{i.mnemonic} makes register numbers relative"
    if i.mnemonic.startswith("s_getreg") and not any("HW_REG_MODE" in str(o) for o in i.operands):
        yield from ((what, f"{i.mnemonic} may ask what the kernel was given") for what in ("registers", "LDS"))
    if definition.space is Space.FLAT:
        yield "LDS", f"{i.mnemonic} may reach LDS"


def _lds(kernel: Kernel, manager: AnalysisManager, why: dict[str, str]) -> int | None:
    flow, values, table = manager.get(Flow), manager.get(Values), manager.get(EffectsTable)
    most = 0
    for block in kernel.blocks:
        if block.label not in flow.reachable:
            continue
        destinations = _Destinations(block, values, table)
        for index, i in enumerate(block.instructions):
            definition = i.definition
            assert definition is not None
            if is_lds_dma(i):
                end = destinations.end(index)
            elif definition.space is Space.LDS and definition.access not in (None, Access.FENCE):
                seen = values.memory.get((block.label, index))
                if seen is None:
                    why["LDS"] = f"{block.label}: {i.mnemonic} has an address of its own kind"
                    return None
                end = max(address.high for address in seen.addresses) + seen.operation.bytes
            else:
                continue
            most = max(most, end)
    return most


@dataclass(slots=True)
class _Destinations:
    """Where a block's loads to LDS end; M0 is looked at once for each of its writes."""

    block: Block
    values: Values
    table: EffectsTable
    _at: int = -1
    _highest: int = 0

    def end(self, index: int) -> int:
        """The first LDS byte behind what the load at `index` writes in any lane."""
        effects = self.table.by_block[self.block.label]
        written = next((n + 1 for n in range(index - 1, -1, -1) if effects[n].writes >> M0 & 1), 0)
        if written != self._at:
            value = self.values.unit_before(self.block.label, written, M0)
            self._at, self._highest = written, min(value.high, _M0_BITS)
        i = self.block.instructions[index]
        assert i.definition is not None
        offset = i.modifier("offset", 0)
        assert isinstance(offset, int)
        return self._highest + offset + LANES * max(i.definition.memory_bytes, 4)
