from __future__ import annotations

import json
import time

import pytest

from asmevo.search.llm import transport
from asmevo.search.llm.transport import Limits, ServerModel
from asmevo.search.llm.wire import Request, ToolCall, Trouble, Turn, Usage, WireError
from model_server import CUT, DROP, FLOOD, STALL, TRICKLE, echo, raw, says, serving, status

KEY = "sk-test-0123456789abcdef"
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}
REQUEST = Request("scripted", (Turn("system", "be brief"), Turn("user", "go")), (("look", "Looks.", SCHEMA),), 500, seed=3)


def asked(tmp_path, acts, **options):
    with serving(tmp_path, acts, KEY) as (url, log):
        model = ServerModel(url, KEY, Limits(20.0, options.pop("stall_s", 20.0), options.pop("whole_s", 60.0)), **options)
        try:
            return model.ask(REQUEST), log.read_text()
        finally:
            model.close()


def trouble(tmp_path, act, **options):
    with pytest.raises(WireError) as caught:
        asked(tmp_path, [act], **options)
    error = caught.value
    assert KEY not in str(error)
    return error


@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.parametrize("stream", [True, False])
def test_text_and_calls_come_whole_over_each_protocol(tmp_path, api, stream):
    act = says("I look.", ("look", {"n": 7}), ("look", {"n": 8, "text": "v_add_f32 v0, v1, v2\n" * 20}))
    reply, log = asked(tmp_path, [act], api=api, stream=stream)
    assert reply.text.strip() == "I look."
    assert [(c.name, json.loads(c.arguments)["n"]) for c in reply.calls] == [("look", 7), ("look", 8)]
    assert len({c.id for c in reply.calls}) == 2
    assert reply.usage == Usage(1000, 100)
    told = json.loads(log)
    assert told["authorized"]
    assert KEY not in log
    assert told["path"] == ("/v1/chat/completions" if api == "chat" else "/v1/responses")


def test_a_conversation_is_sent_as_the_protocols_want_it(tmp_path):
    call = ToolCall("a", "look", '{"n":1}')
    turns = (*REQUEST.turns, Turn("assistant", "", (call,)), Turn("tool", '{"ok":1}', call="a"))
    for api in ("chat", "responses"):
        folder = tmp_path / api
        folder.mkdir()
        with serving(folder, [says("done")], KEY) as (url, log):
            ServerModel(url, KEY, Limits(), api=api).ask(Request("m", turns, REQUEST.tools, 500, 0.5))
            body = json.loads(log.read_text())["body"]
        assert body["temperature"] == 0.5
        if api == "chat":
            assert body["max_completion_tokens"] == 500
            assert body["messages"][2]["tool_calls"][0]["function"] == {"name": "look", "arguments": '{"n":1}'}
            assert body["messages"][3] == {"role": "tool", "tool_call_id": "a", "content": '{"ok":1}'}
        else:
            assert body["input"][2] == {"type": "function_call", "call_id": "a", "name": "look", "arguments": '{"n":1}'}
            assert body["input"][3] == {"type": "function_call_output", "call_id": "a", "output": '{"ok":1}'}
            assert body["store"] is False


def test_a_refusal_and_a_filter_are_told(tmp_path):
    reply, _ = asked(tmp_path, [says(refusal="I will not", finish="stop")])
    assert reply.refusal == "I will not"
    (tmp_path / "2").mkdir()
    assert asked(tmp_path / "2", [says("x", finish="content_filter")])[0].refusal


def test_a_reply_that_ran_out_of_tokens_is_told(tmp_path):
    assert asked(tmp_path, [says("x", finish="length")])[0].is_cut


