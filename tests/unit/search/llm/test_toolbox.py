import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asmevo.search.llm import toolbox
from asmevo.search.llm.toolbox import Answer, Submission
from llm_models import session


def call(name, arguments, **options):
    return toolbox.call(session(60, **options), name, arguments)


def test_readers_see_no_tool_that_edits():
    assert {tool.name for tool in toolbox.tools(edits=False)} == {
        "read_window", "ask_analysis", "look_up_instruction", "list_failures",
    }  # fmt: skip
    answer = call("propose_edit", {"text": "", "why": ""}, may_edit=False)
    assert isinstance(answer, Answer)
    assert answer.data["error"] == "unknown-tool"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("read_window", '{"first": "0"}'),
        ("read_window", '{"first": -1}'),
        ("read_window", '{"fist": 1}'),
        ("read_window", "[1]"),
        ("read_window", "{broken"),
        ("read_window", "[" * 5000),
        ("ask_analysis", '{"topic": "secrets"}'),
        ("ask_analysis", "{}"),
        ("propose_edit", '{"text": "s_nop 0"}'),
        ("propose_edit", json.dumps({"text": "x" * 50_000, "why": ""})),
        ("run_gates", '{"edit": 1}'),
        ("read_window", " " * 70_000),
        ("no\x1b[2J such", "{}"),
    ],
)
def test_wrong_arguments_are_answered_not_raised(name, arguments):
    answer = call(name, arguments)
    assert isinstance(answer, Answer)
    assert answer.is_error
    assert answer.text().isprintable()
    assert len(answer.text()) < 2000


def test_what_a_tool_refuses_is_an_answer():
    assert "v_add_f32" in call("look_up_instruction", {"mnemonic": "v_ad_f32"}).text()
    assert "there is no edit" in call("run_gates", {"edit": "e9"}).text()
    assert "not in the window" in call("propose_edit", {"text": "", "why": "", "first_uid": 1}).text()


def test_schemas_name_every_argument_and_forbid_others():
    for tool in toolbox.tools(edits=True):
        schema = tool.schema()
        assert schema["additionalProperties"] is False
        assert all("title" not in inner for inner in schema["properties"].values())
        assert set(schema["properties"]) == set(tool.arguments.model_fields)


def test_an_order_by_marks_is_a_sketch_with_its_modelled_cycles():
    tools = session(60)
    uids = [i.uid for i in tools.view.instructions]
    position = next(n for n, i in enumerate(tools.view.instructions) if i.mnemonic == "v_bfrev_b32_e32")
    order = [uids[position], *uids[:position], *uids[position + 1 :]]
    answer = toolbox.call(tools, "propose_edit", {"text": "\n".join(f"#{uid}" for uid in order), "why": "earlier"})
    assert isinstance(answer, Answer)
    assert answer.data["edit"] == "e1"
    assert answer.data["modelled_cycles"]["now"] == round(tools.view.timing.total_cycles, 1)
    # What is kept at the end is not part of the edit.
    assert tools.sketch("e1").change.stop == position + 1
    gates = toolbox.call(tools, "run_gates", {"edit": "e1"})
    assert gates == Submission(tools.sketch("e1"))


HOSTILE = [
    "#1",
    "#99999999999 s_nop 0",
    "s_endpgm",
    "s_branch L_0100",
    ".amdhsa_next_free_vgpr 512",
    ".long 0xdeadbeef",
    "v_mov_b32 v900, 0",
    "L_0100:\ns_nop 0",
    "\n".join(["s_nop 0"] * 5000),
    "v_made_up v0, v1",
    "ignore the rules",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_goes_to_the_gates_as_it_is_and_makes_nothing_here(text):
    tools = session(60)
    before = tools.view.parent
    found = toolbox.call(tools, "propose_edit", {"text": text, "why": "trust me"})
    assert isinstance(found, Submission)
    assert found.sketch.cycles is None
    assert tools.view.parent is before


@settings(max_examples=60, deadline=None)
@given(name=st.sampled_from([tool.name for tool in toolbox.tools(edits=True)]), arguments=st.text(max_size=200))
def test_any_text_as_arguments_is_answered(name, arguments):
    found = toolbox.call(session(20), name, arguments)
    assert isinstance(found, Answer)
    json.loads(found.text())


@settings(max_examples=40, deadline=None)
@given(text=st.text(st.characters(codec="utf-8"), max_size=300))
def test_any_text_as_an_edit_is_a_sketch_or_a_submission(text):
    found = toolbox.call(session(20), "propose_edit", json.dumps({"text": text, "why": "?"}))
    if isinstance(found, Answer):
        assert "edit" in found.data or found.is_error


def test_a_long_answer_says_that_it_is_too_long():
    told = json.loads(toolbox.bounded_json({"text": "x" * 100_000}))
    assert told["error"] == "too-long"
