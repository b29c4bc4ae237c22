"""Liveness and def-use against execution: what is dead may hold anything, so overwriting it where it dies changes nothing.

After every instruction the registers that it touched and that liveness calls dead are overwritten, and at the start of every
block those that were alive on some way in: vector ones in the lanes then active, SGPRs, VCC, M0 and SCC as a whole. A read that
liveness does not know of would meet that value. So are values that no def-use chain leads to. Each launch runs with two kinds
of garbage, so that one of them is not what was there.
"""

from collections import Counter, defaultdict
from dataclasses import replace

import pytest

from asmevo.backend.emulator import run
from asmevo.frontend.codeobject import load_file
from asmevo.frontend.parser import parse_line
from asmevo.frontend.recover import recover
from asmevo.ir.analysis.dataflow.defuse import DefUse
from asmevo.ir.analysis.dataflow.facts import EffectsTable
from asmevo.ir.analysis.dataflow.liveness import Liveness
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.analysis.waits.needed import WaitState
from asmevo.ir.cfg import predecessors
from asmevo.ir.kernel import Kernel
from asmevo.ir.registers import AGPR0, FLAT_SCRATCH, M0, SCC, UNIT_COUNT, VCC, VECTOR_MASK, VGPR0, units
from asmevo.verify.launch.dispatches import load_launches
from support import EXAMPLES, SHIPPED

GARBAGE = (("0x7fc0dead", "1.0", "eq"), ("0x80000001", "-1", "lg"))
"""Two kinds of garbage: for VGPRs and scalars, for AGPRs, which take no literal, and as a comparison that sets SCC."""

PLAIN = {VCC: "vcc_lo", VCC + 1: "vcc_hi", M0: "m0"}


def clobber(unit: int, garbage: int) -> tuple[str, str] | None:
    """Kind of register, and the instruction that overwrites it; None for EXEC, MODE and what no program writes."""
    literal, inline, comparison = GARBAGE[garbage]
    if unit >= UNIT_COUNT:
        return None
    if unit >= AGPR0:
        return "AGPR", f"v_accvgpr_write_b32 a{unit - AGPR0}, {inline}"
    if unit >= VGPR0:
        return "VGPR", f"v_mov_b32_e32 v{unit - VGPR0}, {literal}"
    if unit < FLAT_SCRATCH:
        return "SGPR", f"s_mov_b32 s{unit}, {literal}"
    if unit in PLAIN:
        return "VCC or M0", f"s_mov_b32 {PLAIN[unit]}, {literal}"
    return ("SCC", f"s_cmp_{comparison}_u32 0, 0") if unit == SCC else None


def overwriting(kernel: Kernel, garbage: int, at_start, after) -> tuple[Kernel, dict[int, str]]:
    """The kernel with units overwritten at the start of blocks and behind instructions, unless a load may still write them.

    Also by uid what kind of register each new instruction overwrites.
    """
    waits = AnalysisManager(kernel).get(WaitState)
    uid = 1 + max(i.uid for i in kernel.instructions())
    added: dict[int, str] = {}
    blocks = []
    for block in kernel.blocks:
        masks = [at_start(block.label), *(after(block.label, index) for index in range(len(block.instructions) - 1)), 0]
        body = []
        for index, mask in enumerate(masks):
            body += block.instructions[index - 1 : index] if index else ()
            for unit in units(mask & ~waits.pending_units(block.label, min(index, len(block.instructions) - 1))):
                found = clobber(unit, garbage)
                if found is not None:
                    added[uid], text = found
                    body.append(replace(parse_line(text), uid=uid))
                    uid += 1
        blocks.append(replace(block, instructions=tuple(body)) if block.instructions else block)
    return replace(kernel, blocks=tuple(blocks)), added


