from __future__ import annotations

import struct
from pathlib import Path

import pytest

from asmevo.backend.inputs import load_input, usable_names
from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from asmevo.verify.differential import compare
from asmevo.verify.launch.dispatches import load_launches
from asmevo.verify.verdict import Outcome
from containers import DATA, HISTOGRAM
from support import EXAMPLES


def refusal(source: Path | str | bytes, target: str | None = None) -> tuple[str, str]:
    with pytest.raises(DiagnosticError) as caught:
        load_input(source, target=target)
    found = caught.value.diagnostics[0]
    return found.code, found.message


@pytest.mark.parametrize("name", ["plain.hipfb", "zstd_v2.hipfb", "zstd_v3.hipfb", "zlib_v2.hipfb"])
def test_the_shipped_kernel_comes_out_of_each_bundle(name: str) -> None:
    assert load_input(DATA / name).data == HISTOGRAM


@pytest.mark.parametrize(
    ("name", "kernels"),
    [
        ("libfat.so!*0*gfx90a", ["_Z6fill_1Pi"]),
        ("libfat.so!.hip_fatbin[1]!hipv4-amdgcn-amd-amdhsa--gfx942", ["_Z6fill_2Pi"]),
        ("compressed.o", ["_Z4fillPi"]),
        ("gnu.a!program.co", ["first", "second"]),
        ("bsd.a!a_member_with_a_long_name.o", ["histogram"]),
        ("packaged.bin", ["first", "second"]),
        ("program.o", ["first", "second"]),
        ("triton", ["softmax"]),
    ],
)
def test_every_container_gives_its_kernels(name: str, kernels: list[str]) -> None:
    obj = load_input(f"{DATA}/{name}")
    assert [entry.name for entry in obj.kernels] == kernels
    for kernel in kernels:
        assert recover(obj, kernel).blocks


def test_a_linked_kernel_runs_like_the_shipped_one() -> None:
    shipped, linked = recover(load_file(EXAMPLES / "kernels" / "histogram.co")), recover(load_input(DATA / "histogram.o"))
    dispatches = load_launches(EXAMPLES / "launches" / "histogram.toml", shipped)
    assert compare(shipped, linked, dispatches).outcome is Outcome.TESTED


def test_the_target_chooses_among_several() -> None:
    assert refusal(DATA / "libfat.so", "gfx950")[0] == "E0154"
    assert refusal(DATA / "libfat.so")[0] == "E0153"
    assert load_input(f"{DATA}/libfat.so!*fatbin?0*", target="gfx942").target == "gfx942"


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("thin.a", "E0101", "thin archive"),
        ("program.bc", "E0101", "LLVM bitcode"),
        ("program.cl", "E0101", "text file"),
        ("bitcode.o", "E0152", "no code object that can be used"),
        ("absent.co", "E0113", "cannot read"),
        ("absent.so!x", "E0113", "cannot read"),
        ("plain.hipfb!gfx90a", "E0154", "no member fits 'gfx90a'"),
        ("libfat.so!gfx1100", "E0154", "gfx1100 is not supported"),
        ("histogram.o!x", "E0154", "no member fits 'x'"),
    ],
)
def test_what_leads_nowhere_says_why(name: str, code: str, words: str) -> None:
    found = refusal(f"{DATA}/{name}")
    assert found[0] == code
    assert words in found[1]


def test_code_object_version_2_is_refused_by_name() -> None:
    data = bytearray(HISTOGRAM)
    data[8] = 0
    code, message = refusal(bytes(data))
    assert code == "E0105"
    assert message.startswith("code object version 2,")


def test_another_chip_is_refused_by_name() -> None:
    for number, chip in ((0x2F, "gfx906"), (0x41, "gfx1100"), (0x5F, "gfx9-4-generic"), (0xEE, "machine 0xee")):
        data = bytearray(HISTOGRAM)
        struct.pack_into("<I", data, 48, 0x500 | number)
        assert refusal(bytes(data)) == ("E0106", f"{chip} is not supported")


def test_usable_names_lead_back_to_the_members() -> None:
    names = usable_names(DATA / "libfat.so")
    assert len(names) == 4
    assert len({load_input(name).data for name in names}) == 4
