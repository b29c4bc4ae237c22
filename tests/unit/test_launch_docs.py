"""The commands that docs/launches.md shows are run, and print what it shows; `...` stands for anything."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from asmevo.cli.main import app
from support import EXAMPLES

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "launches.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```console\n(.*?)```", TEXT, re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("docs")
    (path / "examples").symlink_to(EXAMPLES)
    return path


def pattern(shown):
    """A regular expression for shown output: a line of dots is any lines, dots in a line are any text of it."""
    lines = [".*?\n" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*") + "\n" for line in shown.splitlines()]
    return re.compile("".join(f"(?s:{line})" if line == ".*?\n" else line for line in lines) + r"\Z")


def test_blocks_were_found():
    assert len(BLOCKS) >= 9


# In the page's order: a file that one command writes is read by a later one.
def test_shown_commands_print_what_is_shown(folder, monkeypatch):
    monkeypatch.chdir(folder)
    for block in BLOCKS:
        command, _, shown = block.partition("\n")
        words = shlex.split(command)
        assert words[:2] == ["$", "asmevo"]
        result = CliRunner().invoke(app, words[2:])
        output = result.stdout + result.stderr
        assert pattern(shown).fullmatch(output), f"{command}\n{output}"
