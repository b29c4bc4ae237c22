"""A proposed launch as plain data for programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from asmevo.verify.infer.explore import Effect
from asmevo.verify.infer.proposal import Proposal
from asmevo.verify.infer.text import as_toml


def proposal_data(found: Proposal) -> dict[str, Any]:
    """What was found, with the launch file's text; extents are [first byte, byte behind the last]."""
    names = {buffer.number: buffer.name for buffer in found.buffers}
    return {
        "kernel": found.kernel.name,
        "target": found.kernel.target,
        "runs": found.runs,
        "grid": list(found.geometry.grid),
        "workgroup": list(found.geometry.workgroup),
        "dynamic_lds_bytes": found.geometry.dynamic_lds_bytes,
        "buffers": [
            {
                "name": buffer.name,
                "kernarg_offset": buffer.slot.offset if buffer.slot else None,
                "role": buffer.role,
                "dtype": buffer.dtype,
                "elements": buffer.elements,
                "read": buffer.use.read,
                "written": buffer.use.written,
                "widths": sorted(buffer.use.widths),
                "lane_step": buffer.use.step,
                "atomic": buffer.use.is_atomic,
                "scalar_loads": buffer.use.is_scalar,
                "points_to": list(buffer.to),
            }
            for buffer in found.buffers
        ],
        "scalars": [
            {
                "name": scalar.name,
                "kernarg_offset": scalar.slot.offset,
                "bytes": scalar.slot.size,
                "dtype": scalar.slot.dtype,
                "value": scalar.value,
                "effect": None if scalar.effect is None else _effect(scalar.effect, names),
            }
            for scalar in found.scalars
        ],
        "axes": {"xyz"[axis]: _effect(effect, names) for axis, effect in found.axes.items()},
        "unused": [slot.name for slot in found.skipped],
        "notes": list(found.notes),
        "faults": [asdict(fault) for fault in (found.check.faults if found.check else ())],
        "launch": as_toml(found),
    }


def _effect(effect: Effect, names: dict[int, str]) -> dict[str, Any]:
    return {
        "role": effect.role,
        "instructions": effect.instructions,
        "bytes_touched": {names.get(number, str(number)): ratio for number, ratio in effect.grown.items()},
        "end_moved": {names.get(number, str(number)): step for number, step in effect.moved.items()},
        "ended_early": effect.ended_early,
    }
