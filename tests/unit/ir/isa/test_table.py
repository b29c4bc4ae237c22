"""The table notation: what a line says, and the lines that are refused."""

from __future__ import annotations

import pytest

from asmevo.ir.isa.model import Access, Counter, Encoding, Family, Flag, IssueClass, OperandSpec, Role, Space
from asmevo.ir.isa.table import Table, compile_table
from asmevo.ir.registers import EXEC_MASK, SCC, VCC_MASK


def compiled(line: str, common: str = ""):
    return next(compile_table(Table(Family.VOP2, IssueClass.VALU, common, line)))


def test_operands_keep_order_role_and_width() -> None:
    found = compiled("v_x vdst+32 sdst=64 src0:128 imm32:0")
    assert found.operands == (
        OperandSpec("vdst", Role.READ_WRITE, 32),
        OperandSpec("sdst", Role.WRITE, 64),
        OperandSpec("src0", Role.READ, 128),
        OperandSpec("imm32", Role.READ, 0),
    )


def test_facts_of_a_line_join_the_common_ones() -> None:
    found = compiled("ds_x vdst=64 load 8 <vcc >scc partial", "<exec lgkmcnt space lds")
    assert found.implicit_reads == EXEC_MASK | VCC_MASK
    assert found.implicit_writes == 1 << SCC
    assert found.counters == (Counter.LGKMCNT,)
    assert (found.space, found.access, found.memory_bytes) == (Space.LDS, Access.LOAD, 8)
    assert found.flags == {Flag.PARTIAL}


def test_a_line_overrides_common_targets() -> None:
    assert compiled("v_x @gfx942", "@gfx942,gfx950").targets == {"gfx942"}


def test_an_operand_may_name_its_class() -> None:
    assert compiled("v_x vdst=32 src0:32/vgpr").operands[1] == OperandSpec("src0", Role.READ, 32, "vgpr")


def test_encodings_are_the_family_s_unless_a_line_names_its_own() -> None:
    e32, e64, sdwa, dpp = Encoding.E32, Encoding.E64, Encoding.SDWA, Encoding.DPP
    assert compiled("v_x vdst=32 src0:32").encodings == {e32, e64, sdwa, dpp}
    assert compiled("v_x vdst=64 src0:32").encodings == {e32, e64, dpp}
    assert compiled("v_x vdst=32 sdst=64 src0:32 src2:64/mask").encodings == {e32, e64, sdwa, dpp}
    assert compiled("v_x vdst=32 [e32,dpp]").encodings == {e32, dpp}
    assert compiled("v_x vdst=32 [only]").encodings == {Encoding.ONLY}


def test_passes_may_depend_on_the_target() -> None:
    found = compiled("v_x vdst=32 passes 8,gfx950=16")
    assert [found.passes_on(target) for target in ("gfx90a", "gfx942", "gfx950")] == [8, 8, 16]
    assert compiled("v_x vdst=32").passes_on("gfx942") == 0


def test_a_spelling_names_what_it_is_printed_as() -> None:
    assert compiled("v_x vdst=32 alias v_y").alias == "v_y"


def test_branch_words() -> None:
    jump, conditional, end = compiled("a jump"), compiled("a conditional"), compiled("a end")
    assert (jump.is_branch, jump.is_conditional, jump.is_terminator) == (True, False, True)
    assert (conditional.is_branch, conditional.is_conditional, conditional.is_terminator) == (True, True, True)
    assert (end.is_branch, end.is_terminator, end.issue) == (False, True, IssueClass.END)


def test_comments_and_blank_lines_are_no_instructions() -> None:
    text = "\n# heading\n\nv_x vdst=32  # why\n"
    assert [d.mnemonic for d in compile_table(Table(Family.VOP1, IssueClass.VALU, "", text))] == ["v_x"]


@pytest.mark.parametrize(
    "line",
    [
        "v_x @gfx777",
        "v_x passes 8,gfx777=4",
        "v_x [e16]",
        "v_x alias",
        "v_x vdst=wide",
        "v_x frobnicate",
        "v_x <nowhere",
        "v_x load",
        "v_x load many",
        "v_x space moon",
        "v_x passes",
    ],
)
def test_a_line_that_cannot_be_read_is_named(line: str) -> None:
    with pytest.raises(ValueError, match="vop2 table, line 'v_x"):
        compiled(line)
