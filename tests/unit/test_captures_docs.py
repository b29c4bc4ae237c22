"""The commands and the Python that docs/captures.md shows are run on samples of our own, and print what it shows."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from asmevo.cli.main import app
from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from asmevo.ir.printer import print_instruction
from asmevo.verify.launches import load_launches
from captures import write_capture
from profiles import STOCHASTIC, sample_row, table, trace_json, trace_rows
from support import EXAMPLES

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "captures.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```console\n(.*?)```", TEXT, re.DOTALL)
KERNELS = EXAMPLES / "kernels"


def samples(kernel):
    """Ninety stalled samples, of which thirty stand at a text that the kernel has more than once."""
    texts = [print_instruction(i) for i in kernel.instructions()]
    once = [t for t in texts if texts.count(t) == 1]
    many = next(t for t in texts if t.startswith("s_waitcnt lgkmcnt") and texts.count(t) > 1)
    wait = next(t for t in once if t.startswith("s_waitcnt vmcnt(0)"))
    rows = [sample_row(wait, reason="WAITCNT")] * 60 + [sample_row(many, reason="WAITCNT")] * 30
    return table(STOCHASTIC, rows + [sample_row(next(t for t in once if t.startswith("v_"))) for _ in range(10)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("docs")
    (path / "examples").symlink_to(EXAMPLES)
    vector_add = recover(load_file(KERNELS / "vector_add.co"))
    dispatch = load_launches(EXAMPLES / "launches" / "vector_add.toml", vector_add)[1]
    write_capture(path / "capture", (KERNELS / "vector_add.co").read_bytes(), dispatch)
    loaded = load_file(KERNELS / "softmax.co")
    softmax = recover(loaded)
    (path / "samples.csv").write_text(samples(softmax))
    trace = path / "ui_output_agent_1_dispatch_1"
    trace.mkdir()
    (trace / "code.json").write_text(trace_json(trace_rows(list(softmax.instructions()), loaded.text.address)))
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
