"""A proposal made into a measured candidate, or refused: the gates FORM to REBUILD.

Whatever a proposer hands over is written out as an edit of the parent (instructions by number or by text) and made again from
that, so that what is judged, stored and replayed is the same, and no object of a plugin's making gets any further.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.line import parse_line
from asmevo.ir.instruction import Instruction
from asmevo.ir.kernel import Kernel
from asmevo.ir.printer import print_instruction
from asmevo.ir.rewriter import Rewriter
from asmevo.ir.verifier import verify_kernel
from asmevo.search.digests import kernel_digest
from asmevo.search.evaluation import Evaluator, Measured, Refusal
from asmevo.search.lineage import edits
from asmevo.search.profile import AS_ORIGINAL, Counts, Profile
from asmevo.search.proposal import Proposal, WindowText
from asmevo.search.records import Gate, Status

TEXT_LIMIT = 1 << 20
"""Bytes of a window's text; the longest block of a production kernel is a tenth of it."""
GROWTH = 256
"""Instructions that a window may have more than it had, beyond twice as many."""
TOLD_LIMIT = 2000
"""Characters kept of a description or a reason."""
NOTES_LIMIT = 1 << 16
"""Characters of JSON kept of a proposal's notes."""
_MOST_COUNTED = 1 << 53
"""Executions that are believed; more are no number of a run."""
_NOTHING = WindowText("", 0, 0, "")


@dataclass(frozen=True, slots=True)
class Draft:
    """A proposal that came through, as an edit of its parent; with `status` one that did not, with `gate` and `reason`.

    `digest` is that of the candidate's text (of the proposal's, when it made no candidate).
    """

    proposal: Proposal
    """Without its change, which `edit` says, and without its forecast, for which `counts` stand."""
    digest: str
    edit: Mapping[str, Any] | None = None
    measured: Measured | None = None
    status: Status | None = None
    gate: Gate = Gate.REBUILD
    reason: str = ""
    counts: Counts = field(default_factory=dict[str, int])
    """How often blocks run that do not run as in K0: what it was measured with."""


def drafted(proposal: Proposal, parent: Kernel, evaluator: Evaluator, bar: float, parent_counts: Counts = AS_ORIGINAL) -> Draft:
    """What a proposal comes to. Never raises for what a proposer made. Above `bar` cycles the object is not made.

    `parent_counts` are how often the parent's blocks run where not as in K0; the proposal's forecast goes over them.
    """
    change = proposal.change
    kept = replace(
        proposal,
        change=_NOTHING,
        description=proposal.description[:TOLD_LIMIT],
        where=proposal.where[:200],
        notes=_bounded(proposal),
        counts=AS_ORIGINAL,
    )
    try:
        made = _of_text(change, parent) if isinstance(change, WindowText) else change
        edit, candidate = _remade(parent, made)
        _check_structure(candidate, evaluator.original)
    except Refusal as refused:
        return Draft(
            kept, _digest_of_refused(parent, change), None, None, refused.status, refused.gate, refused.reason[:TOLD_LIMIT]
        )
    digest = kernel_digest(candidate)
    if digest == kernel_digest(parent):
        return Draft(kept, digest, edit, None, Status.NO_CHANGE, Gate.NOVELTY)
    try:
        counts = _counts(proposal, candidate, evaluator.profile, parent_counts)
        return Draft(kept, digest, edit, evaluator.measured(candidate, bar, counts), counts=counts)
    except Refusal as refused:
        return Draft(kept, digest, edit, None, refused.status, refused.gate, refused.reason[:TOLD_LIMIT])


def _counts(proposal: Proposal, candidate: Kernel, profile: Profile, parent_counts: Counts) -> Counts:
    """The parent's counts with the proposal's forecast, as far as that is one; nothing that is as in K0."""
    forecast: Mapping[Any, Any] = proposal.counts
    counts: dict[str, int] = {}
    for block in candidate.blocks:
        told = forecast.get(block.label)
        count = told if type(told) is int and 0 < told < _MOST_COUNTED else parent_counts.get(block.label)
        if count is not None and count != profile.blocks.get(block.label, 0):
            counts[block.label] = count
    return counts


def _bounded(proposal: Proposal) -> Mapping[str, Any]:
    """The notes, when they are plain data of a size that may be kept."""
    try:
        return proposal.notes if len(json.dumps(dict(proposal.notes))) <= NOTES_LIMIT else {"left out": "too long"}
    except (TypeError, ValueError, RecursionError):
        return {"left out": "no plain data"}


