"""A path whose branches contradict each other is none; any doubt keeps the finding."""

import pytest

from asmevo.diagnostics import Severity
from asmevo.frontend.source import parse_source
from asmevo.verify.paths.feasibility import PathFeasibility
from asmevo.verify.static.wait_paths import Answer, WaitPaths
from asmevo.verify.static.wait_steps import compile_steps
from asmevo.verify.static.waits import MISSING_WAIT, check_waits

GUARDED = """
top:
    s_cmp_eq_u32 s4, {first}
    s_cbranch_scc0 skip
    global_load_dword v1, v0, s[0:1]
skip:
    {between}
    s_cmp_eq_u32 s4, {second}
    s_cbranch_scc1 covered
    v_mov_b32_e32 v2, v1
    s_endpgm
covered:
    s_waitcnt vmcnt(0)
    v_mov_b32_e32 v2, v1
    s_endpgm
"""
UNROLLED = """
top:
    s_mov_b32 s5, {start}
    s_cmp_gt_i32 s4, 0
    s_cbranch_scc0 nothing
loop:
    s_add_u32 s5, s5, 1
    global_load_dword v1, v0, s[0:1]
    s_cmp_lt_i32 s5, s4
    s_cbranch_scc0 done
    s_add_u32 s5, s5, {step}
    s_waitcnt vmcnt(0)
    s_cmp_lt_i32 s5, s4
    s_cbranch_scc1 loop
done:
    s_and_b32 s6, s4, 1
    s_cmp_eq_u32 s6, 1
    s_cbranch_scc0 even
    s_waitcnt vmcnt(0)
even:
    v_mov_b32_e32 v2, v1
nothing:
    s_endpgm
"""


def missing(text):
    found = check_waits(parse_source(text, "t.s"))
    return [(f.severity, f.message) for f in found if f.code == MISSING_WAIT]


def test_branches_on_one_value_that_agree_rule_the_path_out():
    assert missing(GUARDED.format(first=0, second=0, between="s_nop 0")) == []


@pytest.mark.parametrize(
    "between", ["s_load_dword s4, s[0:1], 0x0\ns_waitcnt lgkmcnt(0)", "v_readfirstlane_b32 s4, v5", "s_add_i32 s4, s4, s7"]
)
def test_a_value_that_changed_rules_nothing_out(between):
    ((severity, message),) = missing(GUARDED.format(first=0, second=0, between=between))
    assert severity is Severity.ERROR
    assert "on the path" in message


def test_branches_on_different_values_rule_nothing_out():
    assert [severity for severity, _ in missing(GUARDED.format(first=0, second=1, between="s_nop 0"))] == [Severity.ERROR]


def test_the_parity_of_an_unrolled_loop_rules_the_path_out():
    # The load is pending only when the loop ends half-way, so after an odd number of steps.
    assert missing(UNROLLED.format(start=0, step=1)) == []


@pytest.mark.parametrize(("start", "step"), [(1, 1), (0, 2)])
def test_another_parity_rules_nothing_out(start, step):
    assert [severity for severity, _ in missing(UNROLLED.format(start=start, step=step))] == [Severity.ERROR]


def test_too_many_paths_make_a_warning():
    diamonds = "".join(f"s_cmp_eq_u32 s{4 + n}, 0\ns_cbranch_scc0 d{n}\ns_nop 0\nd{n}:\n" for n in range(14))
    text = f"""top:
    s_cmp_eq_u32 s40, 0
    s_cbranch_scc0 skip
    global_load_dword v1, v0, s[0:1]
    {diamonds}
    s_nop 0
skip:
    s_cmp_eq_u32 s40, 0
    s_cbranch_scc1 covered
    v_mov_b32_e32 v2, v1
    s_endpgm
covered:
    s_endpgm"""
    ((severity, message),) = missing(text)
    assert severity is Severity.WARNING
    assert "not decided" in message


def test_a_bound_on_queries_gives_unknown_and_never_impossible():
    kernel = parse_source(GUARDED.format(first=0, second=0, between="s_nop 0"), "t.s")
    labels = [b.label for b in kernel.blocks]
    path = (labels[1], "skip", labels[3])
    assert PathFeasibility(kernel).judge(("top", *path), ()) is Answer.IMPOSSIBLE
    assert PathFeasibility(kernel).judge(path, ()) is Answer.IMPOSSIBLE
    assert PathFeasibility(kernel, queries=0).judge(path, ()) is Answer.UNKNOWN


def test_jumps_to_computed_addresses_rule_nothing_out():
    text = GUARDED.format(first=0, second=0, between="s_nop 0") + "s_getpc_b64 s[30:31]\ns_setpc_b64 s[30:31]\n"
    assert [severity for severity, _ in missing(text)] == [Severity.ERROR]


def test_the_walk_is_bounded_in_all():
    kernel = parse_source(GUARDED.format(first=0, second=0, between="s_nop 0"), "t.s")
    events, steps = compile_steps(kernel.blocks)
    load = next(i.uid for i in kernel.instructions() if i.mnemonic == "global_load_dword")
    use = next(i.uid for i in kernel.instructions() if i.mnemonic == "v_mov_b32_e32")
    feasibility = PathFeasibility(kernel)
    assert WaitPaths(kernel, events, steps).decide([(use, load)], feasibility)[use, load][0] is Answer.IMPOSSIBLE
    assert WaitPaths(kernel, events, steps, in_all=1).decide([(use, load)], feasibility)[use, load][0] is Answer.UNKNOWN
    assert WaitPaths(kernel, events, steps, most=1).all([(use, load)]) == {(use, load): None}
