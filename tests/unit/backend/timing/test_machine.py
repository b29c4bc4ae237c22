"""The machine runs natively as it runs in the interpreter, and loses no cycle unaccounted for."""

import random

import numpy as np
import pytest

from asmevo.backend.timing import chip, words
from asmevo.backend.timing.program import NO_DETAIL, Builder, Detail, Figures, Trace
from asmevo.frontend.parser import parse_line
from asmevo.ir.analysis.cost.costs import decoder

POOL = (
    "global_load_dword v{d}, v0, s[0:1]", "ds_read_b32 v{d}, v{s}", "ds_write_b128 v{d}, v[4:7]",
    "v_add_f32_e32 v{d}, v{s}, v{s}",
    "v_exp_f32_e32 v{d}, v{s}", "v_mfma_f32_16x16x16_f16 v[{q}:{r}], v[0:1], v[2:3], v[{q}:{r}]", "s_waitcnt vmcnt(2)",
    "s_waitcnt lgkmcnt(1)", "s_waitcnt vmcnt(0) lgkmcnt(0)", "s_nop 3", "s_add_u32 s4, s5, s6", "s_load_dword s7, s[0:1], 0x0",
    "global_store_dword v0, v{s}, s[0:1]", "v_pk_mul_f32 v[{q}:{t}], v[6:7], v[8:9]", "s_setprio 2", "s_barrier",
)  # fmt: skip


def random_machine(source):
    """Two blocks of random code, four ways, two to four work-groups after one another, everything modelled."""
    figures = chip(source.choice(["mi300x", "mi355x", "mi250x"]))
    builder = Builder(figures, Figures(288, 900, 85, 300, 90, source.random() < 0.5, 512, 304, 16))
    decode = decoder(figures, 1)
    address = 0
    accesses = 0
    for _ in range(2):
        sequence, details = [], []
        for _ in range(30):
            q = source.randrange(4, 16, 4)
            line = source.choice(POOL).format(d=source.randrange(4, 20), s=source.randrange(4, 20), q=q, r=q + 3, t=q + 1)
            timed = decode(parse_line(line))
            size = source.choice([4, 8])
            accesses += timed.vmcnt or timed.lgkmcnt
            sequence.append(timed)
            modelled = Detail(
                address, size, banks=source.randrange(3), lines=source.randrange(4), is_barrier=line == "s_barrier",
                priority=2 if "setprio" in line else -1, is_store="store" in line, is_scalar_memory="s_load" in line,
            )  # fmt: skip
            details.append(modelled if source.random() < 0.95 else NO_DETAIL)
            address += size
        builder.block(sequence, details)
    for _ in range(4):
        entries = np.array([2 * source.randrange(2) for _ in range(6)], np.int64)
        rows = np.array([(source.randrange(9), source.randrange(50), source.randrange(8)) for _ in range(6 * 30)], np.int64)
        lines = np.array([source.randrange(400) for _ in range(60)], np.int64)
        builder.trace(Trace(entries, rows, lines) if source.random() < 0.7 else Trace(entries))
    waves = source.choice([1, 2, 4])
    simds = [n % 4 for n in range(2 * waves)]
    return builder.machine(simds, group_waves=waves, groups=source.randrange(2, 5), lds_paths=2, events=40, skip_events=7)


@pytest.mark.parametrize("seed", range(25))
def test_native_code_is_the_interpreter(seed):
    native, interpreted = random_machine(random.Random(seed)), random_machine(random.Random(seed))
    assert native.start() == interpreted.start(natively=False)
    while True:
        limit = 100
        issued = native.run(limit)
        assert issued == interpreted.run(limit, natively=False)
        assert np.array_equal(native.state, interpreted.state)
        if issued < limit:
            break
    assert native.head(words.ALIVE) == 0


@pytest.mark.parametrize("seed", range(10))
def test_every_cycle_of_a_wave_is_an_issue_or_a_loss(seed):
    """What a wave holds its slot for, and what it waited, add up to its time: nothing is counted twice or lost."""
    source = random.Random(100 + seed)
    decode = decoder(chip("mi300x"), 1)
    lines = [
        source.choice(POOL).format(d=source.randrange(4, 20), s=source.randrange(4, 20), q=4, r=7, t=5)
        for _ in range(80)
    ]  # fmt: skip
    sequence = [decode(parse_line(line)) for line in lines if line != "s_barrier"]
    builder = Builder(chip("mi300x"))
    builder.block(sequence)
    builder.trace(Trace(np.zeros(3, np.int64)))
    ready = builder.machine([0] * 3)
    ready.start()
    ready.run()
    tallies = ready.tallies()[0]
    lost = int(tallies[:, : words.ISSUED].sum())
    # Waits, nops and barriers are losses for as long as they hold; the others hold a slot.
    held = sum(int(row[words.ISSUED]) * t.hold for row, t in zip(tallies, sequence, strict=True) if not t.cause)
    assert lost + held == int(ready.blocks()[0, 0, 1])
