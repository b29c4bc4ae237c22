"""The machine: waves on the SIMDs of one compute unit, event by event.

Owns what happens from one issue to the next: registers in flight, ports and data paths, counters and waits, barriers, fetched
windows, caches, work-groups that follow each other. It must not know opcodes, files or chips: `program` lays all of that out in
the words that these functions read. Written in the subset of `compiled`, so that it runs natively; in the interpreter it is its
own reference.

A wave issues in order, at most one instruction a slot, when its registers, its port and its counters allow. The wave that may
try first goes first; among equals the higher priority (s_setprio), then the older. All quantities are whole numbers, so equal
input gives equal output. For one wave every issue time is a maximum of sums of earlier ones, so without fetch and caches taking
an instruction away never makes a later one issue later.

`p` is the program and never changes, `m` the machine's state. Both are flat: fields below are offsets from a record's start.
"""

from __future__ import annotations

Words = list[int]

# Ports, as `ir.analysis.costs.Port`.
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


def run(p: Words, m: Words, limit: int) -> int:
    """Issues up to `limit` instructions; how many it issued. Less when all waves ended, or wait for each other for ever."""
    issued: int = 0
    while issued < limit and m[ALIVE] > 0:
        wave = _earliest(m)
        if m[m[KEYS] + wave] >= NEVER:
            return issued
        issued += _try(p, m, wave)
    return issued


def start(p: Words, m: Words) -> int:
    """Puts the first work-groups on the compute unit; how many."""
    places: int = m[WAVE_COUNT] // p[GROUP_WAVES]
    count: int = min(places, p[GROUP_COUNT])
    for wave in range(m[WAVE_COUNT]):
        m[m[KEYS] + wave] = NEVER
        m[m[WAVES] + wave * WAVE_WORDS + STATUS] = ENDED
    for place in range(count):
        _enter(p, m, place, 0)
    return count


def _enter(p: Words, m: Words, place: int, now: int) -> int:
    """The next work-group takes a place; its waves start one after another."""
    number: int = m[LAUNCHED]
    m[LAUNCHED] += 1
    group: int = m[GROUPS] + place * GROUP_WORDS
    waves: int = p[GROUP_WAVES]
    m[group + GROUP_ALIVE] = waves
    m[group + GROUP_ARRIVED] = 0
    m[group + GROUP_NUMBER] = number
    m[group + GROUP_STARTED] = now
    for n in range(waves):
        wave: int = place * waves + n
        r: int = m[WAVES] + wave * WAVE_WORDS
        trace: int = p[TRACES] + ((number * waves + n) % p[TRACE_COUNT]) * TRACE_WORDS
        simd: int = m[r + SIMD]
        begin: int = now + p[LAUNCH_CYCLES] + n * p[WAVE_CYCLES]
        begin += (p[SLOT] - (begin - simd) % p[SLOT]) % p[SLOT] if begin >= simd else simd - begin
        m[r + CLOCK] = begin
        m[r + TRIED] = begin
        m[r + STARTED] = begin
        m[r + ENTERED] = begin
        m[r + RANK] = 0
        m[r + AGE] = m[SEQUENCE] % 4096
        m[SEQUENCE] += 1
        m[r + GROUP] = place
        m[r + STATUS] = RUNNING
        m[r + AT] = p[trace]
        m[r + END] = p[trace + 1]
        m[r + ACCESS] = p[trace + 2]
        m[r + VM_HEAD] = 0
        m[r + VM_COUNT] = 0
        m[r + LGKM_HEAD] = 0
        m[r + LGKM_COUNT] = 0
        m[r + WINDOW] = -1
        records: int = m[RECORDS] + wave * RECORD_WORDS
        for unit in range(UNITS_OF_WAVE):
            m[records + READY + unit] = 0
            m[records + ACC_KEY + unit] = 0
            m[records + SENT + unit] = 0
        m[ALIVE] += 1
        if _block(p, m, r):
            _key(m, wave)
        else:
            _leave(p, m, wave, begin)
    return number


