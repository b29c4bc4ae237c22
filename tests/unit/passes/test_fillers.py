import pytest

from asmevo.frontend.parser import parse_line
from asmevo.ir.instruction import WaitCounts
from asmevo.ir.printer import print_instruction
from asmevo.passes.fillers import Fillers, is_filler


def lines(*texts):
    return [parse_line(text) for text in texts]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("s_nop 3", True),
        ("s_waitcnt vmcnt(0)", True),
        ("s_waitcnt vmcnt(0) lgkmcnt(1)", True),
        ("s_waitcnt expcnt(0)", False),
        ("s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)", False),
        ("s_sleep 1", False),
        ("s_setprio 1", False),
        ("s_barrier", False),
        ("v_mov_b32_e32 v0, v1", False),
    ],
)
def test_what_can_be_made_anew(text, expected):
    assert is_filler(parse_line(text)) is expected


def test_data_is_no_filler():
    assert not is_filler(parse_line(".long 0xbf800000", allow_opaque=True))


def with_uids(instructions):
    from dataclasses import replace

    return [replace(i, uid=n, encoding=b"\0\0\0\0") for n, i in enumerate(instructions)]


def test_an_equal_one_that_was_taken_out_comes_back_with_its_bytes():
    removed = with_uids(lines("s_nop 1", "s_waitcnt vmcnt(2)", "s_waitcnt vmcnt(0)"))
    fillers = Fillers(removed, 10)
    assert fillers.wait(WaitCounts(vmcnt=0)) is removed[2]


def test_another_one_is_edited_and_only_then_a_new_one_made():
    fillers = Fillers(with_uids(lines("s_waitcnt vmcnt(2)")), 10)
    first, second = fillers.wait(WaitCounts(lgkmcnt=1)), fillers.wait(WaitCounts(lgkmcnt=1))
    assert (print_instruction(first), first.uid, first.encoding) == ("s_waitcnt lgkmcnt(1)", 0, None)
    assert (print_instruction(second), second.uid, second.encoding) == ("s_waitcnt lgkmcnt(1)", 10, None)
    assert second.definition is not None


@pytest.mark.parametrize(
    ("states", "expected"),
    [(0, []), (1, ["s_nop 0"]), (16, ["s_nop 15"]), (17, ["s_nop 15", "s_nop 0"]), (33, ["s_nop 15", "s_nop 15", "s_nop 0"])],
)
def test_as_few_nops_as_make_the_states(states, expected):
    made = Fillers([], 5).nops(states)
    assert [print_instruction(i) for i in made] == expected
    assert [i.uid for i in made] == list(range(5, 5 + len(made)))


def test_a_removed_wait_is_not_made_a_nop():
    made = Fillers(with_uids(lines("s_waitcnt vmcnt(2)")), 10).nops(2)
    assert [i.uid for i in made] == [10]
