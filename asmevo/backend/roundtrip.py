"""Whether an object that nobody edited comes back byte for byte.

Owns the check of one file, as plain data in and out so that it can run in another process. Finding files, running many of them
and printing belong to the command.
"""

from __future__ import annotations

import enum
import time
from dataclasses import dataclass

from asmevo.backend.build import text_roundtrip
from asmevo.backend.inputs import load_input
from asmevo.backend.writer import rebuild
from asmevo.collector import collector_paused
from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.codeobject import CodeObject
from asmevo.frontend.recover import recover


class Way(str, enum.Enum):
    """What an object goes through on its way back to bytes."""

    IR = "ir"
    """Recovered kernels, each put into the object again."""
    TEXT = "text"
    """The printed text, assembled against the object."""


class Outcome(str, enum.Enum):
    """What came of one file."""

    IDENTICAL = "identical"
    DIFFERENT = "different"
    REFUSED = "refused"
    """The file cannot be read, or holds what AsmEvo refuses: nothing was compared."""


@dataclass(frozen=True, slots=True)
class FileResult:
    """One file's outcome. `kind` is target and code object version, "" when the file could not be read; `cpu_s` seconds."""

    file: str
    outcome: Outcome
    kind: str = ""
    detail: str = ""
    kernels: int = 0
    instructions: int = 0
    cpu_s: float = 0.0


def check_file(path: str, ways: tuple[Way, ...]) -> FileResult:
    """Send one file every way named and compare; what AsmEvo refuses becomes a REFUSED result, never an exception."""
    with collector_paused():
        return _check(path, ways)


def _check(path: str, ways: tuple[Way, ...]) -> FileResult:
    started = time.process_time()
    kind, kernels, instructions = "", 0, 0
    try:
        obj = load_input(path)
        kind, kernels = f"{obj.target} code object v{obj.abi_version + 2}", len(obj.kernels)
        differences: list[str] = []
        recovered = {entry.name: recover(obj, entry.name) for entry in obj.kernels}
        for name, kernel in recovered.items():
            instructions += sum(len(block.instructions) for block in kernel.blocks)
            if Way.IR in ways:
                differences += _compare(obj, rebuild(obj, kernel), f"kernel '{name}' through IR")
        if Way.TEXT in ways:
            differences += _compare(obj, text_roundtrip(obj, recovered), "through text")
    except DiagnosticError as error:
        detail = error.diagnostics[0].concise()
        return FileResult(path, Outcome.REFUSED, kind, detail, kernels, instructions, time.process_time() - started)
    outcome = Outcome.DIFFERENT if differences else Outcome.IDENTICAL
    return FileResult(path, outcome, kind, "; ".join(differences), kernels, instructions, time.process_time() - started)


def _compare(obj: CodeObject, data: bytes, way: str) -> list[str]:
    if data == obj.data:
        return []
    if len(data) != len(obj.data):
        return [f"{way}: {len(data)} bytes instead of {len(obj.data)}"]
    place = next(n for n, (old, new) in enumerate(zip(obj.data, data, strict=True)) if old != new)
    return [f"{way}: first difference at 0x{place:x}"]
