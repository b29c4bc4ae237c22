"""Collects each .s file with a RUN line and runs it: `; RUN: asmevo ... %s | filecheck %s`.

A directive word that is neither known nor a declared prefix is a failure, and so is a test without a check. Both programs run
inside the test process, where they start at once; the exit code and what they print are those of the commands.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import tempfile
from pathlib import Path

import pytest
from filecheck.matcher import Matcher
from filecheck.options import parse_argv_options

from asmevo.cli.main import app

_DIRECTIVE = re.compile(r"^\s*;\s*([A-Z][A-Z0-9_-]*):")
_RUN = re.compile(r"^\s*;\s*RUN:\s*(.*)$")
_EXIT = re.compile(r"^\s*;\s*EXIT:\s*(\d+)")
_SUFFIXES = ("", "-NEXT", "-NOT", "-SAME", "-LABEL", "-DAG", "-COUNT", "-EMPTY")


class CheckFailure(Exception):
    """A run or a check that did not hold; the text is what is shown."""


def check_file(path: Path) -> None:
    """Runs every RUN line of a test file. Raises CheckFailure."""
    lines = path.read_text(encoding="utf-8").splitlines()
    runs = [match[1] for line in lines if (match := _RUN.match(line))]
    if not runs:
        raise CheckFailure("the file has no RUN line")
    _require_known_directives(runs, lines)
    expected = next((int(match[1]) for line in lines if (match := _EXIT.match(line))), 0)
    for run in runs:
        _check_run(run, path, expected)


def _require_known_directives(runs: list[str], lines: list[str]) -> None:
    """Every directive word belongs to a prefix of some run, and every prefix has a check."""
    prefixes: set[str] = set()
    for run in runs:
        _, separator, right = run.partition("| filecheck")
        if not separator:
            raise CheckFailure(f"RUN line without '| filecheck': {run}")
        declared = {word.split("=", 1)[1] for word in shlex.split(right) if word.startswith("--check-prefix=")}
        prefixes |= declared or {"CHECK"}
    words = {match[1] for line in lines if (match := _DIRECTIVE.match(line))}
    allowed = {"RUN", "COM", "EXIT"} | {prefix + suffix for prefix in prefixes for suffix in _SUFFIXES}
    if unknown := sorted(words - allowed):
        raise CheckFailure(f"unknown directive: {', '.join(unknown)}")
    for prefix in sorted(prefixes):
        # A -NOT alone also holds for empty output, so it is no check.
        if not words & {prefix + suffix for suffix in _SUFFIXES if suffix != "-NOT"}:
            raise CheckFailure(f"no check for the prefix {prefix}")


def _check_run(run: str, path: Path, expected: int) -> None:
    left, _, right = run.partition("| filecheck")
    words = [word.replace("%s", str(path)) for word in shlex.split(left.replace("2>&1", ""))]
    if words[0] != "asmevo":
        raise CheckFailure(f"a RUN line starts with asmevo, not '{words[0]}'")
    code, output, errors = _captured(lambda: app(words[1:], prog_name="asmevo"))
    if code != expected:
        raise CheckFailure(f"exit {code}, not {expected}: {shlex.join(words)}\n{errors}")
    output += errors if "2>&1" in left else ""
    arguments = [word.replace("%s", str(path)) for word in shlex.split(right)]
    with tempfile.NamedTemporaryFile("w", suffix=".out") as file:
        file.write(output)
        file.flush()
        options = parse_argv_options(["filecheck", *arguments, "--input-file", file.name])
        code, shown, errors = _captured(lambda: Matcher.from_opts(options).run())
    if code:
        raise CheckFailure(f"{shown}{errors}\ncommand: {shlex.join(words)}\noutput:\n{output}")


def _captured(call) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command."""
    with contextlib.redirect_stdout(io.StringIO()) as output, contextlib.redirect_stderr(io.StringIO()) as errors:
        try:
            code = call() or 0
        except SystemExit as error:
            code = error.code or 0
    return code, output.getvalue(), errors.getvalue()


class CheckItem(pytest.Item):
    def runtest(self) -> None:
        check_file(self.path)

    def repr_failure(self, excinfo, style=None):
        if isinstance(excinfo.value, CheckFailure):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self):
        return self.path, 0, f"filecheck: {self.name}"


class CheckFile(pytest.File):
    def collect(self):
        yield CheckItem.from_parent(self, name=self.path.stem)


def pytest_collect_file(file_path: Path, parent: pytest.Collector):
    if file_path.suffix == ".s":
        return CheckFile.from_parent(parent, path=file_path)
    return None
