"""The commands and the Python that docs/captures.md shows are run on samples of our own, and print what it shows."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from asmevo.cli.main import app
from shown_samples import write_samples
from support import EXAMPLES

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "captures.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```console\n(.*?)```", TEXT, re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("docs")
    (path / "examples").symlink_to(EXAMPLES)
    write_samples(path)
    return path


def pattern(shown):
    """A regular expression for shown output: a line of dots is any lines."""
    lines = [".*?\n" if line == "..." else re.escape(line) + "\n" for line in shown.splitlines()]
    return re.compile("".join(f"(?s:{line})" if line == ".*?\n" else line for line in lines) + r"\Z")


def test_shown_commands_print_what_is_shown(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert len(BLOCKS) == 4
    for block in BLOCKS:
        commands = [line for line in block.splitlines() if line.startswith("$ ")]
        output = ""
        for command in commands:
            result = CliRunner().invoke(app, shlex.split(command)[2:])
            output += result.stdout + result.stderr
        shown = "\n".join(line for line in block.splitlines() if not line.startswith("$ ")) + "\n"
        assert pattern(shown).fullmatch(output), f"{commands}\n{output}"


def test_the_python_shown_runs(folder, monkeypatch):
    monkeypatch.chdir(folder)
    (code,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    names: dict[str, object] = {}
    exec(code, names)
    windows = names["windows"]
    assert windows[0].lost >= windows[-1].lost > 0
