from __future__ import annotations

from pathlib import Path

import pytest

from asmevo.diagnostics import Diagnostic, DiagnosticError
from asmevo.frontend.containers import Kind, Member, open_inputs, select, split_name
from containers import DATA

MEMBERS = open_inputs(DATA / "libfat.so", "lib.so")


def chosen(choice: str | None, target: str | None = None) -> str:
    return select(MEMBERS, "lib.so", choice, target).path


def refusal(choice: str | None, target: str | None = None, members: tuple[Member, ...] = MEMBERS) -> Diagnostic:
    with pytest.raises(DiagnosticError) as caught:
        select(members, "lib.so", choice, target)
    return caught.value.diagnostics[0]


def test_each_way_to_choose() -> None:
    wanted = "lib.so!.hip_fatbin[1]!hipv4-amdgcn-amd-amdhsa--gfx942"
    assert chosen(".hip_fatbin[1]!hipv4-amdgcn-amd-amdhsa--gfx942") == wanted
    assert chosen(wanted) == wanted
    assert chosen(".hip_fatbin?1?!*gfx942") == wanted
    assert chosen("*1]*", "gfx942") == wanted


def test_the_only_one_needs_no_choice() -> None:
    assert select(MEMBERS[2:3], "lib.so").target == "gfx90a"


def test_several_are_listed_with_how_to_choose() -> None:
    found = refusal("gfx942")
    assert found.code == "E0153"
    assert found.message == "the input holds 2 code objects that fit 'gfx942': choose one"
    assert "write 'lib.so!.hip_fatbin[0]!hipv4-amdgcn-amd-amdhsa--gfx942';" in (found.help or "")
    assert ".hip_fatbin[1]!hipv4-amdgcn-amd-amdhsa--gfx942: code object for gfx942" in (found.help or "")


def test_a_choice_that_fits_nothing() -> None:
    assert refusal("gfx950").code == "E0154"
    assert "gfx1100 is not supported" in refusal("gfx1100").message
    assert "target gfx950" in refusal(None, "gfx950").message


def test_nothing_usable() -> None:
    members = (Member("lib.so!a", "", b"", Kind.OTHER, "LLVM bitcode"), Member("lib.so!b", "", b"", Kind.OTHER, "empty"))
    found = refusal(None, None, members)
    assert found.code == "E0152"
    assert "a: LLVM bitcode; b: empty" in (found.help or "")
    assert refusal(None, None, members[:1]).message == "no code object: LLVM bitcode"


def test_names_are_split_where_the_file_ends(tmp_path: Path) -> None:
    odd = tmp_path / "a!b.so"
    odd.write_bytes(b"")
    assert split_name(str(odd)) == (str(odd), None)
    assert split_name(f"{odd}!c!d") == (str(odd), "c!d")
    assert split_name("absent.so!c") == ("absent.so", "c")
    assert split_name("absent.so") == ("absent.so", None)
    long_name = "x" * 10000 + "!y"
    assert split_name(long_name) == ("x" * 10000, "y")
