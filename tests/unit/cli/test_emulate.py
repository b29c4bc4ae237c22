"""emulate: what it prints, saves and compares, and which options it refuses."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from asmevo.cli.main import app
from support import EXAMPLES

SOFTMAX, LAUNCH = EXAMPLES / "kernels" / "softmax.co", EXAMPLES / "launches" / "softmax.toml"


def run(*words):
    return CliRunner().invoke(app, ["emulate", str(SOFTMAX), "--launch", str(LAUNCH), *(str(word) for word in words)])


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_json_has_everything_asked_for():
    result = run(
        "--case", "one column", "--counts", "--memory", "--trace", "0x100:0x110", "--stop-at", "0x5a0", "--format", "json"
    )
    assert result.exit_code == 0
    (record,) = json.loads(result.stdout)
    assert record["launch"] == "one column"
    assert max(line["executions"] for line in record["counts"]) == 4
    assert {one["space"] for one in record["memory"]} == {"buffer", "lds"}
    assert record["trace"][0]["text"] == "v_readfirstlane_b32 s0, v0"
    assert (record["trace"][0]["read"][0]["name"], record["trace"][0]["written"][0]["name"]) == ("v0", "s0")
    stopped = record["stopped"]
    assert stopped["offset"] == 0x5A0
    assert len(next(r for r in stopped["registers"] if r["name"] == "v0")["values"]) == 64


def test_cases_are_chosen_and_saved_one_file_each(tmp_path):
    assert run("--case", "ragged", "--case", "one column", "--save", "out.npz").exit_code == 0
    assert np.load(tmp_path / "out.npz")["target"].view(np.float32).shape == (4 * 781,)
    assert np.load(tmp_path / "out-1.npz")["target"].view(np.float32).tolist() == [1, 1]


def test_expected_results_decide_the_exit_code(tmp_path):
    run("--case", "ragged", "--save", "out.npz")
    assert run("--case", "ragged", "--expect", "out.npz", "--seed", "5").exit_code == 0
    target = np.load(tmp_path / "out.npz")["target"].view(np.float32).copy()
    target[7] = np.nextafter(target[7], np.float32(2))
    np.savez(tmp_path / "out.npz", target=target)
    result = run("--case", "ragged", "--expect", "out.npz")
    assert result.exit_code == 1
    assert "1 of 3124 elements of target differ; element 7: expected " in result.stdout
    loose = LAUNCH.read_text().replace('role = "out" }', 'role = "out", compare = { ulps = 1 } }')
    (tmp_path / "l.toml").write_text(loose)
    words = ["emulate", str(SOFTMAX), "--launch", "l.toml", "--case", "ragged", "--expect", "out.npz"]
    assert CliRunner().invoke(app, words).exit_code == 0


def test_a_stopped_run_saves_nothing(tmp_path):
    result = run("--case", "ragged", "--stop-at", "0x100", "--save", "out.npz")
    assert result.exit_code == 0
    assert "stopped before +0x100" in result.stdout
    assert not (tmp_path / "out.npz").exists()


def test_a_place_that_no_wave_comes_to_is_said():
    # The first block is the one for hosts that do not preload arguments.
    result = run("--case", "ragged", "--stop-at", "0x0", "--mode", "fast")
    assert "ragged: 3312 wave-instructions, fast: clean" in result.stdout
    assert "no wave came to +0x0 1 time(s)" in result.stdout


def test_a_budget_is_a_fault():
    result = run("--case", "ragged", "--max-instructions", "10")
    assert result.exit_code == 1
    assert "budget" in result.stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--case", "rugged"), "no case is named 'rugged'"),
        (("--stop-at", "0x101"), "the nearest is at 0x100"),
        (("--stop-at", "main"), "--stop-at takes byte offsets, not 'main'"),
        (("--trace", "0x100"), "--trace takes START:END"),
        (("--trace", "5:5"), "--trace 5:5 is empty"),
        (("--trace", "-4:8"), "--trace takes byte offsets"),
        (("--workgroup", "1,2,3,4"), "--workgroup takes X,Y,Z"),
        (("--workgroup", "a"), "--workgroup takes X,Y,Z"),
        (("--mode", "slow"), "unknown mode 'slow'"),
        (("--case", "ragged", "--expect", "none.npz"), "cannot read 'none.npz'"),
    ],
)
def test_what_is_wrong_is_refused(words, told):
    result = run(*words)
    assert result.exit_code == 2
    assert told in result.stderr


def test_verify_takes_tolerances_only_when_asked(tmp_path):
    other = tmp_path / "other.co"
    changed = CliRunner().invoke(app, ["opt", str(SOFTMAX), "--passes", "list-schedule", "-o", str(other)])
    assert changed.exit_code == 0
    words = ["verify", str(SOFTMAX), str(other), "--launch", str(LAUNCH)]
    assert CliRunner().invoke(app, [*words, "--compare", "launch"]).exit_code == 0
    refused = CliRunner().invoke(app, [*words, "--compare", "roughly"])
    assert refused.exit_code == 2
    assert "unknown comparison rule 'roughly'" in refused.stderr
