"""Nodes of a lineage made again from K0, and the pairs of kernels that they are.

Owns what it means that a lineage can be repeated; the lineage only keeps what it was given.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from asmevo.backend.launch import Dispatch
from asmevo.backend.writer import rebuild
from asmevo.frontend.codeobject import CodeObject, load
from asmevo.frontend.recover import recover
from asmevo.ir.kernel import Kernel
from asmevo.ir.printer import print_kernel
from asmevo.search.lineage import Lineage, Node, Run, edits
from asmevo.verify.judge import Judge, Level
from asmevo.verify.launch.dispatches import load_launches
from asmevo.verify.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Replayed:
    """A node made again: whether the bytes are those that were stored, and the verdict on them against K0."""

    artifact: str
    is_same: bool
    edits: int
    verdict: Verdict


def replayed(lineage: Lineage, node: Node, launch: Path | None, *, timeout_s: float, seeds: int) -> Replayed:
    """Apply every edit from K0 down to `node`, rebuild and judge. `launch` None: the launch file that the run kept.

    Raises E0802 for an artifact that is gone or changed, E0803 for an edit that does not fit.
    """
    run = lineage.run(node.run)
    original, first = original_of(lineage, run)
    line = lineage.line(node)
    kernel = first
    for step in line:
        kernel = edits.applied(kernel, step.edit)
    artifact = sha256(rebuild(original, kernel)).hexdigest()
    dispatches = launches_of(lineage, run, first, launch)
    verdict = Judge(Level.EMULATE, dispatches, timeout_s, tuple(range(seeds)))(first, kernel)
    return Replayed(artifact, artifact == node.artifact, len(line), verdict)


def verified_pairs(lineage: Lineage) -> Iterator[dict[str, Any]]:
    """Each accepted candidate beside its parent, as text with provenance: a data set for others to learn from."""
    for run in lineage.runs():
        _, first = original_of(lineage, run)
        made: dict[int | None, Kernel] = {None: first}
        cycles: dict[int | None, float] = {None: run.cycles}
        for node in lineage.nodes(run.id):
            parent = made[node.parent]
            made[node.id], cycles[node.id] = edits.applied(parent, node.edit), node.cycles
            yield {
                "run": run.id,
                "node": node.id,
                "parent": node.parent,
                "kernel": run.kernel,
                "target": run.target,
                "k0_sha256": run.k0,
                "artifact_sha256": node.artifact,
                "asmevo": run.version,
                "seed": run.seed,
                "proposer": node.proposer,
                "description": node.description,
                "verdict": node.verdict,
                "basis": list(node.basis),
                "modelled_cycles": {"before": cycles[node.parent], "after": node.cycles},
                "before": print_kernel(parent),
                "after": print_kernel(made[node.id]),
            }


def launches_of(lineage: Lineage, run: Run, kernel: Kernel, launch: Path | None) -> list[Dispatch]:
    """Return the dispatches of a run by the launch file that it kept, or by `launch` in its place."""
    if launch is not None:
        return load_launches(launch, kernel)
    with tempfile.TemporaryDirectory(prefix="asmevo-") as folder:
        path = Path(folder) / "launch.toml"
        path.write_bytes(lineage.artifacts.get(run.launch))
        return load_launches(path, kernel)


def original_of(lineage: Lineage, run: Run) -> tuple[CodeObject, Kernel]:
    """Return the object that a run started from, and the kernel in it. Raises E0802 when it is gone or changed."""
    code_object = load(lineage.artifacts.get(run.k0), "K0")
    return code_object, recover(code_object, run.kernel)
