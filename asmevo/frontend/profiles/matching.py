"""The rows of a profile as instructions of a kernel.

Owns the rules. By address: a row belongs to the instruction at its address, and nearly all must have that mnemonic, or the
profile is of another object. Without addresses, by text: a dispatch is the kernel's when nearly all that was sampled in
it stands in the kernel, and what stands there at several places is spread over them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from asmevo.diagnostics import Span, fail, printable
from asmevo.frontend.profiles.counts import NOTHING, Counts, Method, Profile, Row
from asmevo.ir.instruction import Instruction
from asmevo.ir.kernel import Kernel
from asmevo.ir.printer import print_instruction

_ENOUGH = 0.95
"""What share must agree. Not all: a trap handler's or another kernel's samples may be among them."""
_SUFFIXES = ("_e32", "_e64", "_dpp", "_sdwa")
_TO_LABELS = ("s_branch", "s_cbranch", "s_call", "s_subvector")
_COMMENT = re.compile(r"\s*(?://|;).*")
_SPACES = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class KernelProfile:
    """What was measured of a kernel, by its instructions' uids.

    `elsewhere` is how often (samples or executions) other code was met, `spread` how much of the kernel's own is spread over
    places with the same text, `undecoded` what the profiler could not place.
    """

    file: str
    method: Method
    by_uid: Mapping[int, Counts]
    total: Counts
    elsewhere: float
    spread: float
    undecoded: int

    def counts(self, instruction: Instruction) -> Counts:
        """What was measured of an instruction."""
        return self.by_uid.get(instruction.uid, NOTHING)

    def lost(self, instruction: Instruction) -> float:
        """What measures the time lost at an instruction, see `Counts.lost`."""
        return self.counts(instruction).lost(self.method)

    def share(self, instruction: Instruction) -> float:
        """The instruction's part of all that was lost in the kernel."""
        total = self.total.lost(self.method)
        return self.lost(instruction) / total if total else 0.0


def match_profile(profile: Profile, kernel: Kernel, text_address: int | None) -> KernelProfile | None:
    """The profile of a kernel; None when it has no row of it. `text_address` is where its object's .text lies, if known.

    Raises E0166 when addresses fall into the kernel but have other instructions there.
    """
    groups: dict[int, list[Row]] = {}
    for row in profile.rows:
        groups.setdefault(row.group, []).append(row)
    found: dict[int, Counts] = {}
    spread, elsewhere, refused = 0.0, 0.0, ""
    places, texts = _places(kernel), _texts(kernel)
    for rows in groups.values():
        seen = sum(row.counts.seen(profile.method) for row in rows)
        if all(row.address is not None for row in rows):
            taken, told = _by_address(rows, places, text_address)
            refused = refused or told
        else:
            taken, several = _by_text(rows, texts, profile.method)
            spread += several
        for uid, counts in taken.items():
            found[uid] = found.get(uid, NOTHING) + counts
        elsewhere += seen - sum(counts.seen(profile.method) for counts in taken.values())
    if not found:
        if refused:
            fail("E0166", f"the profile is of another object: {refused}", Span(profile.file), "profile the object given")
        return None
    total = sum(found.values(), NOTHING)
    return KernelProfile(profile.file, profile.method, found, total, max(elsewhere, 0.0), spread, profile.undecoded)


def match_profiles(profile: Profile, kernels: Sequence[Kernel], text_address: int | None) -> dict[str, KernelProfile]:
    """The profiles of those kernels that it has rows of, by name. Raises E0166 when there are none."""
    found = {kernel.name: match_profile(profile, kernel, text_address) for kernel in kernels}
    matched = {name: one for name, one in found.items() if one is not None}
    if not matched:
        names = ", ".join(printable(kernel.name) for kernel in kernels[:3])
        fail("E0166", f"no row of the profile is of {names}", Span(profile.file), "profile a run of the object given")
    return matched


def _places(kernel: Kernel) -> dict[int, Instruction]:
    return {i.offset: i for i in kernel.instructions() if i.offset is not None}


def _texts(kernel: Kernel) -> dict[str, list[Instruction]]:
    found: dict[str, list[Instruction]] = {}
    for instruction in kernel.instructions():
        found.setdefault(normal_text(print_instruction(instruction)), []).append(instruction)
    return found


def normal_text(text: str) -> str:
    """An instruction as every disassembler writes it: no comment, no suffix of the encoding, no label, no space twice."""
    mnemonic, operands = _parted(text)
    if mnemonic.startswith(_TO_LABELS):
        return mnemonic
    return f"{mnemonic} {operands}".rstrip()


def _parted(text: str) -> tuple[str, str]:
    mnemonic, _, operands = _COMMENT.sub("", text).strip().lower().partition(" ")
    for suffix in _SUFFIXES:
        mnemonic = mnemonic.removesuffix(suffix)
    return mnemonic, _SPACES.sub("", operands)


def _by_address(rows: Sequence[Row], places: Mapping[int, Instruction], base: int | None) -> tuple[dict[int, Counts], str]:
    """The counts by uid, and why there are none: addresses are those of the ELF file, else counted from .text."""
    refused = ""
    first, last = min(places, default=0), max(places, default=-1)
    for start in (base, 0) if base else (0,):
        taken: dict[int, Counts] = {}
        agree = differ = 0
        for row in rows:
            offset = (row.address or 0) - start
            if not first <= offset <= last:
                continue
            there = places.get(offset)
            if there is None or (row.text and _parted(row.text)[0] != _parted(there.mnemonic)[0]):
                differ += 1
                continue
            agree += 1
            taken[there.uid] = taken.get(there.uid, NOTHING) + row.counts
        if agree and agree >= _ENOUGH * (agree + differ):
            return taken, ""
        if agree:
            refused = f"at {differ} of {agree + differ} addresses the kernel has no such instruction"
    return {}, refused


def _by_text(
    rows: Sequence[Row], texts: Mapping[str, Sequence[Instruction]], method: Method
) -> tuple[dict[int, Counts], float]:
    """The counts by uid of one dispatch, none when it is another kernel's; and how much was spread."""
    named = [(normal_text(row.text), row.counts) for row in rows]
    known = sum(counts.seen(method) for text, counts in named if text in texts)
    if not known or known < _ENOUGH * sum(counts.seen(method) for _, counts in named):
        return {}, 0.0
    taken: dict[int, Counts] = {}
    spread = 0.0
    for text, counts in named:
        there = texts.get(text, ())
        for instruction in there:
            taken[instruction.uid] = taken.get(instruction.uid, NOTHING) + counts.part(1 / len(there))
        spread += counts.seen(method) if len(there) > 1 else 0.0
    return taken, spread
