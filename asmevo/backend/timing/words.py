"""The words that the machine and those who set it up share: fields of its records, and what their values mean.

Owns the layout of the two flat lists. `p` is the program and never changes, `m` the machine's state; fields are offsets from a
record's start.
"""

from __future__ import annotations

Words = list[int]

# Ports, as `ir.analysis.cost.costs.Port`.
INTERNAL, VALU, MATRIX, SALU, LDS, VMEM, PORTS = range(7)

# What a wave waits for; `program.CAUSES` has the names.
(
    DEPENDENCE, ON_VMCNT, ON_LGKMCNT, MATRIX_UNIT, VECTOR_UNIT, PORT_TAKEN, QUEUE, WAIT_SLOT, NOP, BARRIER, BRANCH, FETCH,
    ISSUED, CAUSES,
) = range(14)  # fmt: skip

# Flags of an operation.
IN_VMCNT, IN_LGKMCNT, IS_PACKED, IS_WAIT, IS_BARRIER, IS_END, IS_STORE, IS_MATRIX, IS_SCALAR_MEMORY = (1 << n for n in range(9))

# An operation. UNITS points to PLAIN units read or written, then SOURCES of the accumulator, then WRITES.
(
    PORT, BUSY, LATENCY, HOLD, TRANSFER, BANKS, FLAGS, WAIT_VM, WAIT_LGKM, CAUSE, MATRIX_BUSY, VALU_SHADOW, PACKED_SHADOW,
    SAME, OTHER, RESULT, ADDRESS, SIZE, UNITS, PLAIN, SOURCES, WRITES, SOURCE_KEY, WRITE_KEY, TARGET, PRIORITY, LINES, OP_WORDS,
) = range(28)  # fmt: skip

# The head of the program: where its parts begin, then figures of the chip and the launch.
(
    OPS, UNIT_LIST, BLOCKS, PATH, TRACES, ACCESSES, LINE_LIST, OP_COUNT, TRACE_COUNT, GROUP_WAVES, GROUP_COUNT, SLOT,
    BRANCH_TAKEN, FETCH_CYCLES, FETCH_BYTES, BARRIER_RELEASE, VM_LIMIT, LGKM_LIMIT, L1_LATENCY, NEAR_LATENCY, FAR_LATENCY,
    NEAR_COST, FAR_COST, STORE_COST, ALL_FAR, SCALAR_HIT, SCALAR_MISS, LAUNCH_CYCLES, WAVE_CYCLES, LDS_PATHS, FAR_PART,
    TO_MEMORY, PROGRAM_HEAD,
) = range(33)  # fmt: skip

# The head of the machine: where its parts begin, then what is counted.
(
    KEYS, WAVES, WAVE_COUNT, SIMDS, GROUPS, RECORDS, TALLIES, BLOCK_TALLIES, L1_TAGS, SEEN, SCALAR_TAGS, EVENTS, EVENT_COUNT,
    EVENT_LIMIT, EVENT_SKIP, ALIVE, LAUNCHED, SEQUENCE, LAST, BANK_FREE, L1_FREE, MEMORY_FREE, LDS_FREE, USED_BANKS, USED_L1,
    USED_MEMORY, L1_HITS, NEAR_LINES, FAR_LINES, STORE_LINES, STAMP, GROUP_TIME, FAR_OWED, MACHINE_HEAD,
) = range(34)  # fmt: skip
LDS_FREE_2 = MACHINE_HEAD
HEAD_WORDS = MACHINE_HEAD + 1

# A wave. Its queues and registers follow in RECORDS.
(
    CLOCK, SIMD, RANK, AGE, GROUP, STATUS, AT, END, INDEX, SIZE_LEFT, OP, REVISIT, ACCESS, VM_HEAD, VM_COUNT, LGKM_HEAD,
    LGKM_COUNT, ENTERED, BEFORE, WINDOW, WINDOW_READY, NEXT_READY, TRIED, STARTED, WAVE_WORDS,
) = range(25)  # fmt: skip
RUNNING, AT_BARRIER, ENDED = range(3)

UNITS_OF_WAVE = 768
QUEUE_SLOTS = 64
READY = 0
ACC_KEY = UNITS_OF_WAVE
ACC_SAME = 2 * UNITS_OF_WAVE
ACC_OTHER = 3 * UNITS_OF_WAVE
SENT = 4 * UNITS_OF_WAVE
VM_QUEUE = 5 * UNITS_OF_WAVE
LGKM_QUEUE = VM_QUEUE + QUEUE_SLOTS
RECORD_WORDS = LGKM_QUEUE + QUEUE_SLOTS

# A SIMD: when each port is free, then the matrix unit and who used it last, then cycles used.
MATRIX_FREE, PACKED_FREE, MATRIX_WAVE, USED_MATRIX, USED_VALU, USED_SALU, SIMD_WORDS = range(PORTS, PORTS + 7)

# A place for a work-group: waves alive, waves at the barrier, its number, when it entered, when the last one left.
GROUP_ALIVE, GROUP_ARRIVED, GROUP_NUMBER, GROUP_STARTED, GROUP_LEFT, GROUP_WORDS = range(6)

L1_SETS, L1_WAYS = 64, 4
SEEN_LINES = 1 << 16
SCALAR_LINES = 256
SUB = 16
"""Times of the path to memory are in sixteenths of a cycle."""
NEVER = 1 << 62
PARTS = 1024
EVENT_WORDS = 5

# A trace: path from, to, and first access, -1 without addresses. A path entry is block * 2 + revisit; a block its first
# operation and their number.
TRACE_WORDS = 3
# An access: cycles of its path or banks, first line, lines.
ACCESS_CYCLES, ACCESS_LINES, ACCESS_COUNT, ACCESS_WORDS = range(4)
