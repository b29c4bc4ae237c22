"""The proof against windows of real kernels: legal edits are proved, and no mutant that the emulator tells apart."""

import random
from pathlib import Path

import pytest

from asmevo.verify.equivalence.concrete import WindowRunner
from asmevo.verify.equivalence.nearly import FLOAT_ORDER
from tools.equivalence import certified, explain
from tools.equivalence.contradict import told_apart
from tools.equivalence.experiment import Amounts
from tools.equivalence.mutants import mutant
from tools.equivalence.records import Record, read
from tools.equivalence.soundness import main, run
from tools.equivalence.summary import summary, table
from tools.equivalence.windows import CutWindow
from windows import live, window


def slice_of(windows: int, seed: int, amounts: Amounts, corpus: bool) -> list[Record]:
    return list(run(range(windows), seed, amounts, corpus=corpus))


def test_a_seeded_slice_holds() -> None:
    records = slice_of(8, 17, Amounts(edits=4, mutants=6, states=60), corpus=False)
    found = summary(records)
    assert found["windows"] == 8
    assert found["themselves"] == {"identical": 8}
    assert found["soundness errors"] == []
    assert found["unproved edits"] == []
    assert found["mutants"]["refuted"] > 0
    proved = [wrong for record in records for wrong in record["mutants"] if wrong["outcome"] == "proved"]
    assert all(wrong["reason"] and wrong["states"] in (0, 60) for wrong in proved)
    assert table(records).count("\n") >= 1 + bool(proved)
    assert found["refutations"]["confirmed"] == found["mutants"]["refuted"]


def test_states_tell_wrong_edits_apart_and_no_right_one() -> None:
    text = "v_add_u32_e32 v0, v1, v2\nds_write_b32 v3, v0\nds_read_b32 v4, v5"
    edits = [
        text.replace("v1, v2", "v2, v1"),
        text.replace("v1, v2", "v1, v1"),
        text.replace("v3, v0", "v3, v1"),
        text.replace("v3, v0", "v3, v0 offset:1"),
    ]
    cut = CutWindow("text", 0, "gfx942", tuple(window(text)), live("v0 v4"))
    runs = told_apart(cut, [tuple(window(edit)) for edit in edits], cut.live_out, 50)
    assert [run.differs is not None for run in runs] == [False, True, True, False]
    assert [run.ran for run in runs][::3] == [50, 0]


def test_a_refutation_is_counted_as_confirmed_by_a_run_only() -> None:
    refuted, unknown = {"outcome": "refuted", "kind": "a", "ms": 1}, {"outcome": "unknown", "kind": "a", "ms": 1}
    mutants = [
        *([refuted] * 3),
        {**unknown, "why": f"v0: {FLOAT_ORDER}"},
        {**unknown, "why": "v1: not proved, and 40 runs end the same"},
        {**unknown, "why": "s[2:3]: not proved, and 39 runs end the same"},
    ]
    found = summary([{"edits": [], "mutants": mutants, "size": 9, "itself": "identical", "window": "w"}])
    assert found["refutations"] == {
        "confirmed": 3,
        "not confirmed": 2,
        "confirmed %": 60.0,
        "of all that is not proved %": 50.0,
    }
    assert found["unknown mutants"] == {"not proved, and N runs end the same": 2, FLOAT_ORDER: 1}


def test_a_run_is_taken_up_where_it_stopped(tmp_path: Path) -> None:
    arguments = ["--edits", "1", "--mutants", "1", "--states", "2", "--seed", "4"]
    whole, parts = tmp_path / "whole.jsonl", tmp_path / "parts.jsonl"
    assert main([*arguments, "--windows", "3", "--output", str(whole)]) == 0
    assert main([*arguments, "--windows", "1", "--output", str(parts)]) == 0
    with parts.open("a") as file:
        file.write('{"index": 1, "cut off')
    assert main([*arguments, "--windows", "3", "--shard", "0/2", "--output", str(parts)]) == 0
    assert main([*arguments, "--windows", "3", "--output", str(parts)]) == 0

    def outcomes(path: Path) -> dict[int, object]:
        return {r["index"]: (r["window"], [w["outcome"] for w in r["edits"] + r["mutants"]]) for r in read(path)}

    assert outcomes(whole) == outcomes(parts)
    assert len(read(parts)) == 3


