"""What `info` tells of a code object, gathered as plain data from the parts that know it.

Owns the selection; every figure comes from the reader, the descriptor's arithmetic or an analysis.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from asmevo.backend.resources import (
    MAX_AGPRS,
    MAX_ARCH_VGPRS,
    MAX_SGPRS,
    MAX_VECTOR_TOTAL,
    SGPR_EXTRAS,
    Resources,
    lds_limit,
    resources_of,
)
from asmevo.frontend.codeobject import CodeObject, KernelEntry
from asmevo.frontend.lowering import indirect_instructions
from asmevo.frontend.recover import PRELOAD_PROLOGUE_BYTES, recover
from asmevo.ir.abi import KernelArgument
from asmevo.ir.analysis.cost.occupancy_steps import OccupancySteps
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.analysis.memory.kernargs import KernargUse
from asmevo.ir.kernel import Kernel

_SGPR_GRANULE = 16


@dataclass(frozen=True, slots=True)
class Use:
    """One resource against its limit; `granted` includes what the granule rounds up to."""

    name: str
    used: int
    granted: int
    limit: int


@dataclass(frozen=True, slots=True)
class Load:
    """A read of an argument's bytes: `bytes` from `offset` of the kernarg segment on.

    `place` is the instruction's offset in .text; None for what the hardware preloads, then into the SGPR `register`.
    """

    offset: int
    bytes: int
    place: int | None
    register: int | None


@dataclass(frozen=True, slots=True)
class ArgumentInfo:
    """One argument of the metadata and the loads that are known to read from it."""

    argument: KernelArgument
    loads: tuple[Load, ...]


@dataclass(frozen=True, slots=True)
class KernelInfo:
    """One kernel. Sizes in bytes, `code_bytes` with padding, `entry` and `descriptor` as file offsets.

    `loads_are_complete` says that every use of the kernarg pointer was understood; None when nobody looked.
    """

    name: str
    entry: int
    descriptor: int
    code_bytes: int
    instructions: int
    blocks: int
    uses: tuple[Use, ...]
    waves: OccupancySteps
    max_workgroup: int | None
    kernarg_bytes: int | None
    user_sgprs: int
    preloaded_dwords: int
    arguments: tuple[ArgumentInfo, ...]
    loads_are_complete: bool | None
    quirks: tuple[str, ...]


def kernel_info(obj: CodeObject, entry: KernelEntry, *, with_loads: bool = True) -> KernelInfo:
    """Recover a kernel and tell what there is to know of it. Raises what `recover` raises.

    `with_loads` traces values through the whole kernel to find the loads of arguments.
    """
    kernel = recover(obj, entry.name)
    analyses = AnalysisManager(kernel)
    used = analyses.get(KernargUse) if with_loads else None
    resources = resources_of(kernel)
    metadata, descriptor = entry.metadata, entry.descriptor
    return KernelInfo(
        name=entry.name,
        entry=obj.text.offset + entry.entry,
        descriptor=entry.descriptor_place,
        code_bytes=entry.stop - entry.start,
        instructions=sum(len(block.instructions) for block in kernel.blocks),
        blocks=len(kernel.blocks),
        uses=_uses(obj, entry, resources),
        waves=analyses.get(OccupancySteps),
        max_workgroup=metadata.max_flat_workgroup_size,
        kernarg_bytes=metadata.kernarg_bytes,
        user_sgprs=descriptor.user_sgpr_count,
        preloaded_dwords=descriptor.preload_dwords,
        arguments=tuple(ArgumentInfo(a, _loads(kernel, a, used)) for a in metadata.arguments),
        loads_are_complete=used.complete if used is not None else None,
        quirks=tuple(_quirks(obj, entry, kernel)),
    )


def _uses(obj: CodeObject, entry: KernelEntry, r: Resources) -> tuple[Use, ...]:
    d = entry.descriptor
    return (
        Use("VGPR", r.vgprs, min(d.accum_offset, d.vgpr_count), MAX_ARCH_VGPRS),
        Use("AGPR", r.agprs, max(d.vgpr_count - d.accum_offset, 0), MAX_AGPRS),
        Use("vector registers", r.vector_total, d.vgpr_count, MAX_VECTOR_TOTAL),
        Use("SGPR", r.sgprs, min(_allocated_sgprs(d.sgpr_count) - SGPR_EXTRAS, MAX_SGPRS), MAX_SGPRS),
        Use("LDS bytes", r.lds_bytes, r.lds_bytes, lds_limit(obj.target)),
    )


def _allocated_sgprs(field: int) -> int:
    return -(-field // _SGPR_GRANULE) * _SGPR_GRANULE


def _loads(kernel: Kernel, argument: KernelArgument, used: KernargUse | None) -> tuple[Load, ...]:
    if used is None:
        return ()
    found: list[Load] = []
    for slot in used.slots:
        if argument in slot.arguments:
            place = None if slot.is_preload else kernel.block(slot.label).instructions[slot.index].offset
            found.append(Load(slot.offset, slot.bytes, place, slot.index if slot.is_preload else None))
    return tuple(found)


def _quirks(obj: CodeObject, entry: KernelEntry, kernel: Kernel) -> Iterator[str]:
    if len(kernel.roots) > 1:
        yield f"waves start at the entry, or {PRELOAD_PROLOGUE_BYTES} bytes behind it where the firmware preloads arguments"
    elif entry.descriptor.preload_dwords:
        yield "arguments are preloaded, but there is no second entry"
    if entry.start != entry.entry:
        yield f"{entry.entry - entry.start} bytes stand before the entry"
    if named := indirect_instructions(kernel.instructions()):
        yield f"computes code addresses ({', '.join(named)}): its instructions keep their places"
    if unknown := sum(i.definition is None for i in kernel.instructions()):
        yield f"{unknown} words are no known instructions"
    if obj.text.address % 4096 != obj.text.offset % 4096:
        yield "the code's file offset and address do not match modulo a page"
