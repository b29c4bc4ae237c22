"""The room for an immediate byte offset, against what the assembler encodes and the disassembler prints back."""

from __future__ import annotations

import pytest

from asmevo.backend.assembler import assemble
from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.disassembler import disassemble
from asmevo.frontend.line import parse_line
from asmevo.ir.instruction import Immediate
from asmevo.ir.isa import offsets
from asmevo.ir.isa.model import Family

TARGETS = ("gfx90a", "gfx942", "gfx950")
LINES = {
    Family.DS: "ds_read_b32 v0, v1 offset:{}",
    Family.MUBUF: "buffer_load_dword v0, v1, s[4:7], 0 offen offset:{}",
    Family.MTBUF: "tbuffer_load_format_x v0, v1, s[4:7], 0 format:22 offen offset:{}",
    Family.FLAT: "flat_load_dword v0, v[2:3] offset:{}",
    Family.GLOBAL: "global_load_dword v0, v[2:3], off offset:{}",
    Family.SCRATCH: "scratch_load_dword v0, v2, off offset:{}",
    Family.SMEM: "s_load_dword s0, s[2:3], {}",
}


def offset_of(text: str) -> int:
    """The offset that a printed instruction has, modulo 2^32; 0 when none is printed."""
    instruction = parse_line(text)
    last = instruction.operands[-1]
    if isinstance(last, Immediate) and instruction.mnemonic.startswith("s_"):
        return last.value % (1 << 32)
    given = {modifier.name: modifier.value for modifier in instruction.modifiers}.get("offset", 0)
    assert isinstance(given, int)
    return given % (1 << 32)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("family", LINES)
def test_the_least_and_greatest_offset_come_back(family: Family, target: str) -> None:
    room = offsets.offset_range(family)
    assert room is not None
    for value in (room[0], room[-1], 4, 1):
        encoding = assemble([LINES[family].format(value)], target)[0]
        printed = disassemble(encoding, target)[0].text
        assert printed is not None
        assert offset_of(printed) == value % (1 << 32), printed


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("family", LINES)
def test_an_offset_beyond_is_refused(family: Family, target: str) -> None:
    room = offsets.offset_range(family)
    assert room is not None
    for value in (room[0] - 1, room[-1] + 1):
        with pytest.raises(DiagnosticError):
            assemble([LINES[family].format(value)], target)


def test_families_without_an_offset_have_none() -> None:
    assert offsets.offset_range(Family.VOP2) is None
