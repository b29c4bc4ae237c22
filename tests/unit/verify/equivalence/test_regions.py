"""Edits over several blocks and in loops, proved where every exit keeps what is needed after it."""

from typing import ClassVar

import pytest

from asmevo.ir.analysis.control.loops import Loops
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.kernel import Block, Kernel
from asmevo.verify.equivalence.kernel import prove_kernel
from asmevo.verify.equivalence.regions import region_around
from asmevo.verify.verdict import Outcome
from windows import window

EDGES = {
    "diamond": {".a": (".c", ".b"), ".b": (".d",), ".c": (".d",), ".d": ()},
    "loop": {".a": (".b",), ".b": (".b", ".d"), ".d": ()},
    "long loop": {".a": (".b",), ".b": (".d", ".c"), ".c": (".b",), ".d": ()},
    "nest": {".a": (".b",), ".b": (".c",), ".c": (".c", ".d"), ".d": (".b", ".e"), ".e": ()},
}


def kernel(shape: str, **texts: str) -> Kernel:
    edges = EDGES[shape]
    blocks = tuple(
        Block(f".{label[1:]}", tuple(window(texts.get(label[1:], "s_nop 0"))), targets) for label, targets in edges.items()
    )
    return Kernel("k", "gfx942", blocks, (".a",))


STORE = "global_store_dword v1, v2, s[0:1]\ns_endpgm"
BRANCH = "s_cmp_eq_u32 s6, 0\ns_cbranch_scc1 .c"


def judged(shape: str, before: dict[str, str], edit: dict[str, str]) -> Outcome:
    return prove_kernel(kernel(shape, **before), kernel(shape, **{**before, **edit})).outcome


class TestDiamond:
    BEFORE: ClassVar = {
        "a": f"v_lshlrev_b32_e32 v3, 2, v0\n{BRANCH}",
        "b": "v_add_u32_e32 v2, 1, v3\ns_branch .d",
        "c": "v_add_u32_e32 v2, 2, v3",
        "d": STORE,
    }

    def test_a_register_renamed_over_both_ways_is_proved(self) -> None:
        edit = {name: text.replace("v3", "v7") for name, text in self.BEFORE.items()}
        assert judged("diamond", self.BEFORE, edit) is Outcome.PROVED

    def test_one_way_forgotten_is_not_proved(self) -> None:
        edit = {name: self.BEFORE[name].replace("v3", "v7") for name in "ab"}
        assert not judged("diamond", self.BEFORE, edit).is_success

    def test_code_sunk_into_both_ways_is_proved(self) -> None:
        edit = {
            "a": BRANCH,
            "b": "v_lshlrev_b32_e32 v3, 2, v0\nv_add_u32_e32 v2, 1, v3\ns_branch .d",
            "c": "v_lshlrev_b32_e32 v3, 2, v0\nv_add_u32_e32 v2, 2, v3",
        }
        assert judged("diamond", self.BEFORE, edit) is Outcome.PROVED
        assert not judged("diamond", self.BEFORE, {"a": BRANCH, "b": edit["b"]}).is_success

    def test_what_both_ways_do_may_be_done_after_they_meet(self) -> None:
        before = {**self.BEFORE, "b": "v_add_u32_e32 v2, 1, v3\ns_branch .d", "c": "v_add_u32_e32 v2, 1, v3"}
        edit = {"b": "s_branch .d", "c": "s_nop 0", "d": f"v_add_u32_e32 v2, 1, v3\n{STORE}"}
        assert judged("diamond", before, edit) is Outcome.PROVED
        edit["d"] = f"v_add_u32_e32 v2, 2, v3\n{STORE}"
        assert not judged("diamond", before, edit).is_success

    def test_a_condition_that_changes_is_not_proved(self) -> None:
        edit = {"a": self.BEFORE["a"].replace("s_cmp_eq_u32 s6, 0", "s_cmp_eq_u32 s6, 1")}
        assert not judged("diamond", self.BEFORE, edit).is_success

    def test_a_condition_written_in_another_way_is_proved(self) -> None:
        edit = {"a": self.BEFORE["a"].replace("s_cmp_eq_u32 s6, 0", "s_cmp_lt_u32 s6, 1")}
        assert judged("diamond", self.BEFORE, edit) is Outcome.PROVED

    def test_a_store_on_one_way_is_not_dropped(self) -> None:
        before = {**self.BEFORE, "c": "global_store_dword v1, v3, s[0:1]\nv_add_u32_e32 v2, 2, v3"}
        assert not judged("diamond", before, {"c": self.BEFORE["c"]}).is_success
        assert not judged("diamond", before, {"a": self.BEFORE["a"].replace("v3", "v7")}).is_success


