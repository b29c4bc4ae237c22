"""What a container gives: members, the entries they come from, and the limits that hostile files run into."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NoReturn, TypeAlias

from asmevo.diagnostics import Span, fail

Buffer: TypeAlias = "bytes | memoryview[int]"

SEPARATOR = "!"
"""Between a file and its member, and between a member and a member of it."""

MAX_DEPTH = 6
MAX_MEMBERS = 1 << 14
MAX_FILE_BYTES = 512 << 20
"""The length of a file, and of all files of a folder together."""
MAX_EXPANDED_BYTES = 256 << 20
"""What all compressed parts of one input may expand to together."""


class Kind(enum.Enum):
    """What a member is."""

    CODE_OBJECT = "code object"
    RELOCATABLE = "relocatable object"
    EMPTY_CONTAINER = "container without device code"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class TritonMetadata:
    """What Triton's cache says of a kernel: its name, chip, LDS bytes a launch must give, and waves a workgroup."""

    name: str
    target: str
    shared_bytes: int
    warp_count: int
    warp_size: int


@dataclass(frozen=True, slots=True)
class Member:
    """One file found in an input.

    `path` is the input's name and the way down to it, joined by "!": libfoo.so!.hip_fatbin[0]!hipv4-amdgcn-amd-amdhsa--gfx942.
    `target` is the target ID, such as gfx942:sramecc+:xnack-, "" when it is no AMD GPU object. `refusal` says why it cannot be
    used, "" when it can. `triton` is what Triton's cache says beside the object; `note` why that cannot be used, "" as a rule.
    """

    path: str
    target: str
    data: bytes
    kind: Kind
    refusal: str = ""
    triton: TritonMetadata | None = None
    note: str = ""

    @property
    def chip(self) -> str:
        """The target without its features."""
        return self.target.partition(":")[0]

    @property
    def is_usable(self) -> bool:
        """Whether it is a code object, or becomes one by linking, for a supported chip."""
        return not self.refusal


@dataclass(frozen=True, slots=True)
class Entry:
    """One part of a container: its name, and its place in the container's bytes."""

    name: str
    start: int
    size: int

    @property
    def stop(self) -> int:
        """The offset behind its last byte."""
        return self.start + self.size


def broken(name: str, what: str, offset: int | None = None) -> NoReturn:
    """Raise E0150 for a container that is cut off or contradicts itself."""
    fail("E0150", f"damaged container: {what}", Span(name, offset=offset), "the file may be truncated; fetch or build it again")


def too_much(name: str, what: str) -> NoReturn:
    """Raise E0151 for a container beyond the limits."""
    fail("E0151", f"the container is beyond the limits: {what}", Span(name), "take the member out with the tool that made it")


def check_entries(entries: Sequence[Entry], size: int, name: str) -> None:
    """Return when all entries lie within `size` bytes and none overlaps another. Raises E0150, E0151 for too many."""
    if len(entries) > MAX_MEMBERS:
        too_much(name, f"more than {MAX_MEMBERS} members")
    for entry in entries:
        if entry.stop > size:
            broken(name, f"member '{entry.name[:200]}' ends behind the file", min(entry.start, size))
    filled = sorted((entry for entry in entries if entry.size), key=lambda entry: entry.start)
    for before, after in pairwise(filled):
        if after.start < before.stop:
            broken(name, f"members '{before.name[:200]}' and '{after.name[:200]}' overlap", after.start)
