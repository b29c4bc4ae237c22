from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from asmevo.cli.main import app
from code_objects import Function, make_object
from support import EXAMPLES

KERNELS = EXAMPLES / "kernels"
SOFTMAX = KERNELS / "softmax.co"
WRONG = ("global_load_dword v1, v0, s[0:1]", "v_add_u32_e32 v2, v1, v1", "global_store_dword v0, v2, s[0:1]", "s_endpgm")


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(app, ["analyze", *(str(word) for word in words)])


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    path = tmp_path / "wrong.co"
    path.write_bytes(make_object([Function("wrong", WRONG)]))
    return path


def test_a_clean_kernel() -> None:
    result = run(SOFTMAX)
    assert result.exit_code == 0
    assert "gfx942, 540 instructions" in result.stdout
    assert "0 error(s)" in result.stdout


def test_an_error_is_told_and_exits_with_1(wrong: Path) -> None:
    result = run(wrong)
    assert result.exit_code == 1
    assert "error[E0501]: v_add_u32" in result.stdout
    assert "asmevo explain E0501" in result.stdout


@pytest.mark.parametrize(("level", "code"), [("error", 0), ("warning", 0), ("note", 1), ("never", 0)])
def test_fail_on(level: str, code: int) -> None:
    assert run(SOFTMAX, "--fail-on", level).exit_code == code


def test_fail_on_never_with_errors(wrong: Path) -> None:
    assert run(wrong, "--fail-on", "never").exit_code == 0


def test_views_are_chosen() -> None:
    result = run(SOFTMAX, "--view", "waits,loops", "--view", "pressure")
    assert [line for line in result.stdout.splitlines() if line.startswith("==")] == [
        "== waits ==",
        "== loops ==",
        "== pressure ==",
    ]
    assert "waits for" in result.stdout
    everything = run(SOFTMAX, "--view", "all").stdout
    assert "== timeline ==" in everything


def test_an_unknown_view_is_refused() -> None:
    result = run(SOFTMAX, "--view", "wait")
    assert result.exit_code == 2
    assert "did you mean 'waits'?" in result.stderr


def test_concise(wrong: Path) -> None:
    lines = run(wrong, "--format", "concise").stdout.splitlines()
    assert any(line.startswith(f"{wrong}+0x8: error[E0501]: ") or ": error[E0501]: " in line for line in lines)


def test_json(wrong: Path) -> None:
    found = json.loads(run(wrong, "--format", "json", "--view", "all,listing").stdout)
    assert found["version"] == 1
    (kernel,) = found["files"][0]["kernels"]
    assert kernel["counts"]["error"] == 1
    assert set(kernel["views"]) > {"summary", "listing", "memory"}
    assert found["summary"]["internal_errors"] == 0


def test_sarif_of_several_files(wrong: Path) -> None:
    log = json.loads(run(wrong, SOFTMAX, "--format", "sarif", "--quiet").stdout)
    assert len(log["runs"][0]["artifacts"]) == 2
    assert "error" in {result["level"] for result in log["runs"][0]["results"]}


def test_all_kernels_or_one(tmp_path: Path) -> None:
    path = tmp_path / "two.co"
    path.write_bytes(make_object([Function("first", ("s_endpgm",)), Function("second", WRONG)]))
    assert run(path).exit_code == 1
    assert "first (" in run(path).stdout
    assert run(path, "--kernel", "first").exit_code == 0
    assert run(path, "--kernel", "third").exit_code == 2


def test_a_folder(tmp_path: Path, wrong: Path) -> None:
    for name in ("softmax", "histogram"):
        shutil.copy(KERNELS / f"{name}.co", tmp_path)
    result = run(tmp_path, "--quiet")
    assert result.exit_code == 1
    assert "error[E0501]" in result.stdout
    assert "3 files, 3 kernels" in result.stdout
    assert "instructions a second of a core" in result.stdout


def test_a_file_that_is_no_object_among_others(tmp_path: Path) -> None:
    shutil.copy(SOFTMAX, tmp_path)
    (tmp_path / "bad.co").write_bytes(b"text")
    result = run(tmp_path, "--quiet")
    assert result.exit_code == 2
    assert "1 refused" in result.stdout
    assert "E0101" in result.stderr


def test_a_source(tmp_path: Path) -> None:
    path = tmp_path / "k.s"
    path.write_text('.amdgcn_target "amdgcn-amd-amdhsa--gfx942"\nk:\n' + "\n".join(WRONG) + "\n")
    result = run(path)
    assert result.exit_code == 1
    assert "line 4" in result.stdout


def test_the_output_is_written(tmp_path: Path) -> None:
    path = tmp_path / "out.html"
    assert run(SOFTMAX, "--format", "html", "-o", path).exit_code == 0
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert run(SOFTMAX, "-o", tmp_path / "no" / "out.txt").exit_code == 2


def test_a_page_is_of_one_kernel(tmp_path: Path) -> None:
    assert run(KERNELS, "--format", "html").exit_code == 2
    path = tmp_path / "two.co"
    path.write_bytes(make_object([Function("first", ("s_endpgm",)), Function("second", ("s_endpgm",))]))
    result = run(path, "--format", "html")
    assert result.exit_code == 2
    assert "E0109" in result.stderr
    assert run(path, "--format", "html", "--kernel", "first").exit_code == 0


def test_explain_a_code() -> None:
    result = CliRunner().invoke(app, ["explain", "e0501"])
    assert result.exit_code == 0
    assert "Do: put the wait" in result.stdout
