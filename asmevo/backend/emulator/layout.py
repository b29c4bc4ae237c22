"""The records that native code and Python share: wave state, decoded operation, queue entry, buffer table.

Owns their byte layout, as NumPy structured types, and the status and fault numbers. It must not know what code does with them.
"""

# NumPy's own stubs leave several methods of plain arrays partially unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import numpy as np

from asmevo.ir.registers import UNIT_COUNT, VGPR0

LANES = 64
VECTOR_ROWS = UNIT_COUNT - VGPR0
QUEUE_SLOTS = 64
"""Entries of a wait queue: vmcnt counts to 63, lgkmcnt to 15."""
LGKM_LIMIT = 15
VM_LIMIT = 63
SLOTS = 10
IMMEDIATES = 6
ENTRY_ROWS = 4

CONTINUE, END, BARRIER, FAULT, BUDGET, EPOCHS = range(6)
"""What a handler, the dispatch loop and the scheduler return; EPOCHS: more barriers than the race check can number."""
MAX_WAVES = 16
"""Waves of a work-group."""

FAULT_KINDS = (
    "none",
    "pending-read",
    "pending-write",
    "uninitialised-register",
    "uninitialised-memory",
    "out-of-bounds",
    "misaligned",
    "race",
    "budget",
    "unsupported",
    "trap",
    "bad-control-flow",
    "write-to-readonly",
)
KIND = {name: number for number, name in enumerate(FAULT_KINDS)}
FORGIVABLE = sum(
    1 << KIND[name]
    for name in (
        *("pending-read", "pending-write", "uninitialised-register", "uninitialised-memory", "out-of-bounds", "misaligned"),
        *("race", "write-to-readonly"),
    )
)
"""Faults after which a run can go on: a pending register is delivered, an access outside every buffer goes nowhere."""

REGION_SHIFT = 36
REGION_PAD = 0xFFFF_F000
"""Buffer n begins at (n + 1 << 36) + pad: 4 KiB below a 4 GiB boundary, so that address carries are exercised, and with
64 GiB of unmapped addresses around it."""

EPOCH_BITS = 24
IN_FLIGHT = (1 << EPOCH_BITS) - 1
"""The epoch of an LDS access that no wait has covered yet. A shadow word is wave << 24 | epoch."""
WAVE_ATOMIC, WAVE_DMA, WAVE_MANY = 0xFE, 0xFC, 0xFD

OP = np.dtype(
    [
        ("handler", "u8"),
        ("units", "u8"),
        ("ignored", "u8"),
        ("reads", "u2"),
        ("writes", "u2"),
        ("marks", "u2"),
        ("flags", "u2"),
        ("target", "u4"),
        ("uid", "i4"),
        ("vector", "u4"),
        ("coherent", "u4"),
        ("in_order", "u4"),
        ("forgiven", "u4"),
        ("slot", "u4", (SLOTS,)),
        ("imm", "u8", (IMMEDIATES,)),
    ],
    align=True,
)
"""A decoded operation. `units` points to u16 entries: `reads` of them are checked before, then `writes`; the first `marks` of
the written ones are valid after it. `ignored` is all ones where lanes outside EXEC need not be valid, and 0 where some
operand needs them all. `in_order` has RETURNS and REPLACES. `vector` is 1 for what VSKIP skips. `coherent` is COHERENT for
accesses of global memory that other work-groups are sure to see or that see theirs, else 0. `forgiven` has a bit for each
kind of fault that is not reported here. `flags` are four nibbles, the slots of src0, src1, src2 and the destination that
VGPR indexing moves, 15 where there is none. An entry is unit | need << 10 | index bits << 12, those of M0 that move the unit
while VGPR indexing is on. `slot` are byte offsets of operands in the wave state."""

RETURNS, REPLACES = 1, 2
"""Vector memory returns in the order of issue (CDNA3 ISA guide, 4.4); what it returns fills its registers, so that it may be
issued while another such operation is to return to them."""

UNIT_BITS, NEED_SHIFT, INDEX_SHIFT = 0x3FF, 10, 12

NOT_INDEXED = 0xFFFF
NOT_INDEXABLE = 0xFFFE
"""Flags of operations that indexing leaves alone, and of those that are not modelled under it."""
GPR_INDEX_ENABLE = 1 << 27
"""MODE's bit for VGPR indexing; M0 holds the index in bits 7:0 and what it moves in bits 15:12."""

