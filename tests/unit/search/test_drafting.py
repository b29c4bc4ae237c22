"""What gets past the first gates, and what each of them refuses."""

from dataclasses import replace

import pytest

from asmevo.backend.timing import estimate
from asmevo.frontend.parser import parse_source
from asmevo.ir.instruction import Instruction
from asmevo.ir.isa import lookup
from asmevo.ir.printer import print_instruction
from asmevo.search.drafting import GROWTH, NOTES_LIMIT, TEXT_LIMIT, drafted
from asmevo.search.evaluation import Evaluator
from asmevo.search.profile import Profile
from asmevo.search.proposal import Proposal, WindowText
from asmevo.search.records import Gate, Status

PARENT = parse_source("""
k:
  v_mov_b32_e32 v9, v1
  global_load_dword v2, v1, s[2:3]
  v_mul_f32_e32 v4, v1, v1
  s_waitcnt vmcnt(0)
  v_add_f32_e32 v4, v2, v4
  s_cbranch_scc1 k
end:
  s_nop 0
  s_endpgm
""")
K = PARENT.block("k").instructions


def draft(change, bar=1e9, **fields):
    return drafted(Proposal("test", "does it", change, **fields), PARENT, evaluator(), bar)


def evaluator():
    executions = {i.uid: 4 for i in PARENT.instructions()}
    profile = Profile(executions, 1, 1, estimate(PARENT, executions), {"k": 4, "end": 4})
    return Evaluator(PARENT, profile, (), lambda before, after: None)


def text(*lines, start=0, stop=5, label="k"):
    return draft(WindowText(label, start, stop, "\n".join(lines)))


def named(*places):
    return [f"#{K[n].uid} {print_instruction(K[n])}" for n in places]


def test_named_and_unnamed_lines_keep_what_is_known_of_an_instruction():
    for lines in (named(1, 0, 2, 3, 4), [line.partition(" ")[2] for line in named(1, 0, 2, 3, 4)]):
        made = text("; a comment", "", *lines, "// another")
        assert made.status is None
        assert made.edit["blocks"]["k"] == [K[n].uid for n in (1, 0, 2, 3, 4, 5)]
        assert made.measured.cycles > 0


def test_an_edited_line_keeps_the_number():
    made = text(*named(0, 1, 2), f"#{K[3].uid} s_waitcnt vmcnt(1)", *named(4))
    assert made.edit["blocks"]["k"][3] == [K[3].uid, "s_waitcnt vmcnt(1)"]


def test_an_unnamed_line_does_not_take_the_number_that_another_names():
    twice = "v_mul_f32_e32 v4, v1, v1"
    made = text(twice, *named(0, 1, 2, 3, 4))
    assert made.status is None
    assert [entry for entry in made.edit["blocks"]["k"] if isinstance(entry, int)] == [i.uid for i in K]


def test_the_same_again_is_no_change():
    assert text(*named(0, 1, 2, 3, 4)).status is Status.NO_CHANGE


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (["garbage \x00 \x1b[31m"], Status.MALFORMED),
        (["v_add_f32_e32 v4"], Status.MALFORMED),
        (["#99 s_nop 0"], Status.MALFORMED),
        (["#x s_nop 0"], Status.MALFORMED),
        (["#" + "9" * 5000 + " s_nop 0"], Status.MALFORMED),
        ([*named(0), *named(0)], Status.MALFORMED),
        (["s_nop 0"] * (10 + GROWTH + 1), Status.MALFORMED),
        (["v_mov_b32_e32 v1, (" * 400], Status.MALFORMED),
        (["k:"], Status.MALFORMED),
        ([".long 0xbf810000"], Status.ILLEGAL),
        (["s_branch k", *named(0)], Status.ILLEGAL),
        (["s_endpgm", *named(0)], Status.ILLEGAL),
        (["s_setpc_b64 s[0:1]"], Status.ILLEGAL),
        (["v_mov_b32_e32 v300, v1"], Status.MALFORMED),
        (["v_mov_b64_e32 v[3:5], v[2:3]"], Status.ILLEGAL),
    ],
)
def test_text_that_is_refused(lines, status):
    made = text(*lines)
    assert made.status is status
    assert made.gate in (Gate.FORM, Gate.LEGALITY)
    assert made.edit is None
    assert made.measured is None


def test_too_much_text_is_refused_before_it_is_read():
    made = draft(WindowText("k", 0, 5, "s_nop 0\n" * (TEXT_LIMIT // 8 + 1)))
    assert (made.status, made.gate) == (Status.MALFORMED, Gate.FORM)


@pytest.mark.parametrize("window", [("elsewhere", 0, 1), ("k", -1, 2), ("k", 3, 2), ("k", 0, 99)])
def test_windows_that_are_none(window):
    assert draft(WindowText(*window, "s_nop 0")).status is Status.ILLEGAL


def test_the_branch_at_the_end_stays():
    assert text(*named(0, 1, 2, 3, 4), start=0, stop=6).status is Status.ILLEGAL


def test_a_kernel_made_by_hand_gets_no_further_than_its_text():
    forged = Instruction("v_mov_b32_e32", K[0].operands, definition=lookup("s_nop"), encoding=b"\xff" * 4, uid=99)
    kernel = replace(PARENT, blocks=(replace(PARENT.blocks[0], instructions=(forged, *K[1:])), PARENT.blocks[1]))
    made = draft(kernel)
    assert made.edit["blocks"]["k"][0] == [99, print_instruction(forged)]


@pytest.mark.parametrize(
    "kernel",
    [
        replace(PARENT, blocks=PARENT.blocks[:1]),
        replace(PARENT, blocks=(replace(PARENT.blocks[0], instructions=(K[0], *K)), PARENT.blocks[1])),
        replace(PARENT, blocks=(replace(PARENT.blocks[0], instructions=K[:-1]), PARENT.blocks[1])),
        replace(PARENT, blocks=(replace(PARENT.blocks[0], label="other"), PARENT.blocks[1])),
        replace(PARENT, name="other", roots=("end",)),
    ],
)
def test_kernels_of_another_structure(kernel):
    made = draft(kernel)
    assert made.status in (Status.ILLEGAL, Status.NO_CHANGE)
    assert made.measured is None


def test_notes_and_words_are_bounded():
    made = drafted(
        Proposal("test", "x" * 99_999, WindowText("k", 0, 0, ""), "y" * 99_999, notes={"n": "z" * NOTES_LIMIT}),
        PARENT,
        evaluator(),
        0.0,
    )
    assert len(made.proposal.description) == 2000
    assert len(made.proposal.where) == 200
    assert made.proposal.notes == {"left out": "too long"}


def test_a_block_of_new_instructions_costs_what_the_old_one_did():
    made = draft(WindowText("end", 0, 1, "s_nop 1"))
    kept = draft(WindowText("end", 0, 1, f"#{PARENT.block('end').instructions[0].uid} s_nop 1"))
    assert made.measured.cycles == kept.measured.cycles > 0
    fallen = replace(PARENT.blocks[1], instructions=tuple(replace(i, uid=50 + n) for n, i in enumerate(K[:5])))
    kernel = replace(PARENT, blocks=(PARENT.blocks[0], fallen))
    assert evaluator().profile.executions_of(kernel)[50] == 4
