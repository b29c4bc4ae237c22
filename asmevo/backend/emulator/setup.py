"""The initial state of a dispatch: the address table, LDS and every wave's registers.

Owns the ABI at entry (source: LLVM AMDGPUUsage, initial kernel execution state) and the memory that native code points into.
"""

# NumPy's own stubs leave several methods of plain arrays partially unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from asmevo.backend.emulator import hwreg, layout
from asmevo.backend.emulator.indexing import CONTROLS
from asmevo.backend.emulator.layout import BUFFER, LANES, STATE
from asmevo.backend.emulator.prepare import Prepared
from asmevo.backend.emulator.workspace import workspace
from asmevo.backend.launch import Dispatch
from asmevo.diagnostics import fail
from asmevo.ir.abi import KernelDescriptor
from asmevo.ir.kernel import Kernel
from asmevo.ir.registers import AGPR0, EXEC, FLAT_SCRATCH, M0, MODE, SCC, UNIT_COUNT, VCC, VGPR0

Words = npt.NDArray[np.uint32]
_PAGE = 64
_GUARD = 256
"""Bytes between buffers in the host arena, so that 64-byte reads of a byte map stay inside it."""
MAX_LDS = 160 * 1024
MAX_SCRATCH = 128 * 1024
"""Bytes of scratch memory a lane may have."""
_DYNAMIC_STACK = 16 * 1024
"""Bytes a lane has at least where a kernel's stack grows as it runs, as the runtime gives it."""
_SCRATCH_BY_SGPR = frozenset({"gfx90a"})
"""Targets that tell a wave by an SGPR where its scratch memory begins."""
_SCRATCH_FORMAT = 1 << 23 | 3 << 21 | 1 << 19
"""The last word of the private segment's descriptor: add the lane's number, 64 lanes a row, elements of 4 bytes."""
_DEFAULT_MODE = 0x3C0 | 0x30


@dataclass(frozen=True, slots=True)
class Memory:
    """The dispatch's buffers, then kernarg segment and dispatch packet, in one arena with a map byte for each byte.

    What may be written lies together: `writable` is where the first such buffer begins and all ends. Last comes scratch memory,
    `scratch_bytes` for each thread's waves at `scratch_starts`. It has one guest address for all threads, `scratch`, and the
    last row of `table`, of which every thread has its own.
    """

    arena: npt.NDArray[np.uint8]
    map: npt.NDArray[np.uint8]
    table: npt.NDArray[np.void]
    starts: tuple[int, ...]
    sizes: tuple[int, ...]
    kernarg: int
    packet: int
    writable: tuple[int, int]
    scratch: int = 0
    scratch_bytes: int = 0
    scratch_starts: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """The waves of one work-group, shape (w,) STATE records, and its LDS."""

    states: npt.NDArray[np.void]
    lds: npt.NDArray[np.uint8]
    lds_defined: npt.NDArray[np.uint8]
    race: npt.NDArray[np.void]
    """What the race check of global memory keeps, shape (1,) RACE."""
    segments: npt.NDArray[np.void]
    keep: tuple[object, ...]
    scratch: int = 0
    scratch_bytes: int = 0
    """Host address and size of all its waves' scratch memory."""


