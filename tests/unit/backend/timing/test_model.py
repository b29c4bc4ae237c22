"""The cycle model against measured issue rates, and its promises: deterministic, order matters, less is never slower."""

import random
import time

import pytest

from asmevo.backend.timing import bound_to, chip, estimate, program, result_latency_cycles, unit_busy_cycles
from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.parser import parse_line, parse_source
from programs import kernel_of

MI300X = chip("mi300x")
MFMA = "v_mfma_f32_16x16x16_f16 a[{0}:{1}], v[0:1], v[2:3], a[{0}:{1}]"


def cycles(body, **options):
    lines = body if isinstance(body, str) else "\n".join(body)
    return estimate(kernel_of(lines + "\n s_endpgm"), **options).total_cycles


def mfmas_with(extra, groups=16):
    """`groups` independent MFMAs, each followed by the lines of `extra`."""
    body = []
    for group in range(groups):
        first = 4 * (group % 4)
        body += [MFMA.format(first, first + 3), *extra]
    return cycles(body) / groups


@pytest.mark.parametrize(
    ("line", "measured"),
    [
        ("v_add_f32_e32 v4, v5, v6", 4),
        ("v_perm_b32 v4, v5, v6, v7", 4),
        ("v_pk_mul_f32 v[4:5], v[6:7], v[8:9]", 4),
        ("v_exp_f32_e32 v4, v5", 16),
        ("s_add_u32 s4, s5, s6", 4),
    ],
)
def test_issue_rates_are_the_measured_ones(line, measured):
    """PYHIP, mfma-valu-coissue: 1,000 instructions of a kind."""
    assert cycles([line] * 64) == pytest.approx(64 * measured, abs=20)


@pytest.mark.parametrize(
    ("line", "measured"),
    [
        ("v_add_f32_e32 v4, v5, v6", [0, 0, 0, 4]),
        ("v_exp_f32_e32 v4, v5", [4, 20, 36, 52]),
        ("v_pk_mul_f32 v[4:5], v[6:7], v[8:9]", [12, 16, 20, 24]),
    ],
)
def test_work_in_the_shadow_of_a_matrix_instruction(line, measured):
    """PYHIP: extra cycles a group when 1 to 4 VALU instructions follow an MFMA of 16 cycles."""
    alone = mfmas_with([])
    assert alone == pytest.approx(16, abs=0.5)
    extra = [mfmas_with([line] * count) - alone for count in (1, 2, 3, 4)]
    assert extra == pytest.approx(measured, abs=1.5)


def test_two_waves_share_the_matrix_unit_and_hide_latency():
    body = [MFMA.format(0, 3), "v_accvgpr_read_b32 v9, a0"] * 16
    one, two = cycles(body), cycles(body, waves_per_simd=2)
    assert two < 0.6 * one


def test_memory_latency_is_waited_for_and_hidden_by_order():
    load, work = "global_load_dword v1, v0, s[0:1]", ["v_add_f32_e32 v4, v5, v6"] * 60
    wait, use = "s_waitcnt vmcnt(0)", "v_mov_b32_e32 v2, v1"
    late, early = cycles([*work, load, wait, use]), cycles([load, *work, wait, use])
    assert late - early == pytest.approx(240, abs=16)
    assert late > MI300X.vmem_latency.value
    assert cycles([load, wait, use], chip=bound_to(MI300X, 900, "test")) > 900


def test_lds_pays_for_its_bytes():
    """Four SIMDs share 128 bytes a cycle: a wave's 1,024 bytes take 32 cycles."""
    reads = [f"ds_read_b128 v[{n}:{n + 3}], v0" for n in range(4, 132, 4)]
    assert cycles([*reads, "s_waitcnt lgkmcnt(0)"]) == pytest.approx(32 * 32 + 64, abs=16)
    assert cycles([*reads, "s_waitcnt lgkmcnt(0)"], simds=1) == pytest.approx(32 * 16 + 64, abs=16)


def test_nops_and_satisfied_waits_cost_slots():
    base = cycles(["v_add_f32_e32 v4, v5, v6"] * 4)
    assert cycles(["v_add_f32_e32 v4, v5, v6"] * 4 + ["s_nop 7"]) - base == 32
    assert cycles(["v_add_f32_e32 v4, v5, v6"] * 4 + ["s_waitcnt vmcnt(0)"]) - base == 4


