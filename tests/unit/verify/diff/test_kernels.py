from __future__ import annotations

from dataclasses import replace

import pytest

from asmevo.backend.resources import with_resources
from asmevo.backend.writer import rebuild
from asmevo.frontend.codeobject import load, load_file
from asmevo.frontend.line import parse_line
from asmevo.frontend.recover import recover
from asmevo.ir.kernel import Kernel
from asmevo.verify.diff.kernels import Change, ObjectDiff, diff_kernels, diff_objects
from code_objects import Function, make_object
from support import EXAMPLES, SHIPPED

LINES = (
    "s_load_dwordx2 s[2:3], s[0:1], 0x0",
    "s_mov_b32 s4, 8",
    "s_sub_u32 s4, s4, 1",
    "s_cmp_lg_u32 s4, 0",
    "s_cbranch_scc1 65533",
    "s_waitcnt lgkmcnt(0)",
    "v_mov_b32_e32 v0, v1",
    "s_endpgm",
)


def made(*lines: str, name: str = "k") -> bytes:
    return make_object([Function(name, lines)])


def diff(new: tuple[str, ...], old: tuple[str, ...] = LINES) -> list[tuple[str, str]]:
    (kernel,) = between(made(*old), made(*new)).kernels
    return [(c.change.value, c.text) for c in kernel.instructions]


def between(old: bytes, new: bytes) -> ObjectDiff:
    return diff_objects(load(old, "old.co"), load(new, "new.co"))


@pytest.mark.parametrize("name", SHIPPED)
def test_an_object_is_like_itself(name: str) -> None:
    obj = load_file(EXAMPLES / "kernels" / f"{name}.co")
    found = diff_objects(obj, obj)
    assert found.is_identical
    assert all(k.is_empty and k.same == len(list(recover(obj, k.name).instructions())) for k in found.kernels)
    assert found.sections == ()


def test_an_instruction_more_moves_the_rest_silently() -> None:
    new = (*LINES[:5], "v_nop", *LINES[5:])
    assert diff(new) == [("added", "v_nop")]
    assert diff(LINES, new) == [("removed", "v_nop")]


def test_an_instruction_more_inside_a_loop_changes_no_branch() -> None:
    new = (*LINES[:3], "v_nop", LINES[3], "s_cbranch_scc1 65532", *LINES[5:])
    assert diff(new) == [("added", "v_nop")]


def test_an_instruction_more_at_a_loops_head_changes_no_branch() -> None:
    new = (*LINES[:2], "v_nop", *LINES[2:4], "s_cbranch_scc1 65532", *LINES[5:])
    assert diff(new) == [("added", "v_nop")]


def test_a_branch_to_another_place_is_told() -> None:
    new = (*LINES[:4], "s_cbranch_scc1 0", *LINES[5:])
    (change,) = between(made(*LINES), made(*new)).kernels[0].instructions
    assert change.change is Change.RETARGETED
    assert (change.old_offset, change.new_offset) == (20, 20)


def test_a_move_is_one_change_with_both_places() -> None:
    new = (LINES[1], *LINES[2:5], LINES[5], LINES[0], *LINES[6:])
    (change,) = between(made(*LINES), made(*new)).kernels[0].instructions
    assert (change.change, change.old_offset, change.new_offset) == (Change.MOVED, 0, 20)


def test_a_changed_operand_is_a_removal_and_an_addition() -> None:
    new = (*LINES[:6], "v_mov_b32_e32 v0, v2", LINES[7])
    assert sorted(diff(new)) == [("added", "v_mov_b32_e32 v0, v2"), ("removed", "v_mov_b32_e32 v0, v1")]


def test_the_same_text_in_other_bytes_is_told() -> None:
    obj = load(made(*LINES), "old.co")
    kernel = recover(obj)
    other = replace(kernel.blocks[-1].instructions[0], encoding=b"\x7f\xcc\x8c\xbf")
    last = replace(kernel.blocks[-1], instructions=(other, *kernel.blocks[-1].instructions[1:]))
    found = diff_kernels(kernel, replace(kernel, blocks=(*kernel.blocks[:-1], last)))
    assert [c.change for c in found.instructions] == [Change.REENCODED]


def changed_fields(kernel: Kernel) -> dict[str, tuple[str | None, str | None]]:
    obj = load(made(*LINES), "old.co")
    found = between(obj.data, rebuild(obj, kernel))
    assert not found.is_identical
    return {f"{f.area} {f.name}": (f.old, f.new) for f in found.kernels[0].fields}


def test_resources_and_metadata() -> None:
    kernel = recover(load(made(*LINES), "old.co"))
    fields = changed_fields(with_resources(kernel, vgprs=40, lds_bytes=512))
    assert fields["resources vector registers"] == ("16", "40")
    assert fields["resources LDS bytes"] == ("0", "512")
    assert fields["metadata vgpr_count"] == ("16", "40")
    assert fields["metadata group_segment_bytes"] == ("0", "512")
    assert fields["descriptor compute_pgm_rsrc1"] == ("0x00ac0041", "0x00ac0044")


def test_arguments() -> None:
    kernel = recover(load(made(*LINES), "old.co"))
    assert kernel.metadata is not None
    (argument,) = kernel.metadata.arguments
    other = replace(argument, size=4)
    found = diff_kernels(kernel, replace(kernel, metadata=replace(kernel.metadata, arguments=(other,))))
    assert [(f.area, f.name, f.old, f.new) for f in found.fields] == [
        ("arguments", "+0", "out 8 bytes global_buffer", "out 4 bytes global_buffer")
    ]
    found = diff_kernels(kernel, replace(kernel, metadata=replace(kernel.metadata, arguments=())))
    assert [(f.name, f.new) for f in found.fields] == [("+0", None)]


def test_kernels_without_a_partner_are_named() -> None:
    old = make_object([Function("a", ("s_endpgm",)), Function("b", ("s_endpgm",))])
    new = make_object([Function("b", ("s_endpgm",)), Function("c", ("s_nop 0", "s_endpgm"))])
    found = between(old, new)
    assert (found.only_old, found.only_new) == (("a",), ("c",))
    assert [k.name for k in found.kernels] == ["b"]
    assert ".text" in found.sections


def test_grown_code_shows_what_was_added_and_nothing_else() -> None:
    obj = load_file(EXAMPLES / "kernels" / "matmul_fp16.co")
    kernel = recover(obj)
    label = next(b.label for b in kernel.blocks if not b.frozen)
    added = tuple(parse_line("s_nop 7") for _ in range(3000))
    blocks = tuple(replace(b, instructions=added + b.instructions) if b.label == label else b for b in kernel.blocks)
    found = diff_objects(obj, load(rebuild(obj, replace(kernel, blocks=blocks)), "new")).kernels[0]
    assert {c.change for c in found.instructions} == {Change.ADDED}
    assert len(found.instructions) == 3000
    assert found.fields == ()