def build_memory(dispatch: Dispatch, lds_bytes: int, scratch_bytes: int = 0, threads: int = 1) -> Memory:
    """Copies the buffers and fills the kernarg segment, and buffers with links, with their addresses.

    `scratch_bytes` is what the waves of one work-group have together; there is as much for each of `threads`. E0231 on a
    pointer slot that does not fit.
    """
    count = len(dispatch.buffers)
    kernarg = bytearray(dispatch.kernarg)
    for slot in dispatch.pointers:
        if not 0 <= slot.offset <= len(kernarg) - 8 or not 0 <= slot.buffer < count:
            fail("E0231", f"launch '{dispatch.name}': pointer slot at byte {slot.offset} does not fit its kernarg or buffers")
        address = layout.base_address(slot.buffer) + slot.addend
        kernarg[slot.offset : slot.offset + 8] = struct.pack("<Q", address & (2**64 - 1))
    kernarg += bytes(-len(kernarg) % 64 or (0 if kernarg else 64))
    grid = [g * w for g, w in zip(dispatch.grid, dispatch.workgroup, strict=True)]
    packet = bytearray(64)
    struct.pack_into("<HHHHHHIIIII", packet, 0, 2, 3, *dispatch.workgroup, 0, *grid, 0, lds_bytes)
    struct.pack_into("<Q", packet, 40, layout.base_address(count))
    blocks = [np.asarray(b.data, np.uint8).reshape(-1) for b in dispatch.buffers]
    blocks += [np.frombuffer(bytes(kernarg), np.uint8), np.frombuffer(bytes(packet), np.uint8)]
    may_write = [n < count and dispatch.buffers[n].writable for n in range(len(blocks))]
    starts = [0] * len(blocks)
    total = _GUARD
    for n in sorted(range(len(blocks)), key=lambda n: may_write[n]):
        starts[n] = total
        total += (len(blocks[n]) + _GUARD + _PAGE - 1) // _PAGE * _PAGE
    scratch_starts = tuple(total + n * (scratch_bytes + _GUARD) for n in range(threads if scratch_bytes else 0))
    total += len(scratch_starts) * (scratch_bytes + _GUARD)
    arena, shadow = workspace(total, np.uint8), workspace(total, np.uint8)
    _clear_between(starts, blocks, arena, shadow)
    table = np.zeros(len(blocks) + bool(scratch_bytes), BUFFER)
    for n, (block, start) in enumerate(zip(blocks, starts, strict=True)):
        arena[start : start + len(block)] = block
        defined = n >= count or dispatch.buffers[n].defined
        shadow[start : start + len(block)] = layout.MAP_DEFINED if defined else 0
        table[n] = (layout.base_address(n), len(block), arena.ctypes.data + start, may_write[n])
    for link in dispatch.links:
        if not 0 <= link.source < count or not 0 <= link.target < count or not 0 <= link.offset <= len(blocks[link.source]) - 8:
            fail("E0231", f"launch '{dispatch.name}': a link from byte {link.offset} of a buffer does not fit")
        at = starts[link.source] + link.offset
        arena[at : at + 8] = np.frombuffer(struct.pack("<Q", layout.base_address(link.target) + link.addend), np.uint8)
    if scratch_bytes:
        table[-1] = (layout.base_address(count + 2), scratch_bytes, arena.ctypes.data + scratch_starts[0], True)
    return Memory(
        arena,
        shadow,
        table,
        tuple(starts),
        tuple(len(b) for b in blocks),
        layout.base_address(count),
        layout.base_address(count + 1),
        (min((s for s, w in zip(starts, may_write, strict=True) if w), default=total), total),
        layout.base_address(count + 2),
        scratch_bytes,
        scratch_starts,
    )


def _clear_between(starts: list[int], blocks: list[npt.NDArray[np.uint8]], *arrays: npt.NDArray[np.uint8]) -> None:
    """Zeroes what no block covers: guards, and scratch memory at the end, which lie between blocks in order of their starts."""
    end = 0
    for start, block in sorted(zip(starts, blocks, strict=True), key=lambda pair: pair[0]):
        for array in arrays:
            array[end:start] = 0
        end = start + len(block)
    for array in arrays:
        array[end:] = 0


@dataclass(frozen=True, slots=True)
class GroupSize:
    """What each work-group of a dispatch has: waves, and bytes of LDS and of scratch memory for all of them together."""

    waves: int
    lds_bytes: int
    scratch_bytes: int


def group_size(kernel: Kernel, dispatch: Dispatch) -> GroupSize:
    """The size of a dispatch's work-groups; E0231 for more work-items or scratch memory than there may be, or none."""
    x, y, z = dispatch.workgroup
    waves = (x * y * z + LANES - 1) // LANES
    if min(dispatch.workgroup) < 1 or waves > layout.MAX_WAVES:
        limit = layout.MAX_WAVES * LANES
        fail("E0231", f"launch '{dispatch.name}': a work-group has 1 to {limit} work-items, not {x * y * z}")
    declared = kernel.descriptor.group_segment_bytes if kernel.descriptor else 0
    return GroupSize(waves, declared + dispatch.dynamic_lds_bytes, waves * LANES * _scratch_per_lane(kernel))


