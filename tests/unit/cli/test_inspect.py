from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from asmevo.cli.main import app
from code_objects import Function, make_object
from support import EXAMPLES

SOFTMAX, MATMUL = EXAMPLES / "kernels" / "softmax.co", EXAMPLES / "kernels" / "matmul_fp16.co"


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def test_info_shows_resources_against_limits() -> None:
    result = run("info", SOFTMAX)
    assert result.exit_code == 0
    assert "VGPR: 19, allocated 20 of 256" in result.stdout
    assert "waves per SIMD: 8" in result.stdout
    assert "+16     4 B  by_value" in result.stdout
    assert "waves start at the entry, or 256 bytes behind it" in result.stdout


def test_info_as_json() -> None:
    found = json.loads(run("info", SOFTMAX, "--format", "json", "--legal-on", "gfx90a").stdout)
    assert (found["target"], found["code_object_version"]) == ("gfx942", 5)
    (kernel,) = found["kernels"]
    assert {use["name"]: use["used"] for use in kernel["uses"]}["SGPR"] == 15
    assert found["legality"][0]["illegal"] == []


def test_info_validates() -> None:
    result = run("info", SOFTMAX, "--validate")
    assert result.exit_code == 0
    assert "0 error(s)" in result.stdout


def test_info_exits_with_1_on_a_broken_rule(tmp_path: Path) -> None:
    data = bytearray(SOFTMAX.read_bytes())
    struct.pack_into("<I", data, 48, 0x154C)
    bad = tmp_path / "bad.co"
    bad.write_bytes(data)
    result = run("info", bad, "--validate")
    assert result.exit_code == 1
    assert "error[E0648]" in result.stdout
    assert run("info", bad).exit_code == 0


def test_info_lists_what_another_chip_lacks() -> None:
    result = run("info", MATMUL, "--legal-on", "gfx90a")
    assert result.exit_code == 1
    assert "v_lshl_add_u64" in result.stdout
    assert "not supported on this GPU" in result.stdout
    assert run("info", MATMUL, "--legal-on", "gfx90b").exit_code == 2


def test_diff_of_equal_files() -> None:
    result = run("diff", SOFTMAX, SOFTMAX)
    assert (result.exit_code, result.stdout) == (0, "identical\n")


def test_diff_as_text_and_json(tmp_path: Path) -> None:
    old, new = tmp_path / "old.co", tmp_path / "new.co"
    old.write_bytes(make_object([Function("k", ("s_mov_b32 s4, 8", "s_endpgm"))]))
    new.write_bytes(make_object([Function("k", ("s_nop 1", "s_mov_b32 s4, 8", "s_endpgm"))]))
    result = run("diff", old, new)
    assert result.exit_code == 1
    assert "k: 2 instructions the same, 1 added" in result.stdout
    assert "  +        000000  s_nop 1" in result.stdout
    found = json.loads(run("diff", old, new, "--format", "json").stdout)
    assert found["kernels"][0]["instructions"] == [{"change": "added", "text": "s_nop 1", "old_offset": None, "new_offset": 0}]


def test_diff_names_kernels_without_a_partner() -> None:
    result = run("diff", SOFTMAX, MATMUL)
    assert result.exit_code == 1
    assert "softmax: only in the old object" in result.stdout
    assert "matmul_fp16: only in the new object" in result.stdout


def test_diff_of_what_is_no_object(tmp_path: Path) -> None:
    (tmp_path / "x.co").write_bytes(b"\x7fELF")
    assert run("diff", SOFTMAX, tmp_path / "x.co").exit_code == 2
    assert run("diff", tmp_path / "missing.co", SOFTMAX).exit_code == 2


@pytest.mark.parametrize("command", ["info", "diff", "roundtrip", "opt"])
def test_help_has_an_example(command: str) -> None:
    assert f"Example: asmevo {command}" in " ".join(run(command, "--help").stdout.split())


def test_opt_in_place_refuses_what_changes_a_size(tmp_path: Path) -> None:
    out = tmp_path / "new.co"
    result = run("opt", SOFTMAX, "--passes", "nop-trim", "--in-place", "--verify", "static", "-o", out)
    assert result.exit_code == 2
    assert "E0630" in result.output
    assert not out.exists()
    result = run("opt", SOFTMAX, "--passes", "waitcnt-relax", "--in-place", "--verify", "static", "-o", out)
    assert result.exit_code == 0
    assert len(out.read_bytes()) == len(SOFTMAX.read_bytes())
