from __future__ import annotations

from asmevo.frontend.padding import without_padding
from asmevo.frontend.parser import parse_source


def labels(text: str) -> list[str]:
    return [block.label for block in without_padding(parse_source(text)).blocks]


def test_nops_that_no_path_reaches_go_at_the_end() -> None:
    assert labels("k:\n s_endpgm\nL:\n s_nop 0\n s_nop 0\nM:\n s_nop 0\n") == ["k"]


def test_nops_that_code_falls_into_stay() -> None:
    assert labels("k:\n v_nop\nL:\n s_nop 0\n s_branch L\n") == ["k", "L"]
    assert len(labels("k:\n s_cbranch_scc0 M\n s_endpgm\nM:\n s_nop 0\n")) == 3


def test_nops_between_blocks_and_other_code_stay() -> None:
    assert labels("k:\n s_branch M\nL:\n s_nop 0\nM:\n s_endpgm\n") == ["k", "L", "M"]
    assert labels("k:\n s_endpgm\nL:\n v_mov_b32 v0, 0\n s_endpgm\n") == ["k", "L"]