def _scratch_per_lane(kernel: Kernel) -> int:
    """Bytes of scratch memory that each lane of a kernel has."""
    d = kernel.descriptor
    if d is None:
        return 0
    size = max(d.private_segment_bytes, _DYNAMIC_STACK if d.properties >> 11 & 1 else 0)
    if size > MAX_SCRATCH:
        fail("E0231", f"kernel '{kernel.name}' asks for {size} bytes of scratch memory; a lane has at most {MAX_SCRATCH}")
    return (size + 3) & ~3


def build_group(
    prepared: Prepared,
    memory: Memory,
    counts: npt.NDArray[np.uint64],
    waves: int,
    lds_bytes: int,
    strict: bool,
    shadow: npt.NDArray[np.uint8] | None = None,
    thread: int = 0,
) -> Group:
    """Allocates the waves' states with everything that stays the same for all work-groups of the dispatch.

    `shadow` is the byte map to use, the memory's own if not given; `thread` chooses the scratch memory.
    """
    if lds_bytes > MAX_LDS:
        fail("E0231", f"the launch needs {lds_bytes} bytes of LDS; a work-group has at most {MAX_LDS}")
    stride = (STATE.itemsize + 8 * len(prepared.pool) + 63) // 64 * 64
    raw = np.zeros(stride * waves + 64, np.uint8)
    shift = -raw.ctypes.data % 64
    states: npt.NDArray[np.void] = np.ndarray((waves,), STATE, raw, shift, (stride,))
    for wave in range(waves):
        start = shift + wave * stride + STATE.itemsize
        raw[start : start + 8 * len(prepared.pool)] = prepared.pool.view(np.uint8)
    lds = np.zeros(lds_bytes + 64, np.uint8)
    defined = np.zeros(lds_bytes + 64, np.uint8)
    writer = np.zeros(lds_bytes + 64 if strict else 1, np.uint32)
    reader = np.zeros(lds_bytes + 64 if strict else 1, np.uint32)
    shadow = memory.map if shadow is None else shadow
    states["ops"] = prepared.ops.ctypes.data
    states["op_count"] = len(prepared.ops)
    states["counts"] = counts.ctypes.data
    table = memory.table
    scratch = 0
    if memory.scratch_bytes:
        scratch = memory.arena.ctypes.data + memory.scratch_starts[thread]
        table = table.copy()
        table["data"][-1] = scratch
        per_lane = memory.scratch_bytes // (waves * LANES)
        states["scratch"] = memory.scratch + np.arange(waves) * (per_lane * LANES)
        states["scratch_size"] = per_lane
    states["table"] = table.ctypes.data
    states["buffers"] = len(table)
    states["map_delta"] = np.array(shadow.ctypes.data - memory.arena.ctypes.data, np.int64).view(np.uint64)
    states["lds"] = lds.ctypes.data
    states["lds_size"] = lds_bytes
    states["lds_defined"] = defined.ctypes.data
    states["lds_writer"] = writer.ctypes.data
    states["lds_reader"] = reader.ctypes.data
    states["strict"] = int(strict)
    race = np.zeros(1, layout.RACE)
    segments = workspace(layout.SEGMENT_LIMIT if strict else 1, layout.SEGMENT)
    segments[0] = 0
    race["segments"] = segments.ctypes.data
    race["next"] = race["unreleased"] = 1
    first, end = memory.writable
    tracked = end - first if strict else 4
    # A byte's words are set before they are read.
    words = [workspace(count, np.uint32) for count in (tracked // 4, tracked // 4, tracked, tracked)]
    for name, shadow_words in zip(("writers", "readers", "byte_writers", "byte_readers"), words, strict=True):
        scale = 4 if name.startswith("byte") else 1
        place = shadow_words.ctypes.data - scale * (memory.arena.ctypes.data + first)
        states[name] = np.array(place, np.int64).view(np.uint64)
    sink = np.zeros(64, np.uint8)
    states["sink"] = sink.ctypes.data
    states["race"] = race.ctypes.data
    states["wave"] = np.arange(waves)
    d = prepared.kernel.descriptor
    states["waves"] = waves
    for number, value in hwreg.constants(d.vgpr_count if d else 0, d.sgpr_count if d else 0, lds_bytes).items():
        states["hwregs"][:, number] = value
    states["vgprs"] = min(d.accum_offset, d.vgpr_count, AGPR0 - VGPR0) if d else AGPR0 - VGPR0
    for shadow_words in words[:2]:
        shadow_words[:] = 0
    keep = (raw, writer, reader, words, segments, sink, table)
    return Group(states, lds, defined, race, segments, keep, scratch, memory.scratch_bytes)


@dataclass(frozen=True, slots=True)
class Entry:
    """What every wave starts with, apart from its ids: scalar registers, valid scalars, and where the ids go."""

    scalar: Words
    """Scalar units of every wave, shape (waves, 256)."""
    valid: npt.NDArray[np.uint64]
    group_ids: tuple[int | None, int | None, int | None]
    lanes: Words
    """v0 for every wave, shape (waves, 64)."""
    start: int


def build_entry(prepared: Prepared, dispatch: Dispatch, memory: Memory) -> Entry:
    """The registers at entry by the descriptor's enable bits; a kernel without descriptor gets s[0:1] and s2, s3, s4."""
    kernel = prepared.kernel
    d = kernel.descriptor
    scalar = np.zeros(256, np.uint32)
    valid = np.zeros(UNIT_COUNT, np.uint64)
    valid[M0 + 1 : VGPR0] = ~np.uint64(0)
    valid[FLAT_SCRATCH] = valid[FLAT_SCRATCH + 1] = ~np.uint64(0)
    valid[SCC] = 0
    valid[VCC] = valid[VCC + 1] = 0
    scalar[MODE] = d.mode if d else _DEFAULT_MODE
    users = _user_sgprs(d, memory, dispatch)
    limit = d.user_sgpr_count if d else 2
    given = min(len(users), limit)
    scalar[:given] = users[:given]
    at = limit
    group_ids: list[int | None] = []
    for axis in range(3):
        enabled = bool(d.rsrc2 >> (7 + axis) & 1) if d else True
        group_ids.append(at if enabled else None)
        at += enabled
    if d and d.rsrc2 >> 10 & 1:
        at += 1
    scratch_offset = at if d and d.rsrc2 & 1 and kernel.target in _SCRATCH_BY_SGPR else None
    at += scratch_offset is not None
    valid[:given] = valid[limit:at] = ~np.uint64(0)
    x, y, z = dispatch.workgroup
    total = x * y * z
    waves = (total + LANES - 1) // LANES
    item = np.arange(waves * LANES, dtype=np.uint32)
    axes = (d.rsrc2 >> 11 & 3) if d else 2
    lanes = item % x
    if axes >= 1:
        lanes = lanes | (item // x % y) << 10
    if axes >= 2:
        lanes = lanes | (item // (x * y)) << 20
    active = (item < total).reshape(waves, LANES)
    masks = np.packbits(active, axis=1, bitorder="little").view(np.uint64).reshape(waves)
    roots = kernel.roots or (kernel.blocks[0].label,)
    root = roots[-1] if d and d.preload_dwords else roots[0]
    ids = (group_ids[0], group_ids[1], group_ids[2])
    valid[VGPR0] = ~np.uint64(0)
    scalars = np.tile(scalar, (waves, 1))
    if scratch_offset is not None:
        scalars[:, scratch_offset] = np.arange(waves) * (memory.scratch_bytes // waves)
    scalars[:, EXEC] = masks & np.uint64(0xFFFFFFFF)
    scalars[:, EXEC + 1] = masks >> np.uint64(32)
    return Entry(scalars, valid, ids, lanes.reshape(waves, LANES).astype(np.uint32), prepared.starts[root])


def _user_sgprs(d: KernelDescriptor | None, memory: Memory, dispatch: Dispatch) -> list[int]:
    kernarg = [memory.kernarg & 0xFFFFFFFF, memory.kernarg >> 32]
    if d is None:
        return kernarg
    bits = d.properties
    values: list[int] = []
    scratch = [memory.scratch & 0xFFFFFFFF, memory.scratch >> 32]
    for bit, words in (
        (0, [scratch[0], scratch[1] | 1 << 31, memory.scratch_bytes, _SCRATCH_FORMAT]),
        (1, [memory.packet & 0xFFFFFFFF, memory.packet >> 32]),
        (2, [0, 0]),
        (3, kernarg),
        (4, [0, 0]),
        (5, scratch),
        (6, [d.private_segment_bytes]),
    ):
        if bits >> bit & 1:
            values += words
    if d.preload_dwords:
        start = memory.starts[-2] + 4 * d.preload_offset_dwords
        segment = memory.arena[start : start + 4 * d.preload_dwords].tobytes()
        values += struct.unpack(f"<{len(segment) // 4}I", segment)
    return values


@dataclass(frozen=True, slots=True)
class Order:
    """A dispatch's work-groups in the order they are taken: coordinates (n, 3), a number and a seed each, (n,)."""

    groups: Words
    numbers: Words
    seeds: npt.NDArray[np.uint64]


def build_order(grid: tuple[int, int, int], seed: int) -> Order:
    """The order of a seed, the same on every machine: by a hash of seed and number (SplitMix64; Steele et al., 2014)."""
    gx, gy, gz = grid
    number = np.arange(gx * gy * gz, dtype=np.uint64)
    keys = _mixed(number ^ _mixed(np.array([seed & (1 << 64) - 1], np.uint64)))
    order = np.argsort(keys, kind="stable")
    groups = np.stack([order % gx, order // gx % gy, order // (gx * gy)], 1).astype(np.uint32)
    return Order(groups, order.astype(np.uint32), _mixed(keys[order]) | np.uint64(1))


def _mixed(x: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@dataclass(frozen=True, slots=True)
class Plan:
    """One thread's PLAN record, shape (1,), its group, and what else the record points to."""

    record: npt.NDArray[np.void]
    group: Group
    order: Order
    keep: tuple[object, ...]


def build_plan(
    prepared: Prepared, group: Group, entry: Entry, order: Order, shared: npt.NDArray[np.uint64], budget: int = 0
) -> Plan:
    """The PLAN record of one thread; `shared` holds the number of work-groups taken, and the stop word.

    `budget` is how many wave-instructions the thread may run; with none it sets its first work-group up and stops.
    """
    plan = np.zeros(1, layout.PLAN)
    plan["states"] = group.states.ctypes.data
    plan["stride"] = group.states.strides[0]
    plan["waves"] = len(group.states)
    plan["start"] = entry.start
    plan["scalar"] = entry.scalar.ctypes.data
    plan["valid"] = entry.valid.ctypes.data
    plan["lanes"] = entry.lanes.ctypes.data
    plan["id_units"] = [layout.NO_UNIT if unit is None else unit for unit in entry.group_ids]
    # VGPR indexing may reach every register the wave has.
    indexed = any(i.mnemonic in CONTROLS for i in prepared.instructions)
    vgprs, agprs = prepared.rows
    plan["vgprs"] = max(vgprs, int(group.states["vgprs"][0])) if indexed else vgprs
    plan["agprs"] = agprs
    plan["epoch"] = 1
    plan["race"] = group.race.ctypes.data
    plan["groups"] = order.groups.ctypes.data
    plan["numbers"] = order.numbers.ctypes.data
    plan["seeds"] = order.seeds.ctypes.data
    plan["budget"] = budget
    plan["count"] = len(order.seeds)
    plan["next"] = shared.ctypes.data
    plan["stop"] = shared.ctypes.data + 8
    plan["scratch"] = group.scratch
    plan["scratch_bytes"] = group.scratch_bytes
    return Plan(plan, group, order, (entry, shared))
