"""asmevo bench --model: text, JSON, timelines, comparison, and refusals."""

import json

import pytest
from typer.testing import CliRunner

from asmevo.cli.main import app
from support import EXAMPLES

SOFTMAX = EXAMPLES / "kernels" / "softmax.co"
LAUNCH = EXAMPLES / "launches" / "softmax.toml"
COMMON = ("--launch", LAUNCH, "--case", "one column")


def bench(*words):
    return CliRunner().invoke(app, ["bench", *(str(word) for word in words)])


def test_it_says_that_nothing_was_measured():
    result = bench("--model", SOFTMAX, *COMMON)
    assert result.exit_code == 0
    assert "modelled on MI300X; nothing was measured" in result.stdout
    assert "work-group" in result.stdout
    assert "waves wait, % of their time:" in result.stdout
    assert "matrix units" in result.stdout


def test_json_has_stalls_by_instruction_and_cause():
    result = bench("--model", SOFTMAX, *COMMON, "--format", "json", "--chip", "mi308x", "--memory", "hbm")
    report = json.loads(result.stdout)
    assert report["modelled"] is True
    (launch,) = report["objects"][0]["launches"]
    assert launch["chip"] == "MI308X"
    assert launch["modelled"] is True
    totals = {}
    for instruction in launch["instructions"]:
        for cause, cycles in instruction["stalls"].items():
            totals[cause] = totals.get(cause, 0) + cycles
    assert totals == launch["stalls_by_cause"]
    assert sum(i["executions"] for i in launch["instructions"]) == launch["wave_instructions_simulated"]
    assert any("HBM" in note for note in launch["notes"])


def test_the_same_object_is_not_slower_than_itself():
    result = bench("--model", SOFTMAX, SOFTMAX, *COMMON, "--max-slowdown", "0")
    assert result.exit_code == 0
    assert "(+0.0 %)" in result.stdout


def test_a_slower_second_object_is_the_answer_no(tmp_path, monkeypatch):
    from asmevo.cli import timing

    monkeypatch.setattr(timing, "_slowdown", lambda found: 3.0)
    assert bench("--model", SOFTMAX, SOFTMAX, *COMMON, "--max-slowdown", "2").exit_code == 1
    assert bench("--model", SOFTMAX, SOFTMAX, *COMMON, "--max-slowdown", "4").exit_code == 0


def test_a_chrome_trace_has_every_issue_of_the_window(tmp_path):
    path = tmp_path / "trace.json"
    assert bench("--model", SOFTMAX, *COMMON, "--timeline", path, "--window", "5:25").exit_code == 0
    trace = json.loads(path.read_text())
    issues = [e for e in trace["traceEvents"] if e["ph"] == "X" and e["cat"] != "wait"]
    assert len(issues) == 20
    assert {e["ph"] for e in trace["traceEvents"]} == {"M", "X"}
    assert all(e["dur"] > 0 and isinstance(e["ts"], int) and e["args"]["at"].startswith("+0x") for e in issues)
    assert trace["otherData"]["modelled"] == "true"
    names = [e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "process_name"]
    assert len(names) == 1
    assert names[0].endswith("modelled")


def test_a_text_timeline_has_a_line_an_issue(tmp_path):
    path = tmp_path / "trace.txt"
    assert bench("--model", SOFTMAX, *COMMON, "--timeline", path, "--window", "0:30").exit_code == 0
    lines = path.read_text().splitlines()
    assert len(lines) == 32
    assert "modelled on MI300X" in lines[0]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ((SOFTMAX,), "E0208"),
        ((SOFTMAX, *COMMON, "--chip", "mi300x"), "E0208"),
        (("--model", SOFTMAX), "E0208"),
        (("--model", SOFTMAX, "--launch", LAUNCH, "--case", "none"), "E0208"),
        (("--model", SOFTMAX, *COMMON, "--chip", "mi100"), "E0236"),
        (("--model", SOFTMAX, *COMMON, "--memory", "disk"), "E0230"),
        (("--model", SOFTMAX, *COMMON, "--timeline", "/dev/null/x", "--window", "1:2"), "E0108"),
        (("--model", SOFTMAX, *COMMON, "--timeline", "-"), "E0208"),
        (("--model", SOFTMAX, *COMMON, "--timeline", "x.json", "--window", "5:5"), "E0208"),
        (("--model", SOFTMAX, *COMMON, "--timeline", "x.json", "--window", "a:5"), "E0208"),
    ],
)
def test_bad_options_are_refused(words, code):
    result = bench(*words)
    assert result.exit_code == 2
    assert f"error[{code}]" in result.stderr