def _block(p: Words, m: Words, r: int) -> int:
    """Enters the block at the wave's place in its path, past empty ones; 0 at the path's end."""
    while m[r + AT] < m[r + END]:
        entry: int = p[p[PATH] + m[r + AT]]
        block: int = p[BLOCKS] + (entry >> 1) * 2
        if p[block + 1] > 0:
            m[r + OP] = p[block]
            m[r + SIZE_LEFT] = p[block + 1]
            m[r + REVISIT] = entry & 1
            m[r + INDEX] = entry
            return 1
        m[r + AT] += 1
    return 0


def _key(m: Words, wave: int) -> int:
    """When, and after whom, a wave tries next."""
    r: int = m[WAVES] + wave * WAVE_WORDS
    key: int = m[r + CLOCK] << 16 | (3 - m[r + RANK]) << 12 | m[r + AGE]
    m[m[KEYS] + wave] = key
    return key


def _earliest(m: Words) -> int:
    keys: int = m[KEYS]
    best: int = 0
    least: int = m[keys]
    for wave in range(1, m[WAVE_COUNT]):
        if m[keys + wave] < least:
            least = m[keys + wave]
            best = wave
    return best


def _later(p: Words, m: Words, now: int, ready: int, tally: int, cause: int) -> int:
    """The slot in which a wave that has to wait for `ready` may try again; the cycles go to `cause`."""
    if ready <= now:
        return now
    slot: int = p[SLOT]
    again: int = now + (ready - now + slot - 1) // slot * slot
    m[tally + cause] += again - now
    return again


def _try(p: Words, m: Words, wave: int) -> int:
    """Issues the wave's next instruction at its clock and gives 1, or moves its clock to when it may try again."""
    r: int = m[WAVES] + wave * WAVE_WORDS
    records: int = m[RECORDS] + wave * RECORD_WORDS
    number: int = m[r + OP]
    op: int = p[OPS] + number * OP_WORDS
    tally: int = m[TALLIES] + (number + m[r + REVISIT] * p[OP_COUNT]) * CAUSES
    flags: int = p[op + FLAGS]
    now: int = m[r + CLOCK]
    at: int = now
    if p[op + ADDRESS] >= 0:
        at = _later(p, m, at, _fetched(p, m, r, op, at), tally, FETCH)
    at = _later(p, m, at, _registers(p, m, records, op, at), tally, DEPENDENCE)
    if p[op + SOURCES] > 0:
        # A chain of matrix instructions goes on as soon as the sum is there, not at the next slot.
        ready: int = _accumulators(p, m, records, op, at)
        m[tally + DEPENDENCE] += ready - at
        at = ready
    if flags & IS_WAIT:
        at = _wait(p, m, r, records, op, at, tally)
    elif p[op + PORT] != INTERNAL:
        at = _port(p, m, r, op, at, tally, wave)
    if flags & (IN_VMCNT | IN_LGKMCNT):
        at = _room(p, m, r, records, op, at, tally)
    if at > now:
        m[r + CLOCK] = at
        _key(m, wave)
        return 0
    _issue(p, m, wave, r, records, op, tally, now)
    return 1


def _fetched(p: Words, m: Words, r: int, op: int, now: int) -> int:
    """When the instruction's bytes are there: windows are asked for one ahead, as the first instruction of a window issues."""
    first: int = p[op + ADDRESS] // p[FETCH_BYTES]
    last: int = (p[op + ADDRESS] + p[op + SIZE] - 1) // p[FETCH_BYTES]
    if m[r + WINDOW] != first and m[r + WINDOW] + 1 != first:
        # Not come here in sequence or by a modelled branch: as after a branch that resolved just now.
        m[r + WINDOW] = first
        m[r + WINDOW_READY] = now
        m[r + NEXT_READY] = -1
    window: int = m[r + WINDOW]
    if last == window:
        return m[r + WINDOW_READY]
    following: int = m[r + NEXT_READY]
    if following < 0:
        following = m[r + WINDOW_READY] + p[FETCH_CYCLES]
    return following if last == window + 1 else following + p[FETCH_CYCLES]