def with_dead_registers_overwritten(kernel: Kernel, garbage: int = 0, alive_anyway: int = 0) -> tuple[Kernel, dict[int, str]]:
    """`alive_anyway` are units overwritten everywhere."""
    manager = AnalysisManager(kernel)
    liveness, table, before = manager.get(Liveness), manager.get(EffectsTable), predecessors(kernel)

    def at_start(label):
        alive = 0
        for other in before[label]:
            alive |= liveness.live_out[other]
        return alive & ~liveness.live_in[label]

    def after(label, index):
        effect = table.by_block[label][index]
        live = liveness.live_after(label, index) & ~VECTOR_MASK
        live |= liveness.live_after_in_active_lanes(label, index) & VECTOR_MASK
        return (effect.reads | effect.writes) & ~live | alive_anyway

    return overwriting(kernel, garbage, at_start, after)


def with_unread_values_overwritten(kernel: Kernel, garbage: int) -> tuple[Kernel, dict[int, str]]:
    """Each value overwritten that is no definition of any read, by def-use chains from the reads back."""
    manager = AnalysisManager(kernel)
    chains, table = manager.get(DefUse), manager.get(EffectsTable)
    read = defaultdict(int)
    for label, rows in table.by_block.items():
        for index, effect in enumerate(rows):
            for unit in units(effect.reads):
                for site in chains.definitions(label, index, unit):
                    read[site] |= 1 << unit
    return overwriting(
        kernel, garbage, lambda _: 0, lambda label, index: table.by_block[label][index].writes & ~read[label, index]
    )


def check(name, dispatches, change=with_dead_registers_overwritten):
    """Run the launches both ways; return how often registers of each kind were overwritten in all runs."""
    kernel = recover(load_file(EXAMPLES / "kernels" / f"{name}.co"))
    done = Counter()
    changed = [change(kernel, garbage) for garbage in range(len(GARBAGE))]
    for dispatch in load_launches(EXAMPLES / "launches" / f"{name}.toml", kernel)[dispatches]:
        expected = run(kernel, dispatch)
        assert not expected.faults
        for other, added in changed:
            found = run(other, dispatch)
            assert not found.faults, found.faults[0]
            assert all((a == b).all() for a, b in zip(expected.buffers, found.buffers, strict=True))
            for uid, kind in added.items():
                done[kind] += found.executions.get(uid, 0)
    return done


@pytest.mark.parametrize("name", SHIPPED)
def test_dead_registers_may_hold_anything(name):
    done = check(name, slice(2))
    assert done["VGPR"] > 5
    assert done["SGPR"] > 5


@pytest.mark.slow
@pytest.mark.parametrize("name", SHIPPED)
def test_dead_registers_may_hold_anything_in_every_launch(name):
    done = check(name, slice(2, None))
    print(name, dict(done))


@pytest.mark.parametrize("name", ["histogram", "layer_norm", "matmul_fp16", "reduce_sum", "softmax", "vector_add"])
def test_values_that_no_chain_leads_to_may_be_anything(name):
    assert check(name, slice(2), with_unread_values_overwritten).total() > 5


def test_registers_of_every_kind_are_overwritten():
    found = Counter()
    for name in SHIPPED:
        kernel = recover(load_file(EXAMPLES / "kernels" / f"{name}.co"))
        found.update(with_dead_registers_overwritten(kernel)[1].values())
    assert set(found) == {"VGPR", "AGPR", "SGPR", "VCC or M0", "SCC"}


@pytest.mark.parametrize("unit", [VGPR0, 8])
def test_a_live_register_may_not(unit):
    kernel = recover(load_file(EXAMPLES / "kernels" / "vector_add.co"))
    dispatch = load_launches(EXAMPLES / "launches" / "vector_add.toml", kernel)[0]
    # v0 holds the work-item id.
    changed, _ = with_dead_registers_overwritten(kernel, alive_anyway=1 << unit)
    before, after = run(kernel, dispatch), run(changed, dispatch)
    assert after.faults or any((a != b).any() for a, b in zip(before.buffers, after.buffers, strict=True))
