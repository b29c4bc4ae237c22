from asmevo.ir.printer import print_instruction
from asmevo.search.drafting import drafted
from asmevo.search.llm import toolbox
from asmevo.search.llm.shorthand import written_out
from asmevo.search.proposal import Proposal
from llm_models import session


def written(text, start=0):
    view = session(6).view
    return view, written_out("L", start, text, view.instructions, view.names)


def test_marks_alone_are_spelled_and_what_is_kept_at_both_ends_left_out():
    view, _ = written("")
    uids = [i.uid for i in view.instructions]
    order = [uids[0], uids[2], uids[1], *uids[3:]]
    _, change = written("\n".join(f"  #{uid} " for uid in order), start=10)
    assert (change.start, change.stop) == (11, 13)
    swapped = [view.instructions[n] for n in (2, 1)]
    assert change.text.splitlines() == [f"#{i.uid} {print_instruction(i)}" for i in swapped]


def test_nothing_changed_is_an_empty_edit():
    view, _ = written("")
    _, change = written("\n".join(f"#{i.uid} {view.names.instruction(i)}" for i in view.instructions))
    assert (change.start, change.stop, change.text) == (6, 6, "")


def test_a_changed_and_a_new_line_stay_as_they_are_written():
    view, _ = written("")
    uids = [i.uid for i in view.instructions]
    _, change = written(f"#{uids[0]}\n#{uids[1]} s_and_b32 s14, s0, 0xff\nv_nop\n" + "\n".join(f"#{uid}" for uid in uids[2:]))
    assert (change.start, change.stop) == (1, 2)
    assert change.text == f"#{uids[1]} s_and_b32 s14, s0, 0xff\nv_nop"


def test_a_deletion_is_an_edit_without_lines():
    view, _ = written("")
    _, change = written("\n".join(f"#{i.uid}" for i in view.instructions[1:]))
    assert (change.start, change.stop, change.text) == (0, 1, "")


def test_marks_of_other_instructions_stay_for_the_gates_to_refuse():
    _, change = written("#1 s_endpgm")
    assert change.text == "#1 s_endpgm"
    tools = session(6)
    sketch = toolbox.call(tools, "propose_edit", {"text": "#1", "why": ""}).sketch
    draft = drafted(Proposal("x", "", sketch.change), tools.view.parent, tools.evaluator, 0.0)
    assert "#1 is no instruction of the window" in draft.reason
