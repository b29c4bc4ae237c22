from __future__ import annotations

from dataclasses import replace

import pytest

from asmevo.backend.in_place import patch
from asmevo.backend.resources import with_resources
from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.codeobject import CodeObject, load, load_file
from asmevo.frontend.line import parse_line
from asmevo.frontend.recover import recover
from asmevo.ir.instruction import Instruction, WaitCounts
from asmevo.ir.kernel import Kernel
from code_objects import LOOP, TAIL, make_object
from support import EXAMPLES, SHIPPED

SLACK_LOOP = replace(LOOP, extra=2)


def loop() -> tuple[CodeObject, Kernel]:
    obj = load(make_object([SLACK_LOOP, TAIL]), "x.co")
    return obj, recover(obj, "loop")


def with_block(kernel: Kernel, mnemonic: str, *new: Instruction) -> Kernel:
    """The kernel with the only instruction of that mnemonic replaced."""

    def members(block: tuple[Instruction, ...]) -> tuple[Instruction, ...]:
        return tuple(x for i in block for x in (new if i.mnemonic == mnemonic else (i,)))

    return replace(kernel, blocks=tuple(replace(b, instructions=members(b.instructions)) for b in kernel.blocks))


def refused(obj: CodeObject, kernel: Kernel) -> tuple[str, str]:
    with pytest.raises(DiagnosticError) as caught:
        patch(obj, kernel)
    return caught.value.diagnostics[0].code, str(caught.value.diagnostics[0].span)


@pytest.mark.parametrize("name", SHIPPED)
def test_an_unedited_kernel_is_byte_identical(name: str) -> None:
    obj = load_file(EXAMPLES / "kernels" / f"{name}.co")
    assert patch(obj, recover(obj)) == obj.data


def test_an_edit_of_equal_size_changes_its_bytes_only() -> None:
    obj, kernel = loop()
    wait = next(i for i in kernel.instructions() if i.mnemonic == "s_waitcnt")
    data = patch(obj, with_block(kernel, "s_waitcnt", wait.edited(operands=(WaitCounts(lgkmcnt=1),))))
    assert wait.offset is not None
    assert [i for i, (a, b) in enumerate(zip(obj.data, data, strict=True)) if a != b] == [obj.text.offset + wait.offset + 1]


def test_instructions_may_trade_places_within_a_block() -> None:
    obj, kernel = loop()
    first = kernel.blocks[0]
    data = patch(obj, replace(kernel, blocks=(replace(first, instructions=first.instructions[::-1]), *kernel.blocks[1:])))
    assert [i.mnemonic for i in recover(load(data, "y"), "loop").blocks[0].instructions] == ["s_mov_b32", "s_load_dwordx2"]
    assert len(data) == len(obj.data)


def test_two_short_ones_for_a_long_one() -> None:
    obj, kernel = loop()
    data = patch(obj, with_block(kernel, "s_load_dwordx2", parse_line("s_nop 0"), parse_line("s_nop 1")))
    assert len(data) == len(obj.data)


def test_a_longer_or_shorter_block_is_refused_where_it_stands() -> None:
    obj, kernel = loop()
    last = next(b for b in kernel.blocks if any(i.mnemonic == "s_waitcnt" for i in b.instructions))
    assert last.offset is not None
    for new in ((), (parse_line("s_nop 0"), parse_line("s_nop 0"))):
        assert refused(obj, with_block(kernel, "s_waitcnt", *new)) == ("E0630", f"x.co+0x{obj.text.offset + last.offset:x}")


def test_growth_into_the_filler_behind_is_refused() -> None:
    obj, kernel = loop()
    blocks = tuple(replace(b, instructions=b.instructions[:-1]) if b is kernel.blocks[-1] else b for b in kernel.blocks)
    assert refused(obj, replace(kernel, blocks=blocks))[0] == "E0630"


def test_a_block_that_was_not_there_is_refused() -> None:
    obj, kernel = loop()
    new = replace(kernel.blocks[0], label="new", offset=None, instructions=())
    assert refused(obj, replace(kernel, blocks=(*kernel.blocks, new)))[0] == "E0630"


def test_changed_resources_are_refused() -> None:
    obj, kernel = loop()
    changed = with_resources(kernel, vgprs=64)
    assert refused(obj, changed)[0] == "E0631"
    assert refused(obj, replace(changed, descriptor=kernel.descriptor))[0] == "E0631"
    assert refused(obj, replace(kernel, target="gfx950"))[0] == "E0615"