class TestLoop:
    BEFORE: ClassVar = {
        "a": "v_mov_b32_e32 v2, 0\ns_mov_b32 s6, 8",
        "b": "v_lshlrev_b32_e32 v4, 1, v0\nv_add_u32_e32 v2, v2, v4\n"
        "s_sub_u32 s6, s6, 1\ns_cmp_lg_u32 s6, 0\ns_cbranch_scc1 .b",
        "d": STORE,
    }

    def test_a_temporary_of_the_body_may_be_renamed(self) -> None:
        assert judged("loop", self.BEFORE, {"b": self.BEFORE["b"].replace("v4", "v9")}) is Outcome.PROVED

    def test_what_the_next_iteration_reads_is_kept(self) -> None:
        edit = self.BEFORE["b"].replace("v2, v2, v4", "v9, v2, v4")
        assert not judged("loop", self.BEFORE, {"b": edit}).is_success

    def test_a_counter_that_ends_elsewhere_is_not_proved(self) -> None:
        edit = self.BEFORE["b"].replace("s_cmp_lg_u32 s6, 0", "s_cmp_lg_u32 s6, 1")
        assert not judged("loop", self.BEFORE, {"b": edit}).is_success

    def test_a_body_of_several_blocks_is_one_region(self) -> None:
        before = {
            "a": "v_mov_b32_e32 v2, 0",
            "b": "v_lshlrev_b32_e32 v4, 1, v0\ns_sub_u32 s6, s6, 1\ns_cmp_eq_u32 s6, 0\ns_cbranch_scc1 .d",
            "c": "v_add_u32_e32 v2, v2, v4\ns_branch .b",
            "d": STORE,
        }
        edit = {name: before[name].replace("v4", "v9") for name in "bc"}
        assert judged("long loop", before, edit) is Outcome.PROVED
        assert not judged("long loop", before, {"b": edit["b"]}).is_success
        moved = {
            "b": "s_sub_u32 s6, s6, 1\ns_cmp_eq_u32 s6, 0\ns_cbranch_scc1 .d",
            "c": "v_lshlrev_b32_e32 v4, 1, v0\n" + before["c"],
        }
        assert judged("long loop", before, moved) is Outcome.PROVED


@pytest.mark.parametrize(
    ("shape", "labels", "blocks"),
    [
        ("diamond", [".b", ".c"], {".a", ".b", ".c"}),
        ("diamond", [".b"], {".b"}),
        ("diamond", [".a", ".d"], {".a", ".b", ".c", ".d"}),
        ("loop", [".b"], {".b"}),
        ("loop", [".a", ".b"], None),
        ("long loop", [".b", ".c"], {".b", ".c"}),
        ("nest", [".b", ".d"], None),
        ("nest", [".c"], {".c"}),
    ],
)
def test_regions(shape: str, labels: list[str], blocks: set[str] | None) -> None:
    made = kernel(shape)
    region = region_around(made, labels, AnalysisManager(made).get(Loops))
    assert (None if region is None else set(region.blocks)) == blocks
    if region is not None:
        assert region.blocks[0] == min(region.blocks)


