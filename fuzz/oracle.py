"""What a reader may do with a hostile input: succeed, or refuse it with a diagnostic that says where.

Owns the rules, and nothing of how inputs are made or run.
"""

from __future__ import annotations

import re
import traceback
from dataclasses import dataclass

from asmevo.diagnostics import Diagnostic, DiagnosticError

CPU_LIMIT_S = 5.0
MEMORY_LIMIT_BYTES = 1 << 30

_CODE = re.compile(r"E0[1-7]\d\d")
_MAX_SHOWN = 16 << 10

WHOLE_INPUT = {
    "E0101": "the input is of another kind altogether",
    "E0107": "there is no metadata note: no place holds what is missing",
    "E0109": "there is no kernel, or none of the name asked for",
    "E0110": "there is no symbol of the name asked for",
    "E0111": "there is no .text section",
    "E0113": "the file cannot be opened",
    "E0134": "the source holds no instruction",
    "E0135": "the input is too large",
    "E0151": "the container has too much in it",
    "E0152": "no member is of the name or chip asked for",
    "E0157": "JSON beside an object, read whole",
    "E0165": "JSON and tables of profilers, read whole",
    "E0166": "the profile as a whole",
    "E0229": "a captured dispatch's JSON, read whole",
    "E0220": "the launch file cannot be read",
    "E0207": "the settings file cannot be read",
    "E0602": "the chip asked for",
    "E0606": "the code as a whole",
    "E0625": "the source lacks a target, a kernel or metadata",
    "E0626": "the assembler was stopped",
}
"""Codes that may stand without offset, line or column, and why there is none."""


class Wrong(Exception):
    """An input that was accepted does not come back, or was refused without saying where."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: what went wrong, a signature that is the same for all inputs that meet it, and the traceback if any."""

    kind: str
    signature: str
    detail: str


def check_refusal(error: DiagnosticError) -> None:
    """Raise Wrong when a refusal has no code, no message, no place, or is longer than anyone reads."""
    if not error.diagnostics:
        raise Wrong("a refusal without a diagnostic")
    for diagnostic in error.diagnostics:
        _check(diagnostic)


def _check(diagnostic: Diagnostic) -> None:
    code, span = diagnostic.code, diagnostic.span
    if not _CODE.fullmatch(code) or not diagnostic.message.strip():
        raise Wrong(f"'{code}' is no code, or the message is empty")
    shown = diagnostic.render()
    if len(shown) > _MAX_SHOWN:
        raise Wrong(f"{code}: {len(shown)} characters are shown")
    if any(not c.isprintable() for c in shown.replace("\n", "")):
        raise Wrong(f"{code}: control characters are shown")
    if code in WHOLE_INPUT:
        return
    if span is None or (span.offset is None and not (span.line > 0 and span.column > 0)):
        raise Wrong(f"{code} has no place: {_shape(diagnostic.message)}")
    if span.offset is not None and span.offset < 0:
        raise Wrong(f"{code} has a negative offset")


def _shape(message: str) -> str:
    """The message without what varies from input to input."""
    return re.sub(r"'[^']*'|\d+|0x[0-9a-f]+", "_", message)[:120]


def fault_of(error: BaseException) -> Fault:
    """Describe an exception that should not have been; its signature is its type and the innermost frames in the package."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "/asmevo/" in f.filename]
    where = " < ".join(f"{f.filename.rpartition('/asmevo/')[2]}:{f.name}:{f.lineno}" for f in reversed(frames[-2:]))
    kind = "wrong" if isinstance(error, Wrong) else type(error).__name__
    signature = f"{kind}: {str(error)[:160]}" if isinstance(error, Wrong) else f"{kind} at {where}"
    return Fault(kind, signature, "".join(traceback.format_exception(error))[-6000:])
