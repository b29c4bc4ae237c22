import json

import pytest

from asmevo.ir.printer import print_instruction
from llm_models import session, softmax


def test_every_line_of_the_window_is_shown_once_in_order():
    kernel, profile, _ = softmax()
    view = session().view
    told = view.read()
    block = kernel.block(profile.hot_blocks(1)[0])
    assert [line.split(" | ")[0] for line in told["lines"]] == [f"#{i.uid} {print_instruction(i)}" for i in block.instructions]
    assert told["kernel_cycles"] == round(profile.estimate.total_cycles, 1)


def test_lost_cycles_are_those_of_the_model():
    view = session().view
    waits = next(line for line in view.read()["lines"] if "s_waitcnt vmcnt(3)" in line)
    assert waits.split(" | ")[1].startswith("vmcnt:")
    assert view.ask("stalls")["worst"][0]["text"] == "s_waitcnt vmcnt(3)"


def test_how_far_a_line_may_move_keeps_its_dependences():
    lines = session(40).view.read()["lines"]
    for position, line in enumerate(lines):
        down, up = (int(word) for word in line.split(" | ")[3].split())
        assert 0 <= position + down <= position <= position + up < len(lines)
    # s_mul_i32 s0 writes what the next one reads.
    assert next(line for line in lines if "s_mul_i32 s0" in line).split(" | ")[3].endswith("+0")


def test_a_part_of_the_window_can_be_read():
    told = session().view.read(first=10, count=3)
    assert (told["first"], len(told["lines"])) == (10, 3)
    assert session().view.read(first=10_000, count=3)["lines"] == []


@pytest.mark.parametrize("topic", ["stalls", "waits", "hazards", "registers", "surroundings"])
def test_each_analysis_gives_plain_data(topic):
    told = session(60).view.ask(topic)
    assert told
    assert json.loads(json.dumps(told)) == told


def test_registers_called_free_are_touched_by_nothing_in_the_block():
    view = session().view
    free = view.ask("registers")["not_used_in_the_block_and_not_live_through_it"]["names"]
    text = "\n".join(print_instruction(i) for i in view.block.instructions)
    assert not [name for name in free if f" {name}," in text or text.endswith(f" {name}")]
