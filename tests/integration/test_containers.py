"""The commands on members of containers, as a user runs them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from containers import DATA

LIBRARY = DATA / "libfat.so"
MEMBER = f"{LIBRARY}!*0*gfx942"


def asmevo(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "asmevo", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.parametrize("command", ["info", "disasm", "analyze", "roundtrip"])
def test_commands_take_a_member(command: str) -> None:
    result = asmevo(command, MEMBER)
    assert result.returncode == 0, result.stderr
    assert result.stdout


def test_several_members_are_listed_with_how_to_choose() -> None:
    result = asmevo("info", LIBRARY)
    assert result.returncode == 2
    assert "error[E0153]: the input holds 4 code objects: choose one" in result.stderr
    assert f"write '{LIBRARY}!.hip_fatbin[0]!" in result.stderr


def test_members_as_json() -> None:
    result = asmevo("members", DATA / "triton", "--format", "json")
    assert result.returncode == 0
    (member,) = json.loads(result.stdout)
    assert member["target"] == "gfx942"
    assert member["triton"] == {"name": "softmax", "shared_bytes": 16, "num_warps": 4}


def test_members_of_what_holds_nothing_exits_with_1() -> None:
    result = asmevo("members", DATA / "bitcode.o")
    assert result.returncode == 1
    assert "not usable: LLVM bitcode" in result.stdout


def test_a_container_s_members_round_trip() -> None:
    result = asmevo("roundtrip", LIBRARY, DATA / "gnu.a", DATA / "zstd_v3.hipfb")
    assert result.returncode == 0, result.stdout
    assert "7 of 7 files" in result.stdout


def test_an_optimised_member_goes_back(tmp_path: Path) -> None:
    new, library = tmp_path / "new.co", tmp_path / "libnew.so"
    result = asmevo("opt", f"{DATA / 'zstd_v2.hipfb'}", "--passes", "list-schedule", "--verify", "none", "-o", new)
    assert result.returncode == 0, result.stderr
    result = asmevo("repack", DATA / "zstd_v2.hipfb", new, "-o", library)
    assert result.returncode == 0, result.stderr
    assert asmevo("verify", library, new).stdout.startswith("verdict: identical")


def test_an_object_that_does_not_belong_there_is_refused(tmp_path: Path) -> None:
    for new, code in ((f"{LIBRARY}!*0*gfx90a", "E0112"), (f"{LIBRARY}!*1*gfx942", "E0159")):
        result = asmevo("repack", MEMBER, new, "-o", tmp_path / "out.so")
        assert result.returncode == 2
        assert f"error[{code}]" in result.stderr
    result = asmevo("repack", f"{DATA / 'gnu.a'}!a_member_with_a_long_name.o", DATA / "histogram.o", "-o", tmp_path / "out.a")
    assert "error[E0158]" in result.stderr
    assert not list(tmp_path.iterdir())
