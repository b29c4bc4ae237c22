from __future__ import annotations

import random
import struct

import pytest

from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.disassembler import Decoded, disassemble


def test_branch_operand_stays_a_raw_distance() -> None:
    assert disassemble(struct.pack("<I", 0xBF82FFFB), "gfx942") == [Decoded(0, b"\xfb\xff\x82\xbf", "s_branch 65531")]


def test_bytes_that_are_no_instruction_become_words_and_decoding_goes_on() -> None:
    code = struct.pack("<II", 0xFFFFFFFF, 0xBF800000) + b"\x01\x02"
    lines = disassemble(code, "gfx942")
    assert [(line.offset, line.text) for line in lines] == [(0, None), (4, "s_nop 0"), (8, None)]
    assert b"".join(line.encoding for line in lines) == code


def test_an_instruction_cut_off_at_the_end_is_data() -> None:
    assert disassemble(b"\xff\x00\x80\xbe", "gfx942") == [Decoded(0, b"\xff\x00\x80\xbe", None)]


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx950"])
def test_random_bytes_never_fail_and_are_kept(target: str) -> None:
    source = random.Random(7)
    for size in (0, 1, 3, 4, 64, 4097):
        code = source.randbytes(size)
        assert b"".join(line.encoding for line in disassemble(code, target)) == code


def test_memory_of_earlier_decodings_changes_nothing() -> None:
    code = random.Random(3).randbytes(4096)
    first = disassemble(code, "gfx942")
    assert disassemble(code[: len(code) // 2], "gfx942")[:100] == first[:100]
    assert disassemble(code, "gfx942") == first


@pytest.mark.parametrize("target", ["gfx908", "", "gfx942; rm"])
def test_unknown_target_is_refused(target: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        disassemble(b"", target)
    assert caught.value.diagnostics[0].code == "E0602"


@pytest.mark.parametrize(
    "harmful",
    [
        # An MTBUF and an SDWA encoding that crash the LLVM of rocm-llvm-python 7.2: a literal where none may stand.
        "416840ebc73d84ff",
        "f9e8b4159d16d4e7",
    ],
)
def test_bytes_that_crash_llvm_are_data(harmful: str) -> None:
    code = bytes.fromhex("000080bf" + harmful + "010080bf")
    lines = disassemble(code, "gfx942")
    assert b"".join(line.encoding for line in lines) == code
    assert (lines[0].text, lines[1].text, lines[-1].text) == ("s_nop 0", None, "s_nop 1")


def test_nothing_but_harmful_bytes_is_refused() -> None:
    with pytest.raises(DiagnosticError) as caught:
        disassemble(bytes.fromhex("416840ebc73d84ff") * 100, "gfx942")
    assert caught.value.diagnostics[0].code == "E0606"
