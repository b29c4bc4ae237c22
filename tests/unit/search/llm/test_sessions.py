import json
from dataclasses import replace

import pytest

from asmevo.diagnostics import DiagnosticError
from asmevo.search.llm.sessions import RecordingModel, ReplayedModel
from asmevo.search.llm.wire import Request, ToolCall, Trouble, Turn, WireError
from llm_models import Scripted, reply

FIRST = Request("m", (Turn("system", "s"), Turn("user", "go")), (("look", "Looks.", {"type": "object"}),), 500, seed=1)
CALLED = Turn("assistant", "", (ToolCall("a", "look", "{}"),))
SECOND = replace(FIRST, turns=(*FIRST.turns, CALLED, Turn("tool", "1", call="a")))
OOPS = WireError(Trouble.SERVER, "oops", retry_after_s=1.0)
REPLIES = [reply("I look.", ("look", {"n": 1}), seconds=0.25), OOPS, reply("done")]


@pytest.fixture
def recorded(tmp_path):
    path = tmp_path / "session.jsonl"
    model = RecordingModel(Scripted(REPLIES), path, {"model": "m"})
    model.ask(FIRST)
    with pytest.raises(WireError):
        model.ask(SECOND)
    model.ask(SECOND)
    model.close()
    return path


def test_a_recording_answers_as_the_model_did(recorded):
    again = ReplayedModel(recorded)
    assert again.head["model"] == "m"
    assert again.ask(FIRST) == REPLIES[0]
    with pytest.raises(WireError) as caught:
        again.ask(SECOND)
    assert caught.value.to_data() == REPLIES[1].to_data()
    assert again.ask(SECOND) == REPLIES[2]


def test_only_new_turns_are_written(recorded):
    lines = [json.loads(line) for line in recorded.read_text().splitlines()]
    assert [(line["kept"], len(line["turns"])) for line in lines[1:]] == [(0, 2), (2, 2), (4, 0)]
    assert ["tools" in line for line in lines[1:]] == [True, False, False]


def refused(call, *arguments):
    with pytest.raises(DiagnosticError) as caught:
        call(*arguments)
    assert caught.value.diagnostics[0].code == "E0955"
    return caught.value.diagnostics[0].message


def test_another_question_is_refused(recorded):
    assert "not the one" in refused(ReplayedModel(recorded).ask, SECOND)


def test_a_recording_that_was_cut_off_ends_there(recorded):
    text = recorded.read_text()
    recorded.write_text(text[:-30])
    again = ReplayedModel(recorded)
    again.ask(FIRST)
    with pytest.raises(WireError):
        again.ask(SECOND)
    assert "ends before request 3" in refused(again.ask, SECOND)


@pytest.mark.parametrize("text", ["", "{}\n", "[1]\n", "nonsense\n", '{"asmevo-session": 99}\n', "[" * 100_000 + "\n"])
def test_what_is_no_recording_is_refused(tmp_path, text):
    path = tmp_path / "x.jsonl"
    path.write_text(text)
    refused(ReplayedModel, path)


@pytest.mark.parametrize("body", ["{}", '{"reply": {}}', '{"reply": 5}', '{"error": {"trouble": "?"}}'])
def test_a_line_that_is_damaged_is_refused(tmp_path, body):
    path = tmp_path / "x.jsonl"
    line = json.loads(body) | {"request": FIRST.sha256}
    path.write_text('{"asmevo-session": 1}\n' + json.dumps(line) + "\n")
    refused(ReplayedModel(path).ask, FIRST)


def test_a_recording_is_never_written_over(recorded):
    refused(RecordingModel, Scripted(REPLIES), recorded, {})
    refused(RecordingModel, Scripted(REPLIES), recorded.parent / "none" / "x", {})
    refused(ReplayedModel, recorded.parent / "gone")
