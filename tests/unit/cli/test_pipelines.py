"""What `opt` shows of a pipeline, what it does when a pass is wrong, and `reduce`: with passes that fail on purpose."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest
from typer.testing import CliRunner

from asmevo.cli.main import app
from asmevo.passes import registry
from asmevo.passes.registry import available_passes

SOURCE = """
k:
  s_mov_b32 s9, 3
  s_waitcnt lgkmcnt(0)
  v_add_f32_e32 v1, v2, v3
  v_mul_f32_e32 v4, v1, v3
  s_nop 3
  v_add_f32_e32 v6, v2, v2
  s_cbranch_scc1 end
more:
  v_sub_f32_e32 v4, v4, v2
end:
  global_store_dword v0, v4, s[2:3]
  s_endpgm
"""


@dataclass(frozen=True, slots=True)
class Wrong:
    """Takes the first multiplication out.

    Rewrite: v_mul --> nothing. Legality: none. Preserves: nothing.
    """

    name: ClassVar[str] = "wrong"

    def run(self, kernel, ctx):
        for i in kernel.instructions():
            if i.mnemonic.startswith("v_mul"):
                ctx.rewriter.erase(i.uid)
                break
        return ctx.finish()


@dataclass(frozen=True, slots=True)
class Broken:
    """Fails where there is a subtraction.

    Rewrite: none. Legality: none. Preserves: all.
    """

    name: ClassVar[str] = "broken"

    def run(self, kernel, ctx):
        if any(i.mnemonic.startswith("v_sub") for i in kernel.instructions()):
            raise RuntimeError("a subtraction")
        return ctx.finish()


@pytest.fixture(autouse=True)
def _passes(monkeypatch):
    known = available_passes() | {"wrong": Wrong, "broken": Broken}
    monkeypatch.setattr(registry, "available_passes", lambda: known)


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "k.s"
    path.write_text(SOURCE)
    return path


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_print_after_shows_the_assembly_after_that_pass_only(source):
    found = run("opt", source, "--passes", "waitcnt-relax,nop-trim,dce", "--print-after", "nop-trim", "--verify", "static")
    assert found.exit_code == 0
    shown, _, result = found.stdout.partition("s_endpgm")
    assert shown.startswith("; after nop-trim\n")
    assert "v6" in shown
    assert "s_nop" not in shown
    assert "; after" not in result
    assert "v6" not in result


def test_print_after_a_pass_that_does_not_run_is_refused(source):
    found = run("opt", source, "--passes", "nop-trim", "--print-after", "dce", "--verify", "static")
    assert found.exit_code == 2
    assert "error[E0208]: --print-after dce" in found.stderr


def test_print_after_change_leaves_idle_passes_out(source):
    found = run("opt", source, "--passes", "nop-trim,nop-trim,dce", "--print-after-change", "--verify", "static")
    assert [line for line in found.stdout.splitlines() if line.startswith("; after")] == ["; after nop-trim", "; after dce"]


def test_stats_timing_and_remarks_go_to_standard_error(source):
    found = run("opt", source, "--passes", "nop-trim,dce", "--stats", "--timing", "--verify", "static")
    assert "nop-trim: {'wait states removed': 4}" in found.stderr
    assert "dce: {'instructions removed': 2}" in found.stderr
    assert found.stderr.count(" ms\n") == 2
    assert "removed" not in found.stdout


@pytest.mark.parametrize(("count", "nops", "dead"), [(0, 1, 2), (1, 0, 2), (2, 0, 0)])
def test_stop_after_runs_the_first_passes(source, count, nops, dead):
    found = run("opt", source, "--passes", "nop-trim,dce", "--stop-after", count, "--verify", "static")
    assert found.exit_code == 0
    assert found.stdout.count("s_nop") == nops
    assert found.stdout.count("v6") + found.stdout.count("s9") == dead


def test_bisect_names_the_pass_whose_result_is_refused(source, tmp_path):
    repeated = tmp_path / "bad.s"
    words = ("--passes", "waitcnt-relax,nop-trim,wrong,dce", "--verify", "smt", "--bisect", "--reproducer", repeated)
    found = run("opt", source, *words)
    assert found.exit_code == 1
    assert "bisect: the first result that is refused is that of pass 3, wrong" in found.stderr
    text = repeated.read_text()
    assert text.startswith('; asmevo opt THIS_FILE --passes "wrong" --verify smt\n')
    assert "s_nop" not in text
    again = run("opt", repeated, "--passes", "wrong", "--verify", "smt")
    assert again.exit_code == 1


def test_nothing_is_bisected_or_written_when_the_result_is_accepted(source, tmp_path):
    repeated = tmp_path / "bad.s"
    found = run("opt", source, "--passes", "nop-trim", "--verify", "smt", "--bisect", "--reproducer", repeated)
    assert found.exit_code == 0
    assert "bisect" not in found.stderr
    assert not repeated.exists()


def test_a_pass_that_fails_leaves_a_reproducer(source, tmp_path):
    repeated = tmp_path / "bad.s"
    found = run("opt", source, "--passes", "nop-trim,broken,dce", "--verify", "static", "--reproducer", repeated)
    assert found.exit_code == 70
    text = repeated.read_text()
    assert text.startswith('; asmevo opt THIS_FILE --passes "broken" --verify static\n')
    assert "s_nop" not in text


def body_of(path: Path) -> list[str]:
    lines = [line.strip() for line in path.read_text().splitlines()]
    return [line for line in lines[1:] if line and not line.startswith(".") and not line.endswith(":")]


def test_reduce_keeps_what_the_refusal_needs(source, tmp_path):
    small = tmp_path / "small.s"
    found = run("reduce", source, "--passes", "dce,wrong", "--verify", "smt", "-o", small)
    assert found.exit_code == 0
    assert "failure: refuted by emulator" in found.stdout
    assert body_of(small) == ["v_mul_f32_e32 v4, v1, v3", "s_cbranch_scc1 end", "global_store_dword v0, v4, s[2:3]", "s_endpgm"]
    assert small.read_text().startswith('; asmevo opt THIS_FILE --passes "dce,wrong" --verify smt\n')
    assert run("opt", small, "--passes", "dce,wrong", "--verify", "smt").exit_code == 1


def test_reduce_follows_a_pass_that_fails(source, tmp_path):
    small = tmp_path / "small.s"
    found = run("reduce", source, "--passes", "nop-trim,broken", "-o", small)
    assert found.exit_code == 0
    assert "failure: bug RuntimeError" in found.stdout
    assert body_of(small) == ["s_cbranch_scc1 end", "v_sub_f32_e32 v4, v4, v2", "s_endpgm"]


def test_reduce_has_nothing_to_do_for_a_sound_pipeline(source, tmp_path):
    found = run("reduce", source, "--passes", "nop-trim", "-o", tmp_path / "small.s")
    assert found.exit_code == 1
    assert "nothing to reduce" in found.stderr
    assert not (tmp_path / "small.s").exists()


def test_reduce_says_when_its_trials_ran_out(source, tmp_path):
    found = run("reduce", source, "--passes", "broken", "-o", tmp_path / "small.s", "--attempts", 1)
    assert found.exit_code == 0
    assert "--attempts allows more" in found.stderr


def test_reduce_refuses_levels_that_judge_nothing(source, tmp_path):
    for level in ("none", "emulate"):
        found = run("reduce", source, "--passes", "broken", "-o", tmp_path / "small.s", "--verify", level)
        assert found.exit_code == 2
        assert "error[E0208]" in found.stderr


def test_a_refused_pass_is_left_out_and_the_others_are_kept(source):
    found = run("opt", source, "--passes", "waitcnt-relax,nop-trim,wrong,dce", "--verify", "smt", "--drop")
    assert found.exit_code == 0
    assert "left out: pass 3, wrong: refuted: " in found.stderr
    assert "s_nop" not in found.stdout
    assert "v6" not in found.stdout
    assert "v_mul_f32" in found.stdout


def test_passes_are_left_out_by_default_only_where_a_preset_is_named(source):
    assert run("opt", source, "--passes", "wrong,nop-trim", "--verify", "smt").exit_code == 1
    assert run("opt", source, "--passes", "wrong,O1", "--verify", "smt", "--no-drop").exit_code == 1
    found = run("opt", source, "--passes", "wrong,O1", "--verify", "smt")
    assert found.exit_code == 0
    assert "left out: pass 1, wrong" in found.stderr