def _pass_window(p: Words, m: Words, r: int, op: int, at: int) -> int:
    """Notes that an instruction issued: its window is the wave's now, and the next one has been asked for."""
    first: int = p[op + ADDRESS] // p[FETCH_BYTES]
    if first == m[r + WINDOW] + 1:
        m[r + WINDOW] = first
        m[r + WINDOW_READY] = m[r + NEXT_READY] if m[r + NEXT_READY] >= 0 else at
        m[r + NEXT_READY] = -1
    if m[r + NEXT_READY] < 0:
        last: int = (p[op + ADDRESS] + p[op + SIZE] - 1) // p[FETCH_BYTES]
        m[r + NEXT_READY] = at + p[FETCH_CYCLES] if last == first else at
    return first


def _registers(p: Words, m: Words, records: int, op: int, now: int) -> int:
    """When the last of the units that the instruction names may be used."""
    latest: int = now
    units: int = p[UNIT_LIST] + p[op + UNITS]
    plain: int = units + p[op + PLAIN]
    for place in range(units, plain):
        latest = max(latest, m[records + READY + p[place]])
    if p[op + PORT] == VMEM or p[op + PORT] == LDS:
        # Addresses and data that the vector unit has just made take longer to get there.
        for place in range(units, plain):
            latest = max(latest, m[records + SENT + p[place]])
    for place in range(plain, plain + p[op + SOURCES]):
        if m[records + ACC_KEY + p[place]] == 0:
            latest = max(latest, m[records + READY + p[place]])
    return latest


def _accumulators(p: Words, m: Words, records: int, op: int, now: int) -> int:
    """When sums that matrix instructions have not written yet may be added to."""
    latest: int = now
    first: int = p[UNIT_LIST] + p[op + UNITS] + p[op + PLAIN]
    for place in range(first, first + p[op + SOURCES]):
        key: int = m[records + ACC_KEY + p[place]]
        if key != 0 and m[records + READY + p[place]] > now:
            same: int = ACC_SAME if key == p[op + SOURCE_KEY] else ACC_OTHER
            latest = max(latest, m[records + same + p[place]])
    return latest


def _wait(p: Words, m: Words, r: int, records: int, op: int, now: int, tally: int) -> int:
    if p[op + WAIT_VM] >= 0:
        now = _later(p, m, now, _covered(m, r + VM_HEAD, records + VM_QUEUE, p[op + WAIT_VM]), tally, ON_VMCNT)
    if p[op + WAIT_LGKM] >= 0:
        now = _later(p, m, now, _covered(m, r + LGKM_HEAD, records + LGKM_QUEUE, p[op + WAIT_LGKM]), tally, ON_LGKMCNT)
    return now


def _covered(m: Words, head: int, queue: int, count: int) -> int:
    """Takes all but the last `count` off a queue (its count follows its head); when they are complete."""
    latest: int = 0
    while m[head + 1] > count:
        latest = max(latest, m[queue + m[head] % QUEUE_SLOTS])
        m[head] += 1
        m[head + 1] -= 1
    return latest


def _room(p: Words, m: Words, r: int, records: int, op: int, now: int, tally: int) -> int:
    if p[op + FLAGS] & IN_VMCNT:
        now = _later(p, m, now, _oldest(m, r + VM_HEAD, records + VM_QUEUE, p[VM_LIMIT], now), tally, QUEUE)
    if p[op + FLAGS] & IN_LGKMCNT:
        now = _later(p, m, now, _oldest(m, r + LGKM_HEAD, records + LGKM_QUEUE, p[LGKM_LIMIT], now), tally, QUEUE)
    return now


def _oldest(m: Words, head: int, queue: int, limit: int, now: int) -> int:
    """Takes what is complete off the front of a queue; when fewer than `limit` are left."""
    while m[head + 1] > 0 and m[queue + m[head] % QUEUE_SLOTS] <= now:
        m[head] += 1
        m[head + 1] -= 1
    if m[head + 1] < limit:
        return now
    return m[queue + (m[head] + m[head + 1] - limit) % QUEUE_SLOTS]


