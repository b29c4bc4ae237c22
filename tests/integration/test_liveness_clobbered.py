"""Liveness against execution: a register that is dead may hold anything, so overwriting each one where it dies changes nothing.

After every instruction the registers that it touched and that liveness calls dead are overwritten, vector ones in the lanes
then active. A read that liveness does not know of would meet that value.
"""

from dataclasses import replace

import pytest

from asmevo.backend.emulator import run
from asmevo.frontend.codeobject import load_file
from asmevo.frontend.parser import parse_line
from asmevo.frontend.recover import recover
from asmevo.ir.analysis.facts import EffectsTable
from asmevo.ir.analysis.liveness import Liveness
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.analysis.waits import WaitState
from asmevo.ir.kernel import Kernel
from asmevo.ir.registers import AGPR0, FLAT_SCRATCH, VECTOR_MASK, VGPR0, units
from asmevo.verify.launches import load_launches
from support import EXAMPLES, SHIPPED

GARBAGE = "0x7fc0dead"


def clobber(unit: int) -> str | None:
    if VGPR0 <= unit < AGPR0:
        return f"v_mov_b32_e32 v{unit - VGPR0}, {GARBAGE}"
    return f"s_mov_b32 s{unit}, {GARBAGE}" if unit < FLAT_SCRATCH else None


def with_dead_registers_overwritten(kernel: Kernel, alive_anyway: int = 0) -> tuple[Kernel, int]:
    manager = AnalysisManager(kernel)
    liveness, table, waits = manager.get(Liveness), manager.get(EffectsTable), manager.get(WaitState)
    uid = 1 + max(i.uid for i in kernel.instructions())
    count = 0
    blocks = []
    for block in kernel.blocks:
        body = []
        for index, instruction in enumerate(block.instructions):
            body.append(instruction)
            if index + 1 == len(block.instructions):
                continue
            effect = table.by_block[block.label][index]
            live = liveness.live_after(block.label, index) & ~VECTOR_MASK
            live |= liveness.live_after_in_active_lanes(block.label, index) & VECTOR_MASK
            dead = (effect.reads | effect.writes) & ~live & ~waits.pending_units(block.label, index + 1) | alive_anyway
            for unit in units(dead):
                text = clobber(unit)
                if text is not None:
                    body.append(replace(parse_line(text), uid=uid))
                    uid, count = uid + 1, count + 1
        blocks.append(replace(block, instructions=tuple(body)))
    return replace(kernel, blocks=tuple(blocks)), count


@pytest.mark.parametrize("name", SHIPPED)
def test_dead_registers_may_hold_anything(name):
    kernel = recover(load_file(EXAMPLES / "kernels" / f"{name}.co"))
    changed, count = with_dead_registers_overwritten(kernel)
    assert count > 5
    for dispatch in load_launches(EXAMPLES / "launches" / f"{name}.toml", kernel)[:2]:
        before, after = run(kernel, dispatch), run(changed, dispatch)
        assert not before.faults
        assert not after.faults
        assert all((a == b).all() for a, b in zip(before.buffers, after.buffers, strict=True))


def test_a_live_register_may_not():
    kernel = recover(load_file(EXAMPLES / "kernels" / "vector_add.co"))
    dispatch = load_launches(EXAMPLES / "launches" / "vector_add.toml", kernel)[0]
    # v0 holds the work-item id.
    changed, _ = with_dead_registers_overwritten(kernel, alive_anyway=1 << VGPR0)
    before, after = run(kernel, dispatch), run(changed, dispatch)
    assert after.faults or any((a != b).any() for a, b in zip(before.buffers, after.buffers, strict=True))
