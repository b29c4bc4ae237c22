"""Collects each .s file with a RUN line and runs it: `; RUN: asmevo ... %s | filecheck %s`.

A directive word that is neither known nor a declared prefix is a failure, and so is a test without a check.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

_DIRECTIVE = re.compile(r"^\s*;\s*([A-Z][A-Z0-9_-]*):")
_RUN = re.compile(r"^\s*;\s*RUN:\s*(.*)$")
_SUFFIXES = ("", "-NEXT", "-NOT", "-SAME", "-LABEL", "-DAG", "-COUNT", "-EMPTY")


class CheckFailure(Exception):
    """A run or a check that did not hold; the text is what is shown."""


def require_known_directives(runs: list[str], lines: list[str]) -> None:
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


class CheckItem(pytest.Item):
    def runtest(self) -> None:
        lines = self.path.read_text(encoding="utf-8").splitlines()
        runs = [match[1] for line in lines if (match := _RUN.match(line))]
        if not runs:
            raise CheckFailure("the file has no RUN line")
        require_known_directives(runs, lines)
        for run in runs:
            self._run(run, lines)

    def _run(self, run: str, lines: list[str]) -> None:
        left, _, right = run.partition("| filecheck")
        arguments = [part.replace("%s", str(self.path)) for part in shlex.split(right)]
        command = [part.replace("%s", str(self.path)) for part in shlex.split(left.replace("2>&1", ""))]
        assert command[0] == "asmevo"
        try:
            result = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, timeout=60, check=False)
        except subprocess.TimeoutExpired as error:
            raise CheckFailure(f"no end within 60 s: {' '.join(command)}") from error
        expected = next((int(m[1]) for line in lines if (m := re.match(r"^\s*;\s*EXIT:\s*(\d+)", line))), 0)
        if result.returncode != expected:
            raise CheckFailure(f"exit {result.returncode}, not {expected}: {' '.join(command)}\n{result.stderr}")
        output = result.stdout + (result.stderr if "2>&1" in left else "")
        with tempfile.NamedTemporaryFile("w", suffix=".out") as file:
            file.write(output)
            file.flush()
            check = subprocess.run(
                [sys.executable, "-m", "filecheck", *arguments, "--input-file", file.name],
                capture_output=True, text=True, timeout=60, check=False,
            )  # fmt: skip
        if check.returncode:
            raise CheckFailure(f"{check.stdout}{check.stderr}\ncommand: {' '.join(command)}\noutput:\n{output}")

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
