"""What a lineage holds, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Run:
    """One search: what it started from and how. `k0` and `launch` are digests of artifacts, `cycles` K0's modelled ones."""

    id: int
    started: str
    version: str
    kernel: str
    target: str
    k0: str
    launch: str
    seed: int
    settings: Mapping[str, Any]
    cycles: float


@dataclass(frozen=True, slots=True)
class Node:
    """One accepted candidate; `parent` None: it was made from K0.

    `artifact` is the digest of the object, `edit` what `edits.encoded` gave, `basis` the verdict's, `cycles` modelled ones,
    `accepted` when (UTC), `cell` the archive's key for its kind, `counts` how often blocks run, by label, where not as
    in K0.
    """

    id: int
    run: int
    parent: int | None
    artifact: str
    edit: Mapping[str, Any]
    proposer: str
    description: str
    verdict: str
    basis: tuple[Mapping[str, Any], ...]
    cycles: float
    accepted: str
    cell: tuple[int, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True)
class Tried:
    """One attempt, whatever came of it; `node` when it was accepted.

    `gate` is the last one that it came to, `place` what it edited, `proposal` and `artifact` digests of the kernel's text and
    of the object, `cost` what the proposer said it cost, `prompt` the digest of what a model was asked, `notes` the proposer's.
    """

    number: int
    proposer: str
    description: str
    status: str
    cycles: float | None
    reason: str
    node: int | None
    gate: str = ""
    place: str = ""
    proposal: str = ""
    artifact: str = ""
    generation: int = 0
    island: int = 0
    cost: Mapping[str, Any] = field(default_factory=dict[str, Any])
    prompt: str | None = None
    notes: Mapping[str, Any] = field(default_factory=dict[str, Any])
