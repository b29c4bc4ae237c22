"""The record that goes with a written object: what was tried, what was accepted, and on what the verdict rests."""

from __future__ import annotations

import hashlib
from typing import Any

from asmevo import __version__
from asmevo.backend.writer import rebuild
from asmevo.frontend.codeobject import CodeObject
from asmevo.ir.printer import print_instruction
from asmevo.search.records import Attempt, Optimisation, Step


def evidence(result: Optimisation, k0: CodeObject, seed: int) -> dict[str, Any]:
    """Plain data for JSON; K0 and the new object are named by SHA-256, edits by block with the text before and after."""
    return {
        "asmevo": __version__,
        "k0_sha256": hashlib.sha256(k0.data).hexdigest(),
        "object_sha256": hashlib.sha256(rebuild(k0, result.kernel)).hexdigest(),
        "kernel": result.original.name,
        "target": k0.target,
        "seed": seed,
        "cycles": {
            "kind": "modelled",
            "before": result.before_cycles,
            "after": result.after_cycles,
            "speedup": result.speedup,
            "waves_per_simd": result.profile.waves_per_simd,
        },
        "seconds": result.seconds,
        "interrupted": result.interrupted,
        "steps": [_step(step) for step in result.steps],
        "attempts": [_attempt(attempt) for attempt in result.attempts],
        "edited_blocks": _edited_blocks(result),
    }


def _step(step: Step) -> dict[str, Any]:
    return {
        **_attempt(step.attempt),
        "verdict": step.verdict.outcome.value,
        "basis": step.verdict.basis_data(),
    }


def _attempt(attempt: Attempt) -> dict[str, Any]:
    return {
        "number": attempt.number,
        "proposer": attempt.proposer,
        "description": attempt.description,
        "status": attempt.status.value,
        "gate": attempt.gate.value,
        "where": attempt.where,
        "modelled_cycles": attempt.cycles,
        "reason": attempt.reason,
    }


def _edited_blocks(result: Optimisation) -> list[dict[str, Any]]:
    edited: list[dict[str, Any]] = []
    for before, after in zip(result.original.blocks, result.kernel.blocks, strict=True):
        if before.instructions != after.instructions:
            edited.append(
                {
                    "block": before.label,
                    "before": [print_instruction(i) for i in before.instructions],
                    "after": [print_instruction(i) for i in after.instructions],
                }
            )
    return edited