@pytest.mark.parametrize(
    ("act", "expected", "seconds"),
    [
        (status(429, "slow down", {"Retry-After": "7"}), Trouble.RATE_LIMITED, 7.0),
        (status(429, "slow down", {"retry-after-ms": "1500"}), Trouble.RATE_LIMITED, 1.5),
        (status(429, "slow down", {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}), Trouble.RATE_LIMITED, 0.0),
        (status(429, "slow down", {"Retry-After": "soon"}), Trouble.RATE_LIMITED, None),
        (status(429, "pay", code="insufficient_quota"), Trouble.QUOTA, None),
        (status(500, "oops"), Trouble.SERVER, None),
        (status(503, "busy", {"Retry-After": "2"}), Trouble.SERVER, 2.0),
        (status(401, "who"), Trouble.KEY, None),
        (status(400, "no such thing"), Trouble.REQUEST, None),
        (status(404, "no model"), Trouble.REQUEST, None),
        (status(302, "elsewhere", {"Location": "http://example.com/"}), Trouble.REQUEST, None),
    ],
)
def test_http_errors_are_told_apart(tmp_path, act, expected, seconds):
    error = trouble(tmp_path, act)
    assert (error.trouble, error.retry_after_s) == (expected, seconds)


@pytest.mark.parametrize(
    ("act", "expected"),
    [
        (STALL, Trouble.TIMEOUT),
        (CUT, Trouble.CONNECTION),
        (DROP, Trouble.CONNECTION),
        (raw("data: {broken\n\n"), Trouble.MALFORMED),
        (raw("data: " + "[" * 100_000 + "\n\n"), Trouble.MALFORMED),
        (raw('data: {"choices": "none"}\n\n'), Trouble.MALFORMED),
        (raw('data: {"choices": [{"delta": {"content": 7}}]}\n\n'), Trouble.MALFORMED),
        (raw("data: 5\n\n"), Trouble.MALFORMED),
        (raw('data: {"choices": []}\n\ndata: [DONE]\n\n'), Trouble.MALFORMED),
        (raw("<html>a proxy</html>", "text/html"), Trouble.MALFORMED),
        (raw("data: x\n" * 5000 + "\n"), Trouble.MALFORMED),
        (raw("x", headers={"Content-Encoding": "gzip"}), Trouble.MALFORMED),
        (raw('data: {"error": {"message": "overloaded"}}\n\n'), Trouble.SERVER),
        (says("w" * 300_000), Trouble.TOO_LARGE),
        (says("", *[("look", "x" * 30_000)] * 9), Trouble.TOO_LARGE),
    ],
)
def test_broken_replies_are_told_apart(tmp_path, act, expected):
    assert trouble(tmp_path, act, stall_s=1.0 if act is STALL else 20.0).trouble is expected


def test_a_reply_without_an_end_is_cut_by_size_and_by_time(tmp_path, monkeypatch):
    monkeypatch.setattr(transport, "MAX_BYTES", 1 << 20)
    assert trouble(tmp_path, FLOOD).trouble is Trouble.TOO_LARGE
    started = time.monotonic()
    (tmp_path / "2").mkdir()
    assert trouble(tmp_path / "2", TRICKLE, whole_s=1.0).trouble is Trouble.TIMEOUT
    assert time.monotonic() - started < 25


def test_halves_of_characters_are_replaced(tmp_path):
    act = raw('data: {"choices": [{"delta": {"content": "a\\ud800b"}, "finish_reason": "stop"}]}\n\n')
    reply, _ = asked(tmp_path, [act])
    assert reply.text.encode() == b"a?b"


def test_a_request_ends_with_the_time_that_is_left(tmp_path):
    with serving(tmp_path, [TRICKLE], KEY) as (url, _):
        model = ServerModel(url, KEY, Limits(20.0, 20.0, 60.0))
        started = time.monotonic()
        with pytest.raises(WireError, match="as a whole"):
            model.ask(REQUEST, 0.5)
        assert time.monotonic() - started < 25


def test_nobody_there_is_a_connection_trouble():
    with pytest.raises(WireError, match="connection"):
        ServerModel("http://127.0.0.1:9/v1", KEY, Limits(1.0)).ask(REQUEST)


def test_a_key_that_a_server_repeats_is_taken_out(tmp_path):
    error = trouble(tmp_path, echo(401))
    assert error.trouble is Trouble.KEY
    assert "[key]" in error.detail
    (tmp_path / "2").mkdir()
    reply, _ = asked(tmp_path / "2", [says(f"your key is {KEY}", (KEY, {"n": KEY}))])
    assert KEY not in repr(reply)


def test_the_key_is_not_in_what_is_shown_of_the_model():
    model = ServerModel("http://127.0.0.1:9/v1", KEY, Limits())
    assert KEY not in repr(model)
    assert KEY not in repr(vars(model))