@pytest.mark.parametrize(
    ("before", "after", "needed", "why"),
    [
        ("s_nop 1\nv_mov_b32_e32 v0, v1", "v_mov_b32_e32 v0, v1", "v0", explain.TIMING),
        ("v_mov_b32_e32 v0, v1\nv_mov_b32_e32 v2, v3", "v_mov_b32_e32 v2, v3\nv_mov_b32_e32 v0, v1", "v0 v2", explain.ORDER),
        ("v_mov_b32_e32 v9, 1\nv_mov_b32_e32 v0, v1", "v_mov_b32_e32 v9, 2\nv_mov_b32_e32 v0, v1", "v0", explain.DEAD),
        ("v_mov_b32_e32 v0, v1", "v_mov_b32_e32 v0, v1\nv_mov_b32_e32 v0, v1", "v0", explain.REPEATED),
        ("v_add_u32_e32 v0, v1, v2", "v_add_u32_e32 v0, v2, v1", "v0", explain.SAME),
        ("v_mov_b32_e32 v0, v1", "v_mov_b32_e32 v2, v1\nv_mov_b32_e32 v0, v2", "v0", explain.NORMAL),
        ("s_cmp_eq_u32 s6, 0", "s_cmp_lt_u32 s6, 1", "scc", explain.SOLVER),
    ],
)
def test_a_proved_mutant_is_explained(before: str, after: str, needed: str, why: str) -> None:
    cut = CutWindow("text", 0, "gfx942", tuple(window(before)), live(needed))
    assert explain.reason(cut, tuple(window(after)), cut.live_out) == why


def test_certificates_of_rewritten_windows_are_confirmed() -> None:
    found = certified.summary(list(certified.run(range(6), 2, 60.0, None, corpus=False)))
    assert found["failures"] == []
    assert found["with queries"] > 0
    assert found["answers"]["z3: unsat"] == found["answers"]["cvc5: unsat"]


def test_a_solver_that_does_not_confirm_a_certificate_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certified, "ask", lambda solver, *_: ["unsat" if solver == "z3" else "unknown"])
    found = certified.summary(list(certified.run(range(3), 2, 60.0, None, corpus=False)))
    assert found["failures"]
    assert any("cvc5 does not confirm it: {'unknown': 1}" in failure for failure in found["failures"])


def test_certificates_are_taken_up_where_they_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ASMEVO_CORPUS", raising=False)
    file = tmp_path / "certified.jsonl"
    for windows in ("1", "2"):
        certified.main(["--windows", windows, "--seed", "2", "--timeout-s", "60", "--output", str(file)])
    assert [record["index"] for record in read(file)] == [0, 1]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_more_windows_hold(seed: int) -> None:
    records = slice_of(40, seed, Amounts(edits=7, mutants=20, states=1000), corpus=True)
    found = summary(records)
    assert found["soundness errors"] == []
    assert len(found["unproved edits"]) <= len(records) * 7 // 100


def test_every_mutant_is_made_of_instructions_that_exist() -> None:
    text = (
        "buffer_load_dword v1, s[4:7], 0 offen lds\n"
        "v_mfma_scale_f32_16x16x128_f8f6f4 a[0:3], v[4:7], v[8:11], a[0:3], v2, v3 op_sel_hi:[0,0,0] cbsz:4 blgp:4"
    )
    cut = CutWindow("text", 0, "gfx950", tuple(window(text)), live("a0-3"))
    source = random.Random(1)
    found = [wrong for _ in range(300) if (wrong := mutant(cut, source)) is not None]
    assert {"modifier dropped", "deleted", "modifier changed"} & {wrong.kind for wrong in found}
    for wrong in found:
        assert WindowRunner(wrong.window, "gfx950").problem is None
        assert all(i.modifier("lds") for i in wrong.window if i.mnemonic == "buffer_load_dword")