def _port(p: Words, m: Words, r: int, op: int, now: int, tally: int, wave: int) -> int:
    s: int = m[SIMDS] + m[r + SIMD] * SIMD_WORDS
    port: int = p[op + PORT]
    if port == MATRIX:
        now = _later(p, m, now, m[s + MATRIX_FREE], tally, MATRIX_UNIT)
        return _later(p, m, now, m[s + VALU], tally, VECTOR_UNIT)
    if p[op + FLAGS] & IS_PACKED:
        # Behind another wave's matrix instruction only the unit counts.
        free: int = m[s + PACKED_FREE] if m[s + MATRIX_WAVE] == wave else m[s + MATRIX_FREE]
        now = _later(p, m, now, free, tally, MATRIX_UNIT)
    return _later(p, m, now, m[s + port], tally, PORT_TAKEN)


def _issue(p: Words, m: Words, wave: int, r: int, records: int, op: int, tally: int, at: int) -> int:
    """The instruction issues at `at`: units, queues and paths are taken, and the wave goes on."""
    flags: int = p[op + FLAGS]
    hold: int = p[op + HOLD]
    if flags & IS_MATRIX:
        _start_matrix(p, m, wave, r, records, op, at)
    else:
        port: int = p[op + PORT]
        s: int = m[SIMDS] + m[r + SIMD] * SIMD_WORDS
        if port != INTERNAL:
            m[s + port] = at + p[op + BUSY]
            if port == VALU:
                m[s + USED_VALU] += p[op + BUSY]
                _send(p, m, records, op, at + p[TO_MEMORY])
            if port == SALU:
                m[s + USED_SALU] += p[op + BUSY]
        if flags & (IN_VMCNT | IN_LGKMCNT):
            _in_flight(p, m, records, op, _start_memory(p, m, r, records, op, at))
        elif p[op + LATENCY] > hold:
            _in_flight(p, m, records, op, at + p[op + LATENCY])
    m[tally + ISSUED] += 1
    if p[op + CAUSE] >= 0:
        m[tally + p[op + CAUSE]] += hold
    if p[op + ADDRESS] >= 0:
        _pass_window(p, m, r, op, at)
    if p[op + PRIORITY] >= 0:
        m[r + RANK] = p[op + PRIORITY]
    clock: int = at + hold
    entry: int = m[r + INDEX]
    last: int = m[r + SIZE_LEFT] == 1
    following: int = 1
    if last:
        m[r + AT] += 1
        following = _block(p, m, r)
        if p[op + TARGET] >= 0 and following and p[op + TARGET] == m[r + INDEX] >> 1:
            clock += p[BRANCH_TAKEN]
            m[tally + BRANCH] += p[BRANCH_TAKEN]
            _jump(p, m, r, clock)
    else:
        m[r + OP] += 1
        m[r + SIZE_LEFT] -= 1
    m[r + CLOCK] = clock
    _note(m, wave, op, at, clock, p[OPS])
    m[r + TRIED] = clock
    if last:
        block: int = m[BLOCK_TALLIES] + entry * 2
        m[block] += 1
        m[block + 1] += clock - m[r + ENTERED]
        m[r + BEFORE] = m[r + ENTERED]
        m[r + ENTERED] = clock
    m[LAST] = max(m[LAST], clock)
    if flags & IS_BARRIER:
        _arrive(p, m, wave, r, tally)
    if following == 0:
        _leave(p, m, wave, clock)
    elif m[r + STATUS] == RUNNING:
        _key(m, wave)
    return 1


def _jump(p: Words, m: Words, r: int, clock: int) -> int:
    """A taken branch: the window of the block it leads to is there when the branch's own cost is over."""
    op: int = p[OPS] + m[r + OP] * OP_WORDS
    if p[op + ADDRESS] >= 0:
        m[r + WINDOW] = p[op + ADDRESS] // p[FETCH_BYTES]
        m[r + WINDOW_READY] = clock
        m[r + NEXT_READY] = -1
    return 0


