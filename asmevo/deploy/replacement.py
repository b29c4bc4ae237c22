"""An object that may take the place of another, with what shows that it does the same.

Owns the reading of evidence. An object without it is not deployed: its origin and verdict are part of every manifest.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

from asmevo.diagnostics import Span, fail, printable
from asmevo.verify.verdict import Outcome, Verdict

EVIDENCE_SUFFIX = ".evidence.json"
_MAX_EVIDENCE_BYTES = 1 << 26
_ACCEPTED = frozenset(outcome.value for outcome in Outcome if outcome.is_success)


@dataclass(frozen=True, slots=True)
class Replacement:
    """`data` takes the place of the file whose SHA-256 is `original`; `cycles` are modelled, before and after, when known."""

    original: str
    data: bytes
    kernel: str
    target: str
    verdict: str
    basis: tuple[Mapping[str, Any], ...]
    cycles: tuple[float, float] | None = None

    @property
    def digest(self) -> str:
        """The SHA-256 of the new file."""
        return sha256(self.data).hexdigest()


def from_evidence(path: Path, data: bytes) -> Replacement:
    """The replacement that an object and the evidence beside it make.

    Raises E0901 when there is no evidence, it is of another object, or it does not end in success.
    """
    beside = path.with_name(path.name + EVIDENCE_SUFFIX)
    where = Span(str(beside))
    advice = "`asmevo optimize -o` writes it; or give the original: --original K0"
    try:
        raw = beside.read_bytes() if beside.stat().st_size <= _MAX_EVIDENCE_BYTES else b""
        found = cast("object", json.loads(raw))
    except OSError as error:
        fail("E0901", f"no evidence for '{printable(path.name)}': {error.strerror}", where, advice)
    except ValueError:
        fail("E0901", "the evidence is not JSON", where, advice)
    if not isinstance(found, dict):
        fail("E0901", "the evidence is no table", where, advice)
    tree = cast("dict[str, Any]", found)
    if tree.get("object_sha256") != sha256(data).hexdigest():
        fail("E0901", f"the evidence is not of '{printable(path.name)}' as it is now: another hash", where, advice)
    try:
        last = tree["steps"][-1]
        cycles = tree["cycles"]
        made = Replacement(
            original=_digest(tree["k0_sha256"]),
            data=data,
            kernel=str(tree["kernel"]),
            target=str(tree["target"]),
            verdict=str(last["verdict"]),
            basis=tuple(dict(row) for row in last["basis"]),
            cycles=(float(cycles["before"]), float(cycles["after"])),
        )
    except (KeyError, IndexError, TypeError, ValueError) as error:
        fail("E0901", f"the evidence lacks what it should have: {printable(str(error))}", where, advice)
    if made.verdict not in _ACCEPTED:
        fail("E0901", f"the evidence ends in '{printable(made.verdict)}', not in success", where, advice)
    return made


def from_verdict(original: bytes, data: bytes, kernel: str, target: str, verdict: Verdict) -> Replacement:
    """The replacement that a verdict made just now allows. Raises E0901 unless it is a success."""
    if not verdict.outcome.is_success:
        reason = f": {printable(verdict.reason)}" if verdict.reason else ""
        fail("E0901", f"not deployed, the verdict is {verdict.outcome.value}{reason}")
    digest = sha256(original).hexdigest()
    return Replacement(digest, data, kernel, target, verdict.outcome.value, tuple(verdict.basis_data()))


def check_distinct(replacements: Sequence[Replacement]) -> None:
    """Raises E0901 when two objects are to take one file's place."""
    seen: dict[str, str] = {}
    for item in replacements:
        if seen.setdefault(item.original, item.digest) != item.digest:
            fail("E0901", f"two objects would take the place of {item.original[:12]}", help="give one of them")


def _digest(value: object) -> str:
    text = str(value)
    if len(text) != 64 or not set(text) <= set("0123456789abcdef"):
        raise ValueError("a SHA-256 was expected")
    return text
