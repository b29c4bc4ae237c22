from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from asmevo.cli.main import app
from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from asmevo.ir.printer import print_instruction
from code_objects import Function, make_object
from profiles import STOCHASTIC, sample_row, table, trace_json, trace_rows
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


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    loaded = load_file(SOFTMAX)
    folder = tmp_path / "ui_output_agent_1_dispatch_1"
    folder.mkdir()
    (folder / "code.json").write_text(trace_json(trace_rows(list(recover(loaded).instructions()), loaded.text.address)))
    return folder


def test_a_profile_is_a_view_and_a_column(trace: Path) -> None:
    result = run(SOFTMAX, "--profile", trace)
    assert result.exit_code == 0
    assert "== profile ==\nthread trace: seen 146,070, cycles lost 730,350, on a device" in result.stdout
    listing = run(SOFTMAX, "--profile", trace / "code.json", "--view", "listing").stdout
    assert " stall  lost depth" in listing
    assert " stall  lost depth" not in run(SOFTMAX, "--view", "listing").stdout
    assert re.search(r"\+0x9fc .* 0\.4% +s_nop 0", listing)


def test_a_profile_as_json(trace: Path) -> None:
    data = json.loads(run(SOFTMAX, "--profile", trace, "--view", "profile,listing", "--format", "json").stdout)
    views = data["files"][0]["kernels"][0]["views"]
    assert sum(place["share"] for place in views["profile"]["places"]) == pytest.approx(1)
    assert views["profile"]["places"][0]["lost"] == 540 * 5
    measured = [line["measured"] for block in views["listing"]["blocks"] for line in block["lines"]]
    assert sum(measured) == pytest.approx(1)
    plain = json.loads(run(SOFTMAX, "--view", "listing", "--format", "json").stdout)
    assert {line["measured"] for b in plain["files"][0]["kernels"][0]["views"]["listing"]["blocks"] for line in b["lines"]} == {
        None
    }


def test_samples_without_addresses(tmp_path: Path) -> None:
    kernel = recover(load_file(SOFTMAX))
    wait = next(i for i in kernel.instructions() if print_instruction(i) == "s_waitcnt vmcnt(0)")
    path = tmp_path / "samples.csv"
    path.write_text(table(STOCHASTIC, [sample_row(wait, reason="WAITCNT")] * 3 + [sample_row("s_endpgm")] + [sample_row("")]))
    shown = run(SOFTMAX, "--profile", path, "--view", "profile").stdout
    assert "stochastic PC samples: seen 4, samples stalled 3, on a device" in shown
    assert "1 entries name no place" in shown
    assert "waitcnt" in shown


def test_a_profile_in_the_page(trace: Path) -> None:
    page = run(SOFTMAX, "--profile", trace, "--format", "html").stdout
    assert '"told":["measured: 1 executions, 10 cycles to issue, 4 of them stalled, 1 idle before"' in page
    plain = run(SOFTMAX, "--format", "html").stdout
    assert '"measured":[],"told":[]' in plain


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((KERNELS / "vector_add.co", "--profile", "TRACE"), "error[E0166]: the profile is of another object"),
        ((SOFTMAX, "--profile", SOFTMAX), "error[E0165]: neither PC samples"),
        ((SOFTMAX, "--profile", SOFTMAX, "--format", "html"), "error[E0165]: neither PC samples"),
        ((SOFTMAX, "--profile", "nothing.csv"), "error[E0165]: no such file"),
        ((KERNELS, "--profile", "TRACE"), "error[E0208]: a profile is of one file"),
    ],
)
def test_what_is_no_profile_of_the_file_is_refused(trace: Path, words: tuple[str | Path, ...], told: str) -> None:
    result = run(*(trace if word == "TRACE" else word for word in words))
    assert result.exit_code == 2
    assert told in result.stderr


def test_the_profile_view_without_a_profile_says_so() -> None:
    assert "no profile was given" in run(SOFTMAX, "--view", "profile").stdout
    assert "== profile ==" not in run(SOFTMAX, "--view", "all").stdout
