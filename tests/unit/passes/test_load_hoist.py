"""Loads run earlier under their own lanes: proved by the judge whenever the pass moves one, and wrong moves are not."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asmevo.frontend.parser import parse_source
from asmevo.ir.printer import print_kernel
from asmevo.passes.load_hoist import LoadHoist
from asmevo.passes.manager import PassManager
from asmevo.verify.judge import Judge, Level
from asmevo.verify.verdict import Outcome

HEAD = """
k:
  v_mov_b32_e32 v6, 0
  v_mov_b32_e32 v9, v0
"""
TAIL = """
  global_store_dword v0, v6, s[4:5]
  s_endpgm
"""
MASK = """
  {address}
  v_cmp_gt_u32_e32 vcc, s{limit}, v4
  s_and_saveexec_b64 s[6:7], vcc
  s_cbranch_execz join{n}
arm{n}:
  {inside}
  global_load_dword v1, v4, s[2:3]
  s_waitcnt vmcnt(0)
  v_add_f32_e32 v6, v6, v1
  {after}
join{n}:
  s_or_b64 exec, exec, s[6:7]
"""
SCALAR = """
  {address}
  s_cmp_lt_i32 s9, {limit}
  s_cbranch_scc{sense} join{n}
arm{n}:
  {inside}
  global_load_dwordx2 v[2:3], v4, s[2:3]
  s_waitcnt vmcnt(0)
  v_add_f32_e32 v6, v6, v3
  {after}
join{n}:
"""
ADDRESSES = st.sampled_from(
    [
        "v_add_u32_e32 v4, 0x400, v0",
        "v_lshlrev_b32_e32 v4, 2, v9",
        "v_add_u32_e32 v4, 4, v4",
        "v_add_u32_e32 v5, 64, v0\n  v_lshl_add_u32 v4, v5, 2, v0",
        "s_add_i32 s10, s10, 1\n  v_add_u32_e32 v4, s10, v0",
        "v_mov_b32_e32 v4, v0",
    ]
)
INSIDE = st.sampled_from(["v_and_b32_e32 v4, -4, v4", "v_mov_b32_e32 v7, v6", "s_nop 0", "v_mov_b32_e32 v5, v4"])
AFTER = st.sampled_from(
    [
        *["s_nop 0"] * 3,
        "v_add_u32_e32 v9, 4, v9",
        "v_mov_b32_e32 v5, v6",
        "global_store_dword v0, v6, s[4:5] offset:4",
        "s_add_i32 s10, s10, 1",
    ]
)
part = st.one_of(
    st.builds(
        lambda a, i, f, m: (MASK, {"address": a, "inside": i, "after": f, "limit": m}),
        ADDRESSES, INSIDE, AFTER, st.sampled_from([8, 9]),
    ),
    st.builds(
        lambda a, i, f, m, s: (SCALAR, {"address": a, "inside": i, "after": f, "limit": m, "sense": s}),
        ADDRESSES, INSIDE, AFTER, st.integers(1, 3), st.integers(0, 1),
    ),
)  # fmt: skip


def kernel_of(parts):
    return parse_source(HEAD + "".join(text.format(n=n, **values) for n, (text, values) in enumerate(parts)) + TAIL)


def run(kernel):
    return PassManager([LoadHoist()]).run(kernel)


def verdict(before, after):
    return Judge(Level.SMT, timeout_s=60.0)(before, after)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(parts=st.lists(part, min_size=2, max_size=3))
def test_what_moves_is_proved(parts):
    kernel = kernel_of(parts)
    result = run(kernel)
    if result.changed:
        found = verdict(kernel, result.kernel)
        assert found.outcome is Outcome.PROVED, found.reason + "\n" + print_kernel(result.kernel)


def plain(store=False):
    values = {"address": "v_add_u32_e32 v4, 0x400, v0", "inside": "s_nop 0", "after": "s_nop 0", "limit": 8}
    first = values | {"address": "v_mov_b32_e32 v4, v0"} | ({"after": "global_store_dword v0, v6, s[2:3]"} if store else {})
    return kernel_of([(MASK, first), (MASK, values)])


def names_in(kernel, label):
    return [i.mnemonic for i in kernel.block(label).instructions]


def text_of(kernel):
    return print_kernel(kernel)


def test_a_guarded_load_moves_before_the_first_branch():
    kernel = plain()
    after = run(kernel)
    assert after.changed
    assert "global_load_dword" not in names_in(after.kernel, "arm1")
    assert verdict(kernel, after.kernel).outcome is Outcome.PROVED


def test_nothing_moves_over_a_store():
    assert "global_load_dword" in names_in(run(plain(store=True)).kernel, "arm1")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("v_add_u32_e32 {t}, 0x400, v0", "v_add_u32_e32 {t}, 0x404, v0"),
        ("v_cmp_gt_u32_e32 vcc, s8, {t}", "v_cmp_lt_u32_e32 vcc, s8, {t}"),
        ("s_mov_b64 exec, s[0:1]", "s_mov_b64 s[0:1], exec"),
        ("v_mov_b32_e32 v1, {f}", "v_mov_b32_e32 v1, {t}"),
    ],
    ids=["another address", "other lanes", "lanes not restored", "another register's data"],
)
def test_a_wrong_move_is_not_accepted(old, new):
    kernel = plain()
    after = run(kernel).kernel
    load = next(i for i in after.blocks[0].instructions if i.mnemonic == "global_load_dword")
    names = {"f": str(load.operands[0].range), "t": str(load.operands[1].range)}
    text = text_of(after)
    assert old.format(**names) in text
    assert not verdict(kernel, parse_source(text.replace(old.format(**names), new.format(**names), 1))).outcome.is_success


def test_a_load_moved_over_a_store_is_not_accepted():
    """The right move of the kernel without the store, put into the one with it."""
    moved = text_of(run(plain()).kernel)
    place = "v_add_f32_e32 v6, v6, v1\n\ts_nop 0\n"
    assert place in moved
    wrong = parse_source(moved.replace(place, place.replace("s_nop 0", "global_store_dword v0, v6, s[2:3]"), 1))
    assert not verdict(plain(store=True), wrong).outcome.is_success