def _note(m: Words, wave: int, op: int, at: int, clock: int, ops: int) -> int:
    """Writes down an issue, for timelines."""
    if m[EVENT_LIMIT] == 0:
        return 0
    if m[EVENT_SKIP] > 0:
        m[EVENT_SKIP] -= 1
        return 0
    if m[EVENT_COUNT] < m[EVENT_LIMIT]:
        event: int = m[EVENTS] + m[EVENT_COUNT] * EVENT_WORDS
        m[event] = wave
        m[event + 1] = (op - ops) // OP_WORDS
        m[event + 2] = m[m[WAVES] + wave * WAVE_WORDS + TRIED]
        m[event + 3] = at
        m[event + 4] = clock
        m[EVENT_COUNT] += 1
    return 0


def _arrive(p: Words, m: Words, wave: int, r: int, tally: int) -> int:
    """A wave of a work-group of several stops at a barrier until the last of them is there."""
    if p[GROUP_WAVES] == 1:
        return 0
    m[r + STATUS] = AT_BARRIER
    m[m[KEYS] + wave] = NEVER
    # Until the barrier opens the tally of what it costs is kept in the wave's record of tries.
    m[r + TRIED] = tally
    group: int = m[GROUPS] + m[r + GROUP] * GROUP_WORDS
    m[group + GROUP_ARRIVED] += 1
    return _open(p, m, m[r + GROUP], m[r + CLOCK])


def _open(p: Words, m: Words, place: int, now: int) -> int:
    """Lets the waves at a barrier go when no other of their work-group is on its way to it."""
    group: int = m[GROUPS] + place * GROUP_WORDS
    if m[group + GROUP_ARRIVED] == 0 or m[group + GROUP_ARRIVED] < m[group + GROUP_ALIVE]:
        return 0
    m[group + GROUP_ARRIVED] = 0
    for n in range(p[GROUP_WAVES]):
        wave: int = place * p[GROUP_WAVES] + n
        r: int = m[WAVES] + wave * WAVE_WORDS
        if m[r + STATUS] == AT_BARRIER:
            m[r + STATUS] = RUNNING
            tally: int = m[r + TRIED]
            m[r + CLOCK] = _later(p, m, m[r + CLOCK], now + p[BARRIER_RELEASE], tally, BARRIER)
            m[r + TRIED] = m[r + CLOCK]
            _key(m, wave)
    return 1


def _leave(p: Words, m: Words, wave: int, now: int) -> int:
    """A wave ends; when it is its work-group's last, the next work-group takes the place."""
    r: int = m[WAVES] + wave * WAVE_WORDS
    m[r + STATUS] = ENDED
    m[m[KEYS] + wave] = NEVER
    m[ALIVE] -= 1
    place: int = m[r + GROUP]
    group: int = m[GROUPS] + place * GROUP_WORDS
    m[group + GROUP_ALIVE] -= 1
    m[group + GROUP_LEFT] = max(m[group + GROUP_LEFT], now)
    if m[group + GROUP_ALIVE] > 0:
        return _open(p, m, place, now)
    m[GROUP_TIME] += m[group + GROUP_LEFT] - m[group + GROUP_STARTED]
    if m[LAUNCHED] < p[GROUP_COUNT]:
        _enter(p, m, place, m[group + GROUP_LEFT])
    return 0


def _start_matrix(p: Words, m: Words, wave: int, r: int, records: int, op: int, at: int) -> int:
    s: int = m[SIMDS] + m[r + SIMD] * SIMD_WORDS
    m[s + MATRIX_FREE] = at + p[op + MATRIX_BUSY]
    m[s + USED_MATRIX] += p[op + MATRIX_BUSY]
    m[s + VALU] = max(m[s + VALU], at + p[op + VALU_SHADOW])
    m[s + PACKED_FREE] = at + p[op + PACKED_SHADOW]
    m[s + MATRIX_WAVE] = wave
    _in_flight(p, m, records, op, at + p[op + RESULT])
    first: int = p[UNIT_LIST] + p[op + UNITS] + p[op + PLAIN] + p[op + SOURCES]
    for place in range(first, first + p[op + WRITES]):
        unit: int = records + p[place]
        m[unit + ACC_KEY] = p[op + WRITE_KEY]
        m[unit + ACC_SAME] = at + p[op + SAME]
        m[unit + ACC_OTHER] = at + p[op + OTHER]
    return 0


