from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from asmevo.backend import roundtrip as library
from asmevo.backend.roundtrip import Outcome, Way, check_file
from asmevo.cli.main import app
from code_objects import Function, make_object
from support import EXAMPLES, SHIPPED

KERNELS = EXAMPLES / "kernels"
ALL = (Way.IR, Way.TEXT)


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(app, ["roundtrip", *(str(word) for word in words)])


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_kernel_comes_back(name: str) -> None:
    result = check_file(str(KERNELS / f"{name}.co"), ALL)
    assert result.outcome is Outcome.IDENTICAL, result.detail
    assert (result.kind, result.kernels) == ("gfx942 code object v5", 1)
    assert result.instructions > 0


def test_several_kernels(tmp_path: Path) -> None:
    file = tmp_path / "two.co"
    file.write_bytes(make_object([Function("a", ("s_endpgm",)), Function("b", ("v_nop", "s_endpgm"), extra=3)]))
    assert check_file(str(file), ALL).outcome is Outcome.IDENTICAL


def test_a_difference_is_told_with_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    file = str(KERNELS / "softmax.co")
    monkeypatch.setattr(library, "rebuild", lambda obj, _: obj.data[:100] + b"\xff" + obj.data[101:])
    monkeypatch.setattr(library, "text_roundtrip", lambda obj, _: obj.data[:-1])
    result = check_file(file, ALL)
    assert result.outcome is Outcome.DIFFERENT
    assert "kernel 'softmax' through IR: first difference at 0x64" in result.detail
    assert "through text:" in result.detail
    assert check_file(file, ()).outcome is Outcome.IDENTICAL


def test_the_folder_with_a_summary() -> None:
    result = run(KERNELS, "--quiet")
    assert result.exit_code == 0, result.output
    assert f"gfx942 code object v5: {len(SHIPPED)} identical" in result.stdout
    assert (
        f"{len(SHIPPED)} of {len(SHIPPED)} files ({len(SHIPPED)} kernels) byte-identical through IR and text" in result.stdout
    )
    assert "instructions in" in result.stdout


def test_in_several_processes_as_json(tmp_path: Path) -> None:
    for n in range(20):
        shutil.copy(KERNELS / "vector_add.co", tmp_path / f"{n:02}.co")
    (tmp_path / "bad.hsaco").write_bytes(b"no object")
    (tmp_path / "notes.txt").write_text("not looked at")
    result = run(tmp_path, "--jobs", "2", "--format", "json", "--no-text", "--quiet")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert found["outcomes"] == {"identical": 20, "refused": 1}
    assert found["ways"] == ["ir"]
    assert [Path(r["file"]).name for r in found["results"]] == [*(f"{n:02}.co" for n in range(20)), "bad.hsaco"]
    assert "E0101" in found["results"][-1]["detail"]


def test_nothing_that_can_be_read(tmp_path: Path) -> None:
    assert run(tmp_path).exit_code == 2
    (tmp_path / "bad.co").write_bytes(b"no object")
    result = run(tmp_path)
    assert result.exit_code == 2
    assert "E0101" in result.stdout
    assert run(tmp_path / "missing.co").exit_code == 2


def test_a_choice_of_nothing_is_refused() -> None:
    result = run(KERNELS, "--no-ir", "--no-text")
    assert result.exit_code == 2