VSKIP_ENABLE = 1 << 28
"""MODE's bit that turns vector operations into nothing."""

MODE_ROUND = 15
"""MODE's rounding fields: bits 1:0 for f32, 3:2 for f16 and f64. 0 is to nearest even, 1 up, 2 down, 3 toward zero."""

NEED_ACTIVE, NEED_ALL, NEED_ANY, NEED_FIRST = 0, 1, 2, 3
"""Which lanes of a unit must be valid: those in EXEC, all, at least one, or the first in EXEC (lane 0 where EXEC is empty)."""

ENTRY = np.dtype(
    [
        ("op", "u4"),
        ("kind", "u4"),
        ("dest", "u4"),
        ("rows", "u4"),
        ("mask", "u8"),
        ("bytes", "u4"),
        ("points", "u4"),
        ("epoch", "u4"),
        ("atomic", "u4"),
        ("covered", "u4"),
        ("changes", "u4"),
        ("address", "u4", (2 * LANES,)),
        ("data", "u4", (ENTRY_ROWS * LANES,)),
    ],
    align=True,
)
"""An access that no wait has covered yet. `address` are LDS addresses, `points` 0, 1 or 2 of them a lane; `atomic` is 1 where
memory was changed atomically, and FENCE where a cache is written back. `covered` is 1 where a later load to some of the same
registers was issued before this one was delivered; `changes` is RACE's `lds_changes` at issue."""
ENTRY_LOAD, ENTRY_STORE, ENTRY_SCALAR = range(3)
FENCE = 2

STATE = np.dtype(
    [
        ("scalar", "u4", (256,)),
        ("vector", "u4", (VECTOR_ROWS, LANES)),
        ("valid", "u8", (UNIT_COUNT,)),
        ("pending", "u8", (UNIT_COUNT,)),
        ("ops", "u8"),
        ("counts", "u8"),
        ("executed", "u8"),
        ("limit", "u8"),
        ("op_count", "u4"),
        ("pc", "u4"),
        ("at", "u4"),
        ("strict", "u4"),
        ("table", "u8"),
        ("buffers", "u8"),
        ("map_delta", "u8"),
        ("lds", "u8"),
        ("lds_size", "u8"),
        ("lds_defined", "u8"),
        ("lds_writer", "u8"),
        ("lds_reader", "u8"),
        ("epoch", "u4"),
        ("wave", "u4"),
        ("fault", "u4"),
        ("fault_lane", "u4"),
        ("fault_address", "u8"),
        ("fault_unit", "u4"),
        ("fault_other", "u4"),
        ("vm_head", "u4"),
        ("vm_count", "u4"),
        ("lds_head", "u4"),
        ("lds_count", "u4"),
        ("smem_head", "u4"),
        ("smem_count", "u4"),
        ("status", "u4"),
        ("vgprs", "u4"),
        ("race", "u8"),
        ("writers", "u8"),
        ("readers", "u8"),
        ("byte_writers", "u8"),
        ("byte_readers", "u8"),
        ("watch", "u8"),
        ("sink", "u8"),
        ("segment", "u4"),
        ("plain", "u4"),
        ("own_first", "u4"),
        ("epoch_first", "u4"),
        ("group_first", "u4"),
        ("acquired", "u4"),
        ("resumed", "u4"),
        ("scratch", "u8"),
        ("scratch_size", "u8"),
        ("waves", "u4"),
        ("hwregs", "u4", (32,)),
        ("vm_queue", ENTRY, (QUEUE_SLOTS,)),
        ("lds_queue", ENTRY, (QUEUE_SLOTS,)),
        ("smem_queue", ENTRY, (QUEUE_SLOTS,)),
    ],
    align=True,
)
"""One wave. Scalar registers and special state lie in `scalar` by unit number, vector rows by unit - 256; the kernel's
constants follow the record, eight bytes each. `writers` and `readers` plus a host address give a global dword's shadow words
(see race_runtime), `byte_writers` and `byte_readers` plus four times an address those of a byte; `watch` is one more than an
address whose accesses are logged, 0 for none; `sink` is where forgiven accesses outside every buffer go. For a race that an
outstanding load has, `fault_unit` is one more than its operation. `limit` is the number of executed instructions at which
the wave is stopped. `resumed` is 1 once another wave ran between two barriers of this one. `scratch` is the guest address of
lane 0's scratch memory, `scratch_size` the bytes of each lane, which follow one another. `hwregs` are the hardware registers
by number, `waves` those of the work-group."""