def _digest_of_refused(parent: Kernel, change: Kernel | WindowText) -> str:
    text = f"{change.label}\n{change.start}\n{change.stop}\n{change.text}" if isinstance(change, WindowText) else "kernel"
    return sha256(f"{kernel_digest(parent)}\n{text}".encode("utf-8", "replace")).hexdigest()


def _of_text(change: WindowText, parent: Kernel) -> Kernel:
    """The kernel that a window's text makes."""
    block = next((b for b in parent.blocks if b.label == change.label), None)
    if block is None:
        raise Refusal(Status.ILLEGAL, Gate.FORM, f"the kernel has no block '{change.label[:80]}'")
    if not 0 <= change.start <= change.stop <= len(block.instructions):
        raise Refusal(Status.ILLEGAL, Gate.FORM, f"block {block.label} has no window [{change.start}:{change.stop}]")
    if len(change.text) > TEXT_LIMIT:
        raise Refusal(Status.MALFORMED, Gate.FORM, f"{len(change.text)} characters of text; at most {TEXT_LIMIT} are read")
    window = block.instructions[change.start : change.stop]
    members = _parsed(change.text, window)
    rewriter = Rewriter(parent)
    try:
        rewriter.replace_block_instructions(
            block.label, (*block.instructions[: change.start], *members, *block.instructions[change.stop :])
        )
    except DiagnosticError as error:
        raise Refusal(Status.ILLEGAL, Gate.LEGALITY, error.diagnostics[0].message) from error
    return rewriter.kernel


def _parsed(text: str, window: Sequence[Instruction]) -> list[Instruction]:
    lines = _lines(text, 2 * len(window) + GROWTH)
    left = {instruction.uid: instruction for instruction in window}
    named = {uid for _, uid, _ in lines if uid is not None}
    same: dict[str, list[int]] = {}
    for instruction in reversed(window):
        if instruction.uid not in named:
            same.setdefault(print_instruction(instruction), []).append(instruction.uid)
    members: list[Instruction] = []
    for number, uid, line in lines:
        try:
            made = parse_line(line)
        except DiagnosticError as error:
            message = error.diagnostics[0].message
            raise Refusal(Status.MALFORMED, Gate.FORM, f"line {number} is not understood: {message}") from error
        members.append(_known(made, uid, left, same, number))
    return members


def _lines(text: str, most: int) -> list[tuple[int, int | None, str]]:
    """The lines that say something: number, the instruction that each names if any, and its text."""
    lines: list[tuple[int, int | None, str]] = []
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.split("//")[0].split(";")[0].strip()
        if not line:
            continue
        if len(lines) >= most:
            raise Refusal(Status.MALFORMED, Gate.FORM, f"more than {most} instructions, far more than the window has")
        lines.append((number, *_named(line, number)))
    return lines


def _named(line: str, number: int) -> tuple[int | None, str]:
    if not line.startswith("#"):
        return None, line
    word, _, rest = line[1:].partition(" ")
    if not (word.isascii() and word.isdigit() and len(word) < 10):
        raise Refusal(Status.MALFORMED, Gate.FORM, f"line {number} names no instruction: #{word[:20]}")
    return int(word), rest.strip()


def _known(
    made: Instruction, named: int | None, left: dict[int, Instruction], same: dict[str, list[int]], number: int
) -> Instruction:
    """The window's instruction that a line stands for, edited where it says something else; a new one otherwise."""
    text = print_instruction(made)
    uids = same.get(text, [])
    uid = named if named is not None else uids.pop() if uids else None
    if uid is None:
        return made
    if uid not in left:
        raise Refusal(Status.MALFORMED, Gate.FORM, f"line {number}: #{uid} is no instruction of the window, or stands twice")
    before = left.pop(uid)
    if print_instruction(before) == text:
        return before
    return edits.edited_as(before, made)


def _remade(parent: Kernel, made: Kernel) -> tuple[Mapping[str, Any], Kernel]:
    try:
        edit = edits.encoded(parent, made)
        return edit, edits.applied(parent, edit)
    except DiagnosticError as error:
        raise Refusal(Status.ILLEGAL, Gate.LEGALITY, error.diagnostics[0].message) from error


def _check_structure(candidate: Kernel, original: Kernel) -> None:
    findings = verify_kernel(candidate, original)
    if findings:
        first = findings[0]
        raise Refusal(Status.ILLEGAL, Gate.LEGALITY, f"{first.code}: {first.block}: {first.message}")
