import json

import pytest
from typer.testing import CliRunner

from asmevo.cli.main import app
from asmevo.search.proposers import registry
from model_server import JUDGE, says, serving
from support import EXAMPLES

KEY = "sk-live-0123456789abcdefghij"
OBJECT, LAUNCH = EXAMPLES / "kernels" / "softmax.co", EXAMPLES / "launches" / "softmax.toml"


def run(*words):
    command = ["optimize", OBJECT, "--launch", LAUNCH, "--attempts", 2, "--quiet", *words]
    return CliRunner().invoke(app, list(map(str, command)))


@pytest.fixture
def alone(monkeypatch):
    """The model is the only proposer."""
    monkeypatch.setattr(registry, "available_proposers", lambda: ())
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def test_the_model_is_asked_recorded_and_replayed(tmp_path, alone):
    acts = [says("", ("propose_edit", {"text": "s_endpgm", "why": "shorter"})), JUDGE, says("done")]
    session, lineage = tmp_path / "session.jsonl", tmp_path / "runs"
    with serving(tmp_path, acts, KEY) as (url, log):
        first = run("--model", "scripted", "--base-url", url, "--record", session, "--lineage", lineage, "--format", "json")
        assert log.exists()
    assert first.exit_code == 1, first.output
    told = json.loads(first.stdout)["attempts"]
    assert [(a["proposer"], a["status"]) for a in told] == [("model", "illegal")] * 2
    second = run("--model", "scripted", "--replay", session, "--format", "json")
    assert json.loads(second.stdout)["attempts"] == told
    for result in (first, second):
        assert KEY not in result.output
    assert not [p for p in tmp_path.rglob("*") if p.is_file() and KEY.encode() in p.read_bytes()]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--model", "m", "--base-url", "https://models.example.com/v1"], "E0957"),
        (["--model", "m", "--base-url", "no address"], "E0956"),
        (["--model", "m", "--base-url", "http://127.0.0.1:1/v1", "--max-cost", "1"], "E0958"),
        (["--replay", "x.jsonl"], "E0208"),
        (["--model", "m", "--replay", "x.jsonl"], "E0955"),
        (["--model", "m", "--max-tokens", "0"], ""),
    ],
)
def test_wrong_options_are_told_before_any_work(monkeypatch, words, code):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    result = run(*words)
    assert result.exit_code == 2
    assert code in result.stderr


def test_without_a_model_none_is_asked_and_openai_not_loaded(alone):
    import sys

    before = "openai" in sys.modules
    run()
    assert ("openai" in sys.modules) == before
