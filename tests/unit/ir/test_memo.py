"""A memo gives what the function gives, once for each text or object, and keeps apart what differs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from asmevo.frontend.line import parse_line
from asmevo.ir import memo
from asmevo.ir.instruction import Instruction
from asmevo.ir.memo import by_identity, by_text


def _instruction(text: str, uid: int = 0) -> Instruction:
    parts = parse_line(text)
    return Instruction(parts.mnemonic, parts.operands, parts.modifiers, parts.definition, uid=uid)


def test_same_text_is_computed_once() -> None:
    seen: list[int] = []

    @by_text
    def length(i: Instruction) -> int:
        seen.append(i.uid)
        return len(i.operands)

    first = _instruction("v_add_f32_e32 v1, v2, v3", uid=1)
    assert length(first) == length(replace(first, uid=2, offset=64)) == 3
    assert seen == [1]


def test_operands_modifiers_mnemonic_and_arguments_are_told_apart() -> None:
    @by_text
    def shown(i: Instruction, word: str) -> tuple[str, int, int, str]:
        return i.mnemonic, len(i.operands), len(i.modifiers), word

    load = _instruction("global_load_dword v1, v[2:3], off")
    far = _instruction("global_load_dword v1, v[2:3], off offset:16")
    renamed = replace(load, mnemonic="other")
    shorter = replace(load, operands=load.operands[:1])
    found = {shown(i, word) for i in (load, far, renamed, shorter) for word in "ab"}
    assert len(found) == 8


def test_texts_without_operands_are_told_apart() -> None:
    """They share one empty tuple."""

    @by_text
    def name(i: Instruction) -> str:
        return i.mnemonic

    barrier, end = _instruction("s_barrier"), _instruction("s_endpgm")
    assert barrier.operands is end.operands
    assert [name(i) for i in (barrier, end, barrier, end)] == ["s_barrier", "s_endpgm", "s_barrier", "s_endpgm"]


def test_an_identity_is_never_taken_for_that_of_an_object_that_is_gone() -> None:
    @by_text
    def first_register(i: Instruction) -> str:
        return str(i.operands[0])

    load = _instruction("v_mov_b32_e32 v1, v2")
    for number in range(2000):
        # Fresh tuples: where one were freed, the next would get its identity.
        operands = tuple(_instruction(f"v_mov_b32_e32 v{number % 200}, v2").operands)[:1]
        changed = replace(load, operands=operands)
        assert first_register(changed) == str(operands[0])
        del operands, changed


def test_the_number_of_values_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memo, "_MOST", 4)
    calls: list[int] = []

    @by_text
    def value(i: Instruction, number: int) -> int:
        calls.append(number)
        return number

    instruction = _instruction("s_nop 0")
    for number in range(5):
        value(instruction, number)
    assert value(instruction, 4) == 4
    assert value(instruction, 0) == 0
    # The fifth value dropped the first four.
    assert calls == [0, 1, 2, 3, 4, 0]


def test_an_object_is_computed_once_and_only_the_last_ones_are_kept() -> None:
    seen: list[int] = []

    def length(items: list[int]) -> int:
        seen.append(len(items))
        return len(items)

    remembered = by_identity(length, most=2)
    one, two, three = [0], [0, 0], [0, 0, 0]
    assert [remembered(x) for x in (one, two, one, three, one)] == [1, 2, 1, 3, 1]
    assert seen == [1, 2, 3]
    assert remembered(two) == 2
    assert seen == [1, 2, 3, 2]


def test_equal_objects_are_not_one() -> None:
    remembered = by_identity(id)
    one, other = [0], [0]
    assert remembered(one) != remembered(other)