class TestNeedsOfTheOriginalAlone:
    """v7 is written for the lanes that read it, before they do, each round: liveness holds it for needed at the loop's head."""

    BEFORE: ClassVar = {
        "a": "s_mov_b64 s[10:11], exec",
        "b": "s_and_b64 exec, exec, s[8:9]\nglobal_load_dword v1, v0, s[0:1]\nv_add_f32_e32 v6, v6, v1\n"
        "s_mov_b64 exec, s[10:11]\nv_mov_b32_e32 v1, 0\ns_sub_u32 s6, s6, 1\ns_cbranch_scc1 .b",
        "d": "global_store_dword v0, v6, s[0:1]\ns_endpgm",
    }
    AHEAD = (
        "s_and_b64 exec, exec, s[8:9]\nglobal_load_dword v7, v0, s[0:1]\ns_mov_b64 exec, s[10:11]\n"
        "s_and_b64 exec, exec, s[8:9]\nv_mov_b32_e32 v1, v7\nv_add_f32_e32 v6, v6, v1\n"
        "s_mov_b64 exec, s[10:11]\nv_mov_b32_e32 v1, 0\ns_sub_u32 s6, s6, 1\ns_cbranch_scc1 .b"
    )

    def test_a_register_that_is_always_written_first_may_differ(self) -> None:
        """EXEC is what s[10:11] keeps, so that the lanes are the same: the loop begins with it."""
        before = {**self.BEFORE, "b": "s_mov_b64 exec, s[10:11]\n" + self.BEFORE["b"]}
        assert judged("loop", before, {"b": "s_mov_b64 exec, s[10:11]\n" + self.AHEAD}) is Outcome.PROVED

    def test_a_register_that_an_earlier_round_wrote_may_not(self) -> None:
        late = self.AHEAD.replace("v_mov_b32_e32 v1, v7\n", "").replace("v_add_f32_e32 v6, v6, v1", "v_add_f32_e32 v6, v6, v7")
        late = late.replace("global_load_dword v7, v0, s[0:1]\n", "").replace(
            "v_mov_b32_e32 v1, 0", "global_load_dword v7, v0, s[0:1]\nv_mov_b32_e32 v1, 0"
        )
        assert not judged("loop", self.BEFORE, {"b": late}).is_success

    def test_a_register_that_another_window_writes_may_not(self) -> None:
        """The load before the loop is not the one of each round: its address may have changed."""
        edit = {
            "a": self.BEFORE["a"] + "\nglobal_load_dword v7, v2, s[0:1]",
            "b": self.AHEAD.replace("global_load_dword v7, v0, s[0:1]\n", ""),
        }
        assert not judged("loop", self.BEFORE, edit).is_success


class TestLoads:
    """A load in lanes, or at an address, where the original loads nothing could fault."""

    BEFORE: ClassVar = {
        "a": f"v_mov_b32_e32 v2, 0\nv_lshlrev_b32_e32 v3, 2, v0\n{BRANCH}",
        "b": "global_load_dword v2, v3, s[0:1]\ns_branch .d",
        "c": "v_mov_b32_e32 v2, 0",
        "d": STORE,
    }

    @pytest.mark.parametrize(
        ("block", "old", "new"),
        [
            ("a", "s_cmp_eq", "global_load_dword v9, v3, s[0:1]\ns_cmp_eq"),
            ("c", "v_mov_b32_e32 v2, 0", "global_load_dword v2, v3, s[0:1]\nv_mov_b32_e32 v2, 0"),
            ("b", "global_load", "global_load_dword v9, v3, s[0:1] offset:4\nglobal_load"),
        ],
        ids=["before the branch", "on the other way", "from elsewhere"],
    )
    def test_a_load_that_the_original_does_not_make_is_not_proved(self, block: str, old: str, new: str) -> None:
        assert not judged("diamond", self.BEFORE, {block: self.BEFORE[block].replace(old, new, 1)}).is_success

    def test_one_that_it_makes_may_be_made_twice(self) -> None:
        twice = "global_load_dword v9, v3, s[0:1]\n" + self.BEFORE["b"]
        assert judged("diamond", self.BEFORE, {"b": twice}) is Outcome.PROVED
