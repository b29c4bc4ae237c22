from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from asmevo.frontend.parser import parse_line
from asmevo.ir.printer import print_instruction
from asmevo.report.story.changes import Kind, changes
from programs import kernel_of

BODY = [f"v_add_u32_e32 v{n}, v{n}, v{n + 1}" for n in range(12)]


def block_of(kernel):
    return next(block for block in kernel.blocks if len(block.instructions) > 4)


def with_body(kernel, instructions):
    label = block_of(kernel).label
    blocks = tuple(replace(b, instructions=tuple(instructions)) if b.label == label else b for b in kernel.blocks)
    return replace(kernel, blocks=blocks)


def kinds(before, after):
    (change,) = changes(before, after)
    return [(line.kind.value, line.left or line.right) for line in change.lines if line.kind not in (Kind.SAME, Kind.GAP)]


def test_a_move_is_told_from_a_change():
    before = kernel_of("\n".join([*BODY, "s_endpgm"]))
    body = list(block_of(before).instructions)
    moved = with_body(before, [*body[:2], body[5], *body[2:5], *body[6:]])
    assert kinds(before, moved) == [("moved-to", BODY[5]), ("moved-from", BODY[5])]
    reworded = with_body(before, [replace(parse_line("v_nop"), uid=body[0].uid), *body[1:]])
    assert kinds(before, reworded) == [("reworded", BODY[0])]
    assert kinds(before, with_body(before, body[1:])) == [("removed", BODY[0])]
    added = replace(parse_line("s_nop 1"), uid=9999)
    assert kinds(before, with_body(before, [body[0], added, *body[1:]])) == [("added", "s_nop 1")]


def test_the_same_words_made_anew_did_not_change():
    before = kernel_of("\n".join([*BODY[:3], "s_nop 1", *BODY[3:], "s_endpgm"]))
    body = list(block_of(before).instructions)
    anew = [replace(i, uid=9999) if i.mnemonic == "s_nop" else i for i in body]
    assert kinds(before, with_body(before, anew)) == []


def test_equal_stretches_are_folded():
    before = kernel_of("\n".join([*BODY, "s_endpgm"]))
    body = list(block_of(before).instructions)
    (change,) = changes(before, with_body(before, [body[1], body[0], *body[2:]]))
    assert [line.skipped for line in change.lines if line.kind is Kind.GAP] == [8]


def test_equal_kernels_have_no_changes():
    kernel = kernel_of("\n".join([*BODY, "s_endpgm"]))
    assert list(changes(kernel, kernel)) == []


@given(st.permutations(range(12)), st.sets(st.integers(0, 11)), st.sets(st.integers(0, 11)))
def test_both_sides_are_shown_whole_and_in_order(order, removed, reworded):
    before = kernel_of("\n".join([*BODY, "s_endpgm"]))
    body = list(block_of(before).instructions)
    new = [
        replace(parse_line(f"s_nop {n}"), uid=body[n].uid) if n in reworded else body[n] for n in order if n not in removed
    ] + body[12:]
    after = with_body(before, new)
    for change in changes(before, after):
        left, right = [], []
        for line in change.lines:
            if line.kind is Kind.GAP:
                left += [None] * line.skipped
                right += [None] * line.skipped
            else:
                left += [line.left] if line.left else []
                right += [line.right] if line.right else []
        for shown, whole in ((left, body), (right, new)):
            assert len(shown) == len(whole)
            assert all(one is None or one == print_instruction(i) for one, i in zip(shown, whole, strict=True))