def _in_flight(p: Words, m: Words, records: int, op: int, ready: int) -> int:
    first: int = p[UNIT_LIST] + p[op + UNITS] + p[op + PLAIN] + p[op + SOURCES]
    for place in range(first, first + p[op + WRITES]):
        m[records + READY + p[place]] = ready
        m[records + ACC_KEY + p[place]] = 0
    return 0


def _send(p: Words, m: Words, records: int, op: int, ready: int) -> int:
    """Notes when results of the vector unit may be addresses or data of memory instructions."""
    first: int = p[UNIT_LIST] + p[op + UNITS] + p[op + PLAIN] + p[op + SOURCES]
    for place in range(first, first + p[op + WRITES]):
        m[records + SENT + p[place]] = ready
    return ready


def _start_memory(p: Words, m: Words, r: int, records: int, op: int, at: int) -> int:
    """A memory instruction enters its path; when its result is there."""
    port: int = p[op + PORT]
    flags: int = p[op + FLAGS]
    access: int = -1
    if m[r + ACCESS] >= 0:
        access = p[ACCESSES] + m[r + ACCESS] * ACCESS_WORDS
        m[r + ACCESS] += 1
    done: int = at + p[op + LATENCY]
    if port == VMEM:
        done = _vector_memory(p, m, op, access, at)
    elif port == LDS:
        done = _lds(p, m, r, op, access, at)
    elif flags & IS_SCALAR_MEMORY and access >= 0:
        done = at + (p[SCALAR_HIT] if _scalar_hits(p, m, access) else p[SCALAR_MISS])
    if flags & IN_VMCNT:
        done = _queue(m, r + VM_HEAD, records + VM_QUEUE, done, 1)
    if flags & IN_LGKMCNT:
        done = _queue(m, r + LGKM_HEAD, records + LGKM_QUEUE, done, port == LDS)
    return done


def _queue(m: Words, head: int, queue: int, done: int, in_order: int) -> int:
    """Puts an operation behind a queue; one in order is not complete before the one ahead of it."""
    if in_order and m[head + 1] > 0:
        done = max(done, m[queue + (m[head] + m[head + 1] - 1) % QUEUE_SLOTS])
    if m[head + 1] == QUEUE_SLOTS:
        m[head] += 1
        m[head + 1] -= 1
    m[queue + (m[head] + m[head + 1]) % QUEUE_SLOTS] = done
    m[head + 1] += 1
    return done


def _lds(p: Words, m: Words, r: int, op: int, access: int, at: int) -> int:
    """Half of the SIMDs share a path to the array of banks, and all of them the array."""
    half: int = LDS_FREE_2 if p[LDS_PATHS] > 1 and m[r + SIMD] >= 2 else LDS_FREE
    banks: int = p[op + BANKS]
    transfer: int = p[op + TRANSFER]
    if access >= 0:
        banks = p[access + ACCESS_CYCLES]
    begin: int = max(at, m[half])
    m[half] = begin + transfer
    end: int = begin + transfer
    if banks > 0:
        first: int = max(begin, m[BANK_FREE])
        m[BANK_FREE] = first + banks
        m[USED_BANKS] += banks
        end = max(end, first + banks)
        # Conflicts hold the path up too: the data of a wave leave the array in order.
        m[half] = max(m[half], first + banks)
    return end + p[op + LATENCY]


