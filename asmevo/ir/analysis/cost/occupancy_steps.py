"""How many waves a SIMD holds, by each resource, and what saving would let it hold more.

Owns the table of steps. It takes what the kernel is launched with from its descriptor; the limits of the chip are those of
`pressure` and, for LDS, of this table. Source: CDNA3 ISA guide 3.6.4, CDNA4 ISA guide (LDS), LLVM AMDGPUUsage.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from asmevo.ir.analysis.cost.pressure import MAX_WAVES_PER_SIMD, SCALAR_FILE, VECTOR_FILE, Pressure, waves_for_vector_total
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.kernel import Kernel

_LDS_BYTES = {"gfx90a": (65536, 512), "gfx942": (65536, 512), "gfx950": (163840, 1280)}
"""Target to (bytes of a compute unit, granule)."""
_SIMDS = 4
_WAVE = 64
_SCALAR_GRANULE = 16
_VECTOR_GRANULE = 8


@dataclass(frozen=True, slots=True)
class Saving:
    """To hold `waves` a SIMD, the resource may be at most `limit` (registers, or bytes a group): `saving` less than now."""

    waves: int
    limit: int
    saving: int


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource: what is allocated, the waves a SIMD that it alone allows, and the savings for each step up."""

    name: str
    allocated: int
    waves: int
    savings: tuple[Saving, ...]


@dataclass(frozen=True, slots=True)
class OccupancySteps:
    """Resources of a kernel; LDS is missing when the size of a work-group is not known.

    `waves` is the least of them, `limiting` the names of those that set it. `workgroup_items` is the metadata's largest.
    """

    resources: tuple[Resource, ...]
    waves: int
    limiting: tuple[str, ...]
    workgroup_items: int | None

    @classmethod
    def compute(cls, kernel: Kernel, manager: AnalysisManager) -> OccupancySteps:
        """The steps for `kernel`; without a descriptor by the registers that its text names."""
        descriptor, metadata = kernel.descriptor, kernel.metadata
        if descriptor is not None:
            vectors, scalars = descriptor.vgpr_count, descriptor.sgpr_count
        else:
            pressure = manager.get(Pressure)
            named = pressure.named_agprs
            vectors = -(-pressure.named_vgprs // 4) * 4 + named if named else pressure.named_vgprs
            scalars = pressure.named_sgprs
        resources = [
            _resource("vector registers", vectors, waves_for_vector_total(vectors), vector_limit),
            _resource("scalar registers", scalars, waves_for_scalars(scalars), scalar_limit),
        ]
        items = metadata.max_flat_workgroup_size if metadata is not None else None
        if descriptor is not None and items and kernel.target in _LDS_BYTES:
            resources.append(_lds(kernel.target, descriptor.group_segment_bytes, -(-items // _WAVE)))
        waves = min(resource.waves for resource in resources)
        limiting = tuple(resource.name for resource in resources if resource.waves == waves)
        return cls(tuple(resources), waves, limiting if waves < MAX_WAVES_PER_SIMD else (), items)


def vector_limit(waves: int) -> int:
    """The most vector registers (both kinds) of a wave with which a SIMD holds `waves`."""
    return VECTOR_FILE // waves // _VECTOR_GRANULE * _VECTOR_GRANULE


def scalar_limit(waves: int) -> int:
    """The most scalar registers with which a SIMD holds `waves`."""
    return SCALAR_FILE // waves // _SCALAR_GRANULE * _SCALAR_GRANULE


def waves_for_scalars(scalars: int) -> int:
    """Waves a SIMD holds with so many scalar registers each."""
    granules = -(-max(scalars, 1) // _SCALAR_GRANULE) * _SCALAR_GRANULE
    return min(MAX_WAVES_PER_SIMD, SCALAR_FILE // granules)


def waves_for_lds(target: str, lds_bytes: int, group_waves: int) -> int:
    """Waves a SIMD holds with work-groups of `group_waves` waves and so many bytes each; 0 when not one group fits."""
    total, granule = _LDS_BYTES[target]
    taken = -(-lds_bytes // granule) * granule
    groups = total // taken if taken else MAX_WAVES_PER_SIMD * _SIMDS
    return min(MAX_WAVES_PER_SIMD, groups * group_waves // _SIMDS)


def _resource(name: str, allocated: int, waves: int, limit: Callable[[int], int]) -> Resource:
    savings = tuple(Saving(more, limit(more), allocated - limit(more)) for more in range(waves + 1, MAX_WAVES_PER_SIMD + 1))
    return Resource(name, allocated, waves, savings)


def _lds(target: str, lds_bytes: int, group_waves: int) -> Resource:
    total, granule = _LDS_BYTES[target]
    waves = waves_for_lds(target, lds_bytes, group_waves)
    savings: list[Saving] = []
    for groups in range(1, MAX_WAVES_PER_SIMD * _SIMDS // group_waves + 1):
        limit = total // groups // granule * granule
        reached = waves_for_lds(target, limit, group_waves)
        if reached > (savings[-1].waves if savings else waves):
            savings.append(Saving(reached, limit, lds_bytes - limit))
    return Resource("LDS bytes", lds_bytes, waves, tuple(savings))
