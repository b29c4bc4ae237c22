from __future__ import annotations

from dataclasses import replace

import pytest

from asmevo.backend.legality import legal_on
from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.codeobject import load, load_file
from asmevo.frontend.recover import recover
from asmevo.ir.kernel import Kernel
from code_objects import Function, make_object
from support import EXAMPLES, SHIPPED


def kernel(*lines: str) -> Kernel:
    return recover(load(make_object([Function("k", (*lines, "s_endpgm"))]), "x.co"))


@pytest.mark.parametrize("name", SHIPPED)
def test_every_instruction_is_legal_at_home_in_its_own_bytes(name: str) -> None:
    found = legal_on(recover(load_file(EXAMPLES / "kernels" / f"{name}.co")), "gfx942")
    assert (found.illegal, found.re_encoded) == ((), 0)


def test_what_both_lack_is_told_with_its_places() -> None:
    found = legal_on(
        kernel("v_lshl_add_u64 v[0:1], v[2:3], 1, v[4:5]", "s_nop 0", "v_lshl_add_u64 v[0:1], v[2:3], 1, v[4:5]"), "gfx90a"
    )
    (one,) = found.illegal
    assert one.text == "v_lshl_add_u64 v[0:1], v[2:3], 1, v[4:5]"
    assert (one.offset, one.count, one.in_table) == (0, 2, False)
    assert "not supported on this GPU" in (one.refusal or "")


def test_a_modifier_that_only_the_assembler_refuses_is_told_as_such() -> None:
    (one,) = legal_on(kernel("global_load_dword v0, v[2:3], off sc0 sc1"), "gfx90a").illegal
    assert one.in_table
    assert one.refusal is not None


def test_other_bytes_for_the_same_text_are_counted() -> None:
    k = kernel("buffer_load_dword v0, v1, s[4:7], 0 offen", "s_cbranch_scc0 65533", "s_branch 0")
    assert legal_on(k, "gfx950").re_encoded == 0
    changed = replace(k.blocks[0].instructions[0], encoding=bytes(8))
    block = replace(k.blocks[0], instructions=(changed, *k.blocks[0].instructions[1:]))
    assert legal_on(replace(k, blocks=(block, *k.blocks[1:])), "gfx950").re_encoded == 1


def test_words_that_are_no_instruction_are_counted_not_judged() -> None:
    found = legal_on(kernel("s_branch 1", ".long 0xffffffff"), "gfx90a")
    assert (found.illegal, found.unknown) == ((), 1)


def test_an_unknown_chip_is_refused() -> None:
    with pytest.raises(DiagnosticError) as caught:
        legal_on(kernel(), "gfx1100")
    assert caught.value.diagnostics[0].code == "E0602"