def _vector_memory(p: Words, m: Words, op: int, access: int, at: int) -> int:
    """Addresses and data pass the compute unit's vector cache; lines that it does not have come over the path to memory."""
    cycles: int = p[op + TRANSFER]
    if access >= 0:
        cycles = max(cycles, p[access + ACCESS_CYCLES])
    begin: int = max(at, m[L1_FREE])
    end: int = begin + cycles
    m[L1_FREE] = end
    m[USED_L1] += cycles
    if access < 0:
        if p[op + LINES] == 0:
            return end + p[op + LATENCY]
        far: int = p[ALL_FAR]
        path: int = max(begin * SUB, m[MEMORY_FREE])
        if p[op + FLAGS] & IS_STORE:
            m[STORE_LINES] += p[op + LINES]
            path += p[op + LINES] * p[STORE_COST]
        elif far:
            m[FAR_LINES] += p[op + LINES]
            path += p[op + LINES] * p[FAR_COST]
        else:
            m[NEAR_LINES] += p[op + LINES]
            path += p[op + LINES] * p[NEAR_COST]
        m[USED_MEMORY] += path - max(begin * SUB, m[MEMORY_FREE])
        m[MEMORY_FREE] = path
        return max(end, path // SUB) + (p[FAR_LATENCY] if far else p[NEAR_LATENCY])
    return _looked_up(p, m, op, access, begin, end)


def _looked_up(p: Words, m: Words, op: int, access: int, begin: int, end: int) -> int:
    """The same with known lines: what the vector cache holds, what the wider caches have seen, and what they have not."""
    latency: int = p[L1_LATENCY]
    path: int = max(begin * SUB, m[MEMORY_FREE])
    first: int = p[LINE_LIST] + p[access + ACCESS_LINES]
    misses: int = 0
    for place in range(first, first + p[access + ACCESS_COUNT]):
        line: int = p[place]
        if p[op + FLAGS] & IS_STORE:
            m[STORE_LINES] += 1
            path += p[STORE_COST]
            latency = max(latency, p[NEAR_LATENCY])
            m[m[SEEN] + line % SEEN_LINES] = line + 1
            misses += 1
        elif _cached(m, line):
            m[L1_HITS] += 1
        else:
            misses += 1
            seen: int = m[SEEN] + line % SEEN_LINES
            # Of the lines new to this compute unit FAR_PART of PARTS are new to the wider cache too.
            if m[seen] != line + 1 and p[ALL_FAR]:
                m[FAR_OWED] += p[FAR_PART]
            m[seen] = line + 1
            if m[FAR_OWED] >= PARTS:
                m[FAR_OWED] -= PARTS
                m[FAR_LINES] += 1
                path += p[FAR_COST]
                latency = max(latency, p[FAR_LATENCY])
            else:
                m[NEAR_LINES] += 1
                path += p[NEAR_COST]
                latency = max(latency, p[NEAR_LATENCY])
    if misses == 0:
        return end + latency
    m[USED_MEMORY] += path - max(begin * SUB, m[MEMORY_FREE])
    m[MEMORY_FREE] = path
    return max(end, path // SUB) + latency


def _cached(m: Words, line: int) -> int:
    """Whether the vector cache holds a line; it does afterwards. Least recently used of four goes."""
    m[STAMP] += 1
    base: int = m[L1_TAGS] + line % L1_SETS * L1_WAYS * 2
    oldest: int = base
    for way in range(L1_WAYS):
        place: int = base + 2 * way
        if m[place] == line + 1:
            m[place + 1] = m[STAMP]
            return 1
        if m[place + 1] < m[oldest + 1]:
            oldest = place
    m[oldest] = line + 1
    m[oldest + 1] = m[STAMP]
    return 0


def _scalar_hits(p: Words, m: Words, access: int) -> int:
    """Whether the scalar cache holds all lines of an access; it does afterwards."""
    hits: int = 1
    first: int = p[LINE_LIST] + p[access + ACCESS_LINES]
    for place in range(first, first + p[access + ACCESS_COUNT]):
        tag: int = m[SCALAR_TAGS] + p[place] % SCALAR_LINES
        if m[tag] != p[place] + 1:
            hits = 0
            m[tag] = p[place] + 1
    return hits
