"""Where results go: files, standard output, and what becomes of an interrupted run."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from asmevo.cli.main import app
from support import EXAMPLES

SOFTMAX, VECTOR_ADD = EXAMPLES / "kernels" / "softmax.co", EXAMPLES / "kernels" / "vector_add.co"
LAUNCH = EXAMPLES / "launches" / "softmax.toml"
BUNDLE = Path(__file__).parents[2] / "data" / "containers" / "zstd_v3.hipfb"


def run(*words: str | Path, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words], input=stdin)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_dash_is_standard_output() -> None:
    listing = run("disasm", SOFTMAX, "-o", "-")
    assert listing.stdout == run("disasm", SOFTMAX).stdout
    built = run("asm", "-", "--like", SOFTMAX, "-o", "-", stdin=listing.stdout.encode())
    assert built.stdout_bytes == SOFTMAX.read_bytes()
    assert run("analyze", SOFTMAX, "--format", "json", "-o", "-").stdout.startswith("{")
    assert os.listdir() == []


@pytest.mark.parametrize(
    "words",
    [
        ("opt", SOFTMAX, "-o", "-"),
        ("optimize", SOFTMAX, "--launch", LAUNCH, "-o", "-"),
        ("repack", BUNDLE, SOFTMAX, "-o", "-"),
    ],
)
def test_an_object_does_not_mix_with_a_verdict(words: tuple[str | Path, ...]) -> None:
    result = run(*words)
    assert result.exit_code == 2
    assert "error[E0208]: the result cannot go to standard output" in result.stderr
    assert os.listdir() == []


@pytest.mark.parametrize("output", ["nowhere/x", "."])
@pytest.mark.parametrize(
    "words",
    [
        ("disasm", SOFTMAX),
        ("asm", "k.s"),
        ("opt", SOFTMAX),
        ("optimize", SOFTMAX, "--launch", LAUNCH),
        ("analyze", SOFTMAX),
        ("repack", BUNDLE, SOFTMAX),
    ],
)
def test_an_output_that_cannot_be_written_is_refused(words: tuple[str | Path, ...], output: str) -> None:
    result = run(*words, "-o", output)
    assert result.exit_code == 2
    assert f"error[E0108]: cannot write '{output}'" in result.stderr


def test_emulate_refuses_a_place_for_buffers_before_it_runs() -> None:
    result = run("emulate", SOFTMAX, "--launch", LAUNCH, "--save", "nowhere/x.npz")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "error[E0108]" in result.stderr


def test_a_launch_that_is_missing_is_refused_even_when_nothing_is_to_be_run() -> None:
    result = run("verify", SOFTMAX, SOFTMAX, "--launch", "nosuch.toml")
    assert result.exit_code == 2
    assert "error[E0220]" in result.stderr
    result = run("opt", VECTOR_ADD, "--verify", "emulate", "--passes", "nop-trim")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "needs a launch" in result.stderr


def test_optimize_says_where_the_result_is(tmp_path: Path) -> None:
    words = ("optimize", SOFTMAX, "--launch", LAUNCH, "--attempts", "3")
    assert "not written: no -o was given" in run(*words).stderr
    assert "written: best.co and its evidence, best.co.evidence.json" in run(*words, "-o", "best.co").stderr
    assert sorted(os.listdir()) == ["best.co", "best.co.evidence.json"]


def test_members_of_standard_input() -> None:
    result = run("members", "-", stdin=BUNDLE.read_bytes())
    assert result.exit_code == 0
    assert "<stdin>!hipv4-amdgcn-amd-amdhsa--gfx942: code object for gfx942" in result.stdout


def test_opt_makes_an_object_of_a_source(tmp_path: Path) -> None:
    source, out = tmp_path / "k.s", tmp_path / "k.co"
    run("disasm", SOFTMAX, "-o", source)
    result = run("opt", source, "--passes", "list-schedule,nop-trim", "-o", out)
    assert result.exit_code == 0, result.output
    assert "verdict: proved" in result.stdout
    assert "softmax: " in run("info", out).stdout


def test_a_listing_is_a_source_of_its_own(tmp_path: Path) -> None:
    source = tmp_path / "k.s"
    run("disasm", SOFTMAX, "-o", source)
    assert run("opt", source, "--passes", "nop-trim", "--format", "concise").exit_code == 0
    assert run("analyze", source, "--format", "concise").exit_code == 0


def test_a_source_where_an_object_is_needed_names_the_command(tmp_path: Path) -> None:
    source = tmp_path / "k.s"
    source.write_text("s_endpgm\n")
    assert "`asmevo asm`" in run("info", source).stderr


def test_verify_names_the_kernels_that_do_not_go_together() -> None:
    result = run("verify", SOFTMAX, VECTOR_ADD)
    assert result.exit_code == 2
    assert "has 'softmax' and" in result.stderr
    assert "has 'vector_add'" in result.stderr


@pytest.mark.parametrize("command", ["analyze", "roundtrip"])
def test_an_interrupt_of_a_whole_process_group_ends_quickly_and_quietly(tmp_path: Path, command: str) -> None:
    for number in range(200):
        shutil.copy(EXAMPLES / "kernels" / "attention_fwd.co", tmp_path / f"{number}.co")
    words = [sys.executable, "-m", "asmevo", command, str(tmp_path), "--jobs", "2"]
    running = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    # Once its parts are running they import for a second or so, which is when an interrupt used to leave their tracebacks.
    children = Path(f"/proc/{running.pid}/task/{running.pid}/children")
    deadline = time.monotonic() + 60
    while len(children.read_text().split()) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    os.killpg(running.pid, signal.SIGINT)
    out, err = running.communicate(timeout=30)
    assert (running.returncode, out, err.strip()) == (130, "", "interrupted")