def test_loops_are_weighed_by_their_executions():
    kernel = kernel_of("""
    entry:
        s_mov_b32 s4, 8
    loop:
        v_add_f32_e32 v4, v5, v6
        s_sub_u32 s4, s4, 1
        s_cbranch_scc1 loop
    exit:
        s_endpgm
    """)
    counts = {0: 1, 1: 1000, 2: 1000, 3: 1000, 4: 1}
    found = estimate(kernel, counts)
    assert found.per_block["loop"].executions == 1000
    assert found.per_block["loop"].cycles == pytest.approx(12 + MI300X.branch_taken.value, abs=6)
    assert found.total_cycles == pytest.approx(1000 * found.per_block["loop"].cycles, rel=0.01)
    assert found.stalls[3]["branch"] == pytest.approx(16_000, rel=0.3)


def test_a_block_that_never_runs_costs_nothing():
    kernel = kernel_of("entry:\n s_cbranch_scc1 exit\nside:\n s_nop 15\nexit:\n s_endpgm")
    assert "side" not in estimate(kernel, {0: 1, 2: 1}).per_block


def test_stalls_name_instruction_and_cause():
    found = estimate(kernel_of("global_load_dword v1, v0, s[0:1]\n s_waitcnt vmcnt(0)\n v_mov_b32_e32 v2, v1\n s_endpgm"))
    assert found.stalls[1]["vmcnt"] > 250
    assert next(iter(found.stalls_by_cause)) == "vmcnt"


def test_latencies_for_schedulers():
    matrix = parse_line(MFMA.format(0, 3))
    assert unit_busy_cycles(matrix, MI300X) == 16
    assert result_latency_cycles(matrix, MI300X) == 32
    assert result_latency_cycles(parse_line("v_add_f32_e32 v4, v5, v6"), MI300X) == 4
    assert result_latency_cycles(parse_line("global_load_dword v1, v0, s[0:1]"), MI300X) >= MI300X.vmem_latency.value


POOL = (
    "global_load_dword v{d}, v0, s[0:1]", "ds_read_b32 v{d}, v{s}", "v_add_f32_e32 v{d}, v{s}, v{s}",
    "v_exp_f32_e32 v{d}, v{s}", "v_mfma_f32_16x16x16_f16 v[{q}:{r}], v[0:1], v[2:3], v[{q}:{r}]", "s_waitcnt vmcnt(2)",
    "s_waitcnt lgkmcnt(1)", "s_waitcnt vmcnt(0) lgkmcnt(0)", "s_nop 3", "s_add_u32 s4, s5, s6", "ds_write_b32 v{d}, v{s}",
)  # fmt: skip


def random_body(source, length):
    lines = []
    for _ in range(length):
        q = source.randrange(4, 16, 4)
        lines.append(source.choice(POOL).format(d=source.randrange(4, 20), s=source.randrange(4, 20), q=q, r=q + 3))
    return lines


@pytest.mark.parametrize("seed", range(40))
def test_removing_a_wait_or_nop_never_makes_it_slower(seed):
    source = random.Random(seed)
    body = random_body(source, 40)
    whole = cycles(body)
    assert cycles(body) == whole
    for index, line in enumerate(body):
        if line.startswith(("s_waitcnt", "s_nop")):
            assert cycles(body[:index] + body[index + 1 :]) <= whole


def test_it_is_quick():
    body = random_body(random.Random(1), 4500)
    kernel = kernel_of("\n".join([*body, "s_endpgm"]))
    started = time.perf_counter()
    estimate(kernel)
    assert time.perf_counter() - started < 1.0


@pytest.mark.parametrize("options", [{"waves_per_simd": 0}, {"waves_per_simd": 9}, {"simds": 5}])
def test_impossible_machines_are_refused(options):
    with pytest.raises(DiagnosticError, match="E0230"):
        cycles(["s_nop 0"], **options)


def test_blocks_off_the_path_are_laid_out_once(monkeypatch):
    """A kernel may have hundreds of them: laid out anew for each, a large one took seconds and gigabytes."""
    sides = "".join(f"s_cbranch_scc1 side{n}\nv_mov_b32_e32 v1, v2\n" for n in range(40))
    ways = "".join(f"side{n}:\nv_mov_b32_e32 v3, v4\ns_endpgm\n" for n in range(40))
    kernel = parse_source(f"k:\n{sides}s_endpgm\n{ways}")
    laid_out = []
    block = program.Builder.block

    def noted(builder, timed, details=()):
        laid_out.append(len(timed))
        return block(builder, timed, details)

    monkeypatch.setattr(program.Builder, "block", noted)
    found = estimate(kernel)
    assert len(found.per_block) == len(kernel.blocks)
    assert sum(laid_out) == sum(len(b.instructions) for b in kernel.blocks)
