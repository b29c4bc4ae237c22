"""What a lineage holds, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
    `accepted` when (UTC).
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


@dataclass(frozen=True, slots=True)
class Tried:
    """One attempt, whatever came of it; `node` when it was accepted."""

    number: int
    proposer: str
    description: str
    status: str
    cycles: float | None
    reason: str
    node: int | None
