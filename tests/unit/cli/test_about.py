from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner, Result

from asmevo.backend import assembler
from asmevo.cli.main import app
from asmevo.frontend import llvm
from asmevo.passes.presets import PRESETS

COMMANDS = sorted(typer.main.get_command(app).commands)  # type: ignore[attr-defined]


def run(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_an_example_in_its_help(command: str) -> None:
    assert re.search(rf"Example: .*asmevo {command}\b", run(command, "--help").output)


def test_explain_takes_codes_passes_and_opcodes_in_any_case() -> None:
    for word, said in (("e0501", "E0501: a wait is missing"), ("NOP-TRIM", "Rewrite:"), ("V_ADD_F32", "v_add_f32 (vop2")):
        result = run("explain", word)
        assert (result.exit_code, said in result.stdout) == (0, True)


def test_presets_are_listed_and_explained() -> None:
    for name, pipeline in PRESETS.items():
        assert run("explain", name.lower()).stdout == f"{name} stands for the pipeline {pipeline}\n"
        assert re.search(rf"^{name} +{pipeline}$", run("passes").stdout, re.MULTILINE)
    assert "O2" not in [each["name"] for each in json.loads(run("passes", "--format", "json").stdout)]


def test_explain_calls_a_field_without_registers_an_immediate() -> None:
    assert re.search(r"simm16 +read +immediate", run("explain", "s_waitcnt").stdout)


@pytest.mark.parametrize(
    ("word", "near"), [("v_ad_f32", "'v_add_f32'"), ("waitcnt-relx", "'waitcnt-relax'"), ("E05011", "'E0501'")]
)
def test_explain_does_not_take_everything_unknown_for_a_pass(word: str, near: str) -> None:
    result = run("explain", word)
    assert result.exit_code == 2
    assert f"error[E0214]: '{word}' is no code, pass or opcode" in result.stderr
    assert near in result.stderr


def test_an_option_is_listed_as_a_pipeline_takes_it() -> None:
    assert "physical=false" in run("passes").stdout


def test_config_shows_values_as_the_file_spells_them() -> None:
    shown = run("config").stdout
    assert "input = (not set)  (default)" in shown
    assert 'verify.level = "smt"  (default)' in shown


def test_doctor_is_content_here() -> None:
    result = run("doctor", "--format", "json")
    assert result.exit_code == 0
    checks = {check["name"]: check for check in json.loads(result.stdout)}
    assert checks["LLVM"]["works"] is checks["LLVM"]["needed"] is True
    assert checks["GPU"]["needed"] is False
    assert run("doctor", "--format", "concise").stdout == ""


def test_doctor_exits_with_2_and_a_remedy_when_a_package_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    find: Callable[..., Any] = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name == "z3" else find(name, *more))
    result = run("doctor")
    assert result.exit_code == 2
    assert "z3: missing (proofs); to mend it: pip install z3-solver" in result.stdout


def test_doctor_says_so_when_the_assembler_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assembler, "assemble", lambda *_: [b"\0\0\0\0"])
    result = run("doctor")
    assert result.exit_code == 2
    assert "assembler for gfx942: gives wrong bytes; to mend it: " in result.stdout


def test_doctor_survives_without_llvm(monkeypatch: pytest.MonkeyPatch) -> None:
    from asmevo.diagnostics import fail

    monkeypatch.setattr(llvm, "find_library", lambda: fail("E0601", "no LLVM library was found", help="install it"))
    result = run("doctor")
    assert result.exit_code == 2
    assert "LLVM: no LLVM library was found; to mend it: install it" in result.stdout
    assert "z3: found" in result.stdout


@pytest.mark.parametrize(
    ("words", "flag"),
    [
        (("opt", "x.co", "--verify", "maybe"), "--verify"),
        (("optimize", "x.co", "--budget-s", "-3"), "--budget-s"),
        (("optimize", "x.co", "--budget", "-3"), "--budget-s"),
    ],
)
def test_a_message_names_the_flag_that_there_is(words: tuple[str, ...], flag: str) -> None:
    result = run(*words)
    assert result.exit_code == 2
    assert f"--> {flag}\n" in result.stderr
    assert flag in run(words[0], "--help").output
