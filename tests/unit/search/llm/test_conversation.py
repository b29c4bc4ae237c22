import json

from asmevo.search.llm.conversation import Conversation
from llm_models import reply


def filled(rounds, size=2000):
    made = Conversation("system", "opening")
    for number in range(rounds):
        calls = ("read_window", {"first": number}), ("propose_edit", {"text": "x" * size})
        made.replied(reply(f"thought {number}", *calls), ["a" * size, "b"])
    return made


def size_of(conversation):
    return sum(len(t.text) + sum(len(c.arguments) for c in t.calls) for t in conversation.turns())


def check_form(conversation):
    turns = conversation.turns()
    assert [t.role for t in turns[:2]] == ["system", "user"]
    waiting = []
    for turn in turns[2:]:
        if turn.role == "tool":
            assert turn.call == waiting.pop(0)
            continue
        assert not waiting
        waiting = [call.id for call in turn.calls]
        for call in turn.calls:
            assert isinstance(json.loads(call.arguments), dict)
    assert not waiting


def test_nothing_is_left_out_while_it_fits():
    conversation = filled(4)
    before = conversation.turns()
    conversation.compact(100_000)
    assert conversation.turns() == before


def test_old_answers_are_left_out_first_and_calls_keep_theirs():
    conversation = filled(12)
    conversation.compact(40_000)
    check_form(conversation)
    assert size_of(conversation) <= 20_000
    assert conversation.left_out == 0
    assert "x" * 2000 in conversation.turns()[-3].calls[1].arguments


def test_then_whole_rounds_go_and_that_is_said():
    conversation = filled(200, size=300)
    conversation.compact(20_000)
    check_form(conversation)
    assert size_of(conversation) <= 20_000
    assert conversation.left_out
    assert f"{conversation.left_out} earlier rounds" in conversation.turns()[1].text


def test_arguments_that_are_no_object_are_not_sent_back():
    conversation = Conversation("s", "o")
    conversation.replied(reply("", ("look", "{broken"), ("look", "[" * 100_000), ("look", "[1]")), ["1", "2", "3"])
    check_form(conversation)


def test_a_huge_reply_does_not_fill_the_context():
    conversation = Conversation("s", "o")
    conversation.replied(reply("y" * 150_000, ("look", '{"a": "' + "x" * 100_000 + '"}')), ["1"])
    check_form(conversation)
    assert size_of(conversation) < 30_000


def test_a_reply_without_anything_is_still_a_message():
    conversation = Conversation("s", "o")
    conversation.replied(reply(""), [])
    assert conversation.turns()[-1].text