SEGMENT = np.dtype([("group", "u4"), ("wave", "u4"), ("epoch", "u4"), ("released", "u4")], align=True)
"""A stretch of one wave's execution between barriers and releases: the number of its work-group in the run's order, and when
what it did was released to other waves, 0 while it is not."""
SEGMENT_LIMIT = 1 << 22
SEGMENT_BITS = 24
MANY, GROUPS, COHERENT = 1 << 30, 1 << 29, 1 << 31
"""Bits of a global shadow word above its segment: others of this epoch read too, others of other work-groups read too, and all
that is recorded was atomic or coherent."""
SPLIT = 1 << 28
"""The writer's shadow word of a dword whose bytes have shadow words of their own."""
LOG = np.dtype([("group", "u4"), ("wave", "u4"), ("op", "u4"), ("write", "u4")], align=True)
LOG_SLOTS = 64
RACE = np.dtype(
    [
        ("segments", "u8"),
        ("next", "u4"),
        ("clock", "u4"),
        ("unreleased", "u4"),
        ("group", "u4"),
        ("logged", "u4"),
        ("lds_changes", "u4"),
        ("log", LOG, (LOG_SLOTS,)),
    ],
    align=True,
)
"""What the race check of global memory keeps for one thread: the SEGMENT table, its next number, the time, the first segment
that may not be released, the work-group that runs, and the last accesses of the watched byte. `lds_changes` counts the
operations that changed LDS."""

BUFFER = np.dtype([("base", "u8"), ("size", "u8"), ("data", "u8"), ("writable", "u8")], align=True)
"""A buffer's guest base address, size in bytes, host address and whether it may be written."""

MAP_DEFINED, MAP_WRITTEN, MAP_READ = 1, 2, 4
"""Bits of a byte's map entry; the entry of a byte at host address p lies at p + map_delta. Only reads of buffers that may be
written are noted; a later write takes the note away, since it tells as much."""

PLAN = np.dtype(
    [
        ("states", "u8"),
        ("stride", "u8"),
        ("waves", "u4"),
        ("start", "u4"),
        ("scalar", "u8"),
        ("valid", "u8"),
        ("lanes", "u8"),
        ("id_units", "u4", (3,)),
        ("vgprs", "u4"),
        ("agprs", "u4"),
        ("epoch", "u4"),
        ("groups", "u8"),
        ("numbers", "u8"),
        ("seeds", "u8"),
        ("count", "u8"),
        ("next", "u8"),
        ("stop", "u8"),
        ("scratch", "u8"),
        ("scratch_bytes", "u8"),
        ("executed", "u8"),
        ("budget", "u8"),
        ("group", "u8"),
        ("wave", "u4"),
        ("apart", "u4"),
        ("apart_from", "u4"),
        ("race", "u8"),
    ],
    align=True,
)
"""What one thread needs to run work-groups: its waves' states; their scalar registers, valid units and v0 at entry; the scalar
units of the work-group's ids; rows to clear; and the dispatch's work-groups, shape (count, 3) u32, with a u32 number and a
u64 seed each. `next` points to the number of work-groups taken and `stop` to a word that ends the run, both shared by all
threads. `executed`, `group` and `wave` tell where it stands; at `budget` executed instructions the run ends. `apart` and
`apart_from` are one more than the operations of two barriers at which waves met, the first time apart, else 0.
`race` points to the thread's RACE record, `scratch` is the host address of its waves' scratch memory, `scratch_bytes` in
all."""
NO_UNIT = 0xFFFF_FFFF
EPOCH_LIMIT = IN_FLIGHT - 2


def offset(record: np.dtype[np.void], field: str) -> int:
    """The byte offset of `field` in `record`."""
    fields = record.fields
    assert fields is not None
    return int(fields[field][1])


def base_address(index: int) -> int:
    """The guest address of buffer `index`."""
    return ((index + 1) << REGION_SHIFT) + REGION_PAD


def unit_offset(unit: int) -> int:
    """The byte offset of a register in the wave state."""
    if unit >= VGPR0:
        return offset(STATE, "vector") + (unit - VGPR0) * LANES * 4
    return offset(STATE, "scalar") + unit * 4
