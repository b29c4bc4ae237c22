"""The machine: waves on the SIMDs of one compute unit, event by event.

Owns what happens from one issue to the next: registers in flight, ports and data paths, counters and waits, barriers, fetched
windows, caches, work-groups that follow each other. It must not know opcodes, files or chips: `program` lays all of that out in
the words that these functions read. Written in the subset of `compiled`, so that it runs natively; in the interpreter it is its
own reference.

A wave issues in order, at most one instruction a slot, when its registers, its port and its counters allow. The wave that may
try first goes first; among equals the higher priority (s_setprio), then the older. All quantities are whole numbers, so equal
input gives equal output. For one wave every issue time is a maximum of sums of earlier ones, so without fetch and caches taking
an instruction away never makes a later one issue later.

`p` is the program and `m` the machine's state; their fields are in `words`, the memory side in `memory`.
"""

from __future__ import annotations

from asmevo.backend.timing import words as w
from asmevo.backend.timing.memory import start_memory
from asmevo.backend.timing.words import Words


def run(p: Words, m: Words, limit: int) -> int:
    """Issues up to `limit` instructions; how many it issued. Less when all waves ended, or wait for each other for ever."""
    issued: int = 0
    while issued < limit and m[w.ALIVE] > 0:
        wave = _earliest(m)
        if m[m[w.KEYS] + wave] >= w.NEVER:
            return issued
        issued += _try(p, m, wave)
    return issued


def start(p: Words, m: Words) -> int:
    """Puts the first work-groups on the compute unit; how many."""
    places: int = m[w.WAVE_COUNT] // p[w.GROUP_WAVES]
    count: int = min(places, p[w.GROUP_COUNT])
    for wave in range(m[w.WAVE_COUNT]):
        m[m[w.KEYS] + wave] = w.NEVER
        m[m[w.WAVES] + wave * w.WAVE_WORDS + w.STATUS] = w.ENDED
    for place in range(count):
        _enter(p, m, place, 0)
    return count


def _enter(p: Words, m: Words, place: int, now: int) -> int:
    """The next work-group takes a place; its waves start one after another."""
    number: int = m[w.LAUNCHED]
    m[w.LAUNCHED] += 1
    group: int = m[w.GROUPS] + place * w.GROUP_WORDS
    waves: int = p[w.GROUP_WAVES]
    m[group + w.GROUP_ALIVE] = waves
    m[group + w.GROUP_ARRIVED] = 0
    m[group + w.GROUP_NUMBER] = number
    m[group + w.GROUP_STARTED] = now
    for n in range(waves):
        wave: int = place * waves + n
        r: int = m[w.WAVES] + wave * w.WAVE_WORDS
        trace: int = p[w.TRACES] + ((number * waves + n) % p[w.TRACE_COUNT]) * w.TRACE_WORDS
        simd: int = m[r + w.SIMD]
        begin: int = now + p[w.LAUNCH_CYCLES] + n * p[w.WAVE_CYCLES]
        begin += (p[w.SLOT] - (begin - simd) % p[w.SLOT]) % p[w.SLOT] if begin >= simd else simd - begin
        m[r + w.CLOCK] = begin
        m[r + w.TRIED] = begin
        m[r + w.STARTED] = begin
        m[r + w.ENTERED] = begin
        m[r + w.RANK] = 0
        m[r + w.AGE] = m[w.SEQUENCE] % 4096
        m[w.SEQUENCE] += 1
        m[r + w.GROUP] = place
        m[r + w.STATUS] = w.RUNNING
        m[r + w.AT] = p[trace]
        m[r + w.END] = p[trace + 1]
        m[r + w.ACCESS] = p[trace + 2]
        m[r + w.VM_HEAD] = 0
        m[r + w.VM_COUNT] = 0
        m[r + w.LGKM_HEAD] = 0
        m[r + w.LGKM_COUNT] = 0
        m[r + w.WINDOW] = -1
        records: int = m[w.RECORDS] + wave * w.RECORD_WORDS
        for unit in range(w.UNITS_OF_WAVE):
            m[records + w.READY + unit] = 0
            m[records + w.ACC_KEY + unit] = 0
            m[records + w.SENT + unit] = 0
        m[w.ALIVE] += 1
        if _block(p, m, r):
            _key(m, wave)
        else:
            _leave(p, m, wave, begin)
    return number


def _block(p: Words, m: Words, r: int) -> int:
    """Enters the block at the wave's place in its path, past empty ones; 0 at the path's end."""
    while m[r + w.AT] < m[r + w.END]:
        entry: int = p[p[w.PATH] + m[r + w.AT]]
        block: int = p[w.BLOCKS] + (entry >> 1) * 2
        if p[block + 1] > 0:
            m[r + w.OP] = p[block]
            m[r + w.SIZE_LEFT] = p[block + 1]
            m[r + w.REVISIT] = entry & 1
            m[r + w.INDEX] = entry
            return 1
        m[r + w.AT] += 1
    return 0


def _key(m: Words, wave: int) -> int:
    """When, and after whom, a wave tries next."""
    r: int = m[w.WAVES] + wave * w.WAVE_WORDS
    key: int = m[r + w.CLOCK] << 16 | (3 - m[r + w.RANK]) << 12 | m[r + w.AGE]
    m[m[w.KEYS] + wave] = key
    return key


def _earliest(m: Words) -> int:
    keys: int = m[w.KEYS]
    best: int = 0
    least: int = m[keys]
    for wave in range(1, m[w.WAVE_COUNT]):
        if m[keys + wave] < least:
            least = m[keys + wave]
            best = wave
    return best


def _later(p: Words, m: Words, now: int, ready: int, tally: int, cause: int) -> int:
    """The slot in which a wave that has to wait for `ready` may try again; the cycles go to `cause`."""
    if ready <= now:
        return now
    slot: int = p[w.SLOT]
    again: int = now + (ready - now + slot - 1) // slot * slot
    m[tally + cause] += again - now
    return again


def _try(p: Words, m: Words, wave: int) -> int:
    """Issues the wave's next instruction at its clock and gives 1, or moves its clock to when it may try again."""
    r: int = m[w.WAVES] + wave * w.WAVE_WORDS
    records: int = m[w.RECORDS] + wave * w.RECORD_WORDS
    number: int = m[r + w.OP]
    op: int = p[w.OPS] + number * w.OP_WORDS
    tally: int = m[w.TALLIES] + (number + m[r + w.REVISIT] * p[w.OP_COUNT]) * w.CAUSES
    flags: int = p[op + w.FLAGS]
    now: int = m[r + w.CLOCK]
    at: int = now
    if p[op + w.ADDRESS] >= 0:
        at = _later(p, m, at, _fetched(p, m, r, op, at), tally, w.FETCH)
    at = _later(p, m, at, _registers(p, m, records, op, at), tally, w.DEPENDENCE)
    if p[op + w.SOURCES] > 0:
        # A chain of matrix instructions goes on as soon as the sum is there, not at the next slot.
        ready: int = _accumulators(p, m, records, op, at)
        m[tally + w.DEPENDENCE] += ready - at
        at = ready
    if flags & w.IS_WAIT:
        at = _wait(p, m, r, records, op, at, tally)
    elif p[op + w.PORT] != w.INTERNAL:
        at = _port(p, m, r, op, at, tally, wave)
    if flags & (w.IN_VMCNT | w.IN_LGKMCNT):
        at = _room(p, m, r, records, op, at, tally)
    if at > now:
        m[r + w.CLOCK] = at
        _key(m, wave)
        return 0
    _issue(p, m, wave, r, records, op, tally, now)
    return 1


def _fetched(p: Words, m: Words, r: int, op: int, now: int) -> int:
    """When the instruction's bytes are there: windows are asked for one ahead, as the first instruction of a window issues."""
    first: int = p[op + w.ADDRESS] // p[w.FETCH_BYTES]
    last: int = (p[op + w.ADDRESS] + p[op + w.SIZE] - 1) // p[w.FETCH_BYTES]
    if m[r + w.WINDOW] != first and m[r + w.WINDOW] + 1 != first:
        # Not come here in sequence or by a modelled branch: as after a branch that resolved just now.
        m[r + w.WINDOW] = first
        m[r + w.WINDOW_READY] = now
        m[r + w.NEXT_READY] = -1
    window: int = m[r + w.WINDOW]
    if last == window:
        return m[r + w.WINDOW_READY]
    following: int = m[r + w.NEXT_READY]
    if following < 0:
        following = m[r + w.WINDOW_READY] + p[w.FETCH_CYCLES]
    return following if last == window + 1 else following + p[w.FETCH_CYCLES]


def _pass_window(p: Words, m: Words, r: int, op: int, at: int) -> int:
    """Notes that an instruction issued: its window is the wave's now, and the next one has been asked for."""
    first: int = p[op + w.ADDRESS] // p[w.FETCH_BYTES]
    if first == m[r + w.WINDOW] + 1:
        m[r + w.WINDOW] = first
        m[r + w.WINDOW_READY] = m[r + w.NEXT_READY] if m[r + w.NEXT_READY] >= 0 else at
        m[r + w.NEXT_READY] = -1
    if m[r + w.NEXT_READY] < 0:
        last: int = (p[op + w.ADDRESS] + p[op + w.SIZE] - 1) // p[w.FETCH_BYTES]
        m[r + w.NEXT_READY] = at + p[w.FETCH_CYCLES] if last == first else at
    return first


def _registers(p: Words, m: Words, records: int, op: int, now: int) -> int:
    """When the last of the units that the instruction names may be used."""
    latest: int = now
    units: int = p[w.UNIT_LIST] + p[op + w.UNITS]
    plain: int = units + p[op + w.PLAIN]
    for place in range(units, plain):
        latest = max(latest, m[records + w.READY + p[place]])
    if p[op + w.PORT] == w.VMEM or p[op + w.PORT] == w.LDS:
        # Addresses and data that the vector unit has just made take longer to get there.
        for place in range(units, plain):
            latest = max(latest, m[records + w.SENT + p[place]])
    for place in range(plain, plain + p[op + w.SOURCES]):
        if m[records + w.ACC_KEY + p[place]] == 0:
            latest = max(latest, m[records + w.READY + p[place]])
    return latest


def _accumulators(p: Words, m: Words, records: int, op: int, now: int) -> int:
    """When sums that matrix instructions have not written yet may be added to."""
    latest: int = now
    first: int = p[w.UNIT_LIST] + p[op + w.UNITS] + p[op + w.PLAIN]
    for place in range(first, first + p[op + w.SOURCES]):
        key: int = m[records + w.ACC_KEY + p[place]]
        if key != 0 and m[records + w.READY + p[place]] > now:
            same: int = w.ACC_SAME if key == p[op + w.SOURCE_KEY] else w.ACC_OTHER
            latest = max(latest, m[records + same + p[place]])
    return latest


def _wait(p: Words, m: Words, r: int, records: int, op: int, now: int, tally: int) -> int:
    if p[op + w.WAIT_VM] >= 0:
        now = _later(p, m, now, _covered(m, r + w.VM_HEAD, records + w.VM_QUEUE, p[op + w.WAIT_VM]), tally, w.ON_VMCNT)
    if p[op + w.WAIT_LGKM] >= 0:
        now = _later(p, m, now, _covered(m, r + w.LGKM_HEAD, records + w.LGKM_QUEUE, p[op + w.WAIT_LGKM]), tally, w.ON_LGKMCNT)
    return now


def _covered(m: Words, head: int, queue: int, count: int) -> int:
    """Takes all but the last `count` off a queue (its count follows its head); when they are complete."""
    latest: int = 0
    while m[head + 1] > count:
        latest = max(latest, m[queue + m[head] % w.QUEUE_SLOTS])
        m[head] += 1
        m[head + 1] -= 1
    return latest


def _room(p: Words, m: Words, r: int, records: int, op: int, now: int, tally: int) -> int:
    if p[op + w.FLAGS] & w.IN_VMCNT:
        now = _later(p, m, now, _oldest(m, r + w.VM_HEAD, records + w.VM_QUEUE, p[w.VM_LIMIT], now), tally, w.QUEUE)
    if p[op + w.FLAGS] & w.IN_LGKMCNT:
        now = _later(p, m, now, _oldest(m, r + w.LGKM_HEAD, records + w.LGKM_QUEUE, p[w.LGKM_LIMIT], now), tally, w.QUEUE)
    return now


def _oldest(m: Words, head: int, queue: int, limit: int, now: int) -> int:
    """Takes what is complete off the front of a queue; when fewer than `limit` are left."""
    while m[head + 1] > 0 and m[queue + m[head] % w.QUEUE_SLOTS] <= now:
        m[head] += 1
        m[head + 1] -= 1
    if m[head + 1] < limit:
        return now
    return m[queue + (m[head] + m[head + 1] - limit) % w.QUEUE_SLOTS]


def _port(p: Words, m: Words, r: int, op: int, now: int, tally: int, wave: int) -> int:
    s: int = m[w.SIMDS] + m[r + w.SIMD] * w.SIMD_WORDS
    port: int = p[op + w.PORT]
    if port == w.MATRIX:
        now = _later(p, m, now, m[s + w.MATRIX_FREE], tally, w.MATRIX_UNIT)
        return _later(p, m, now, m[s + w.VALU], tally, w.VECTOR_UNIT)
    if p[op + w.FLAGS] & w.IS_PACKED:
        # Behind another wave's matrix instruction only the unit counts.
        free: int = m[s + w.PACKED_FREE] if m[s + w.MATRIX_WAVE] == wave else m[s + w.MATRIX_FREE]
        now = _later(p, m, now, free, tally, w.MATRIX_UNIT)
    return _later(p, m, now, m[s + port], tally, w.PORT_TAKEN)


def _issue(p: Words, m: Words, wave: int, r: int, records: int, op: int, tally: int, at: int) -> int:
    """The instruction issues at `at`: units, queues and paths are taken, and the wave goes on."""
    flags: int = p[op + w.FLAGS]
    hold: int = p[op + w.HOLD]
    if flags & w.IS_MATRIX:
        _start_matrix(p, m, wave, r, records, op, at)
    else:
        port: int = p[op + w.PORT]
        s: int = m[w.SIMDS] + m[r + w.SIMD] * w.SIMD_WORDS
        if port != w.INTERNAL:
            m[s + port] = at + p[op + w.BUSY]
            if port == w.VALU:
                m[s + w.USED_VALU] += p[op + w.BUSY]
                _send(p, m, records, op, at + p[w.TO_MEMORY])
            if port == w.SALU:
                m[s + w.USED_SALU] += p[op + w.BUSY]
        if flags & (w.IN_VMCNT | w.IN_LGKMCNT):
            _in_flight(p, m, records, op, start_memory(p, m, r, records, op, at))
        elif p[op + w.LATENCY] > hold:
            _in_flight(p, m, records, op, at + p[op + w.LATENCY])
    m[tally + w.ISSUED] += 1
    if p[op + w.CAUSE] >= 0:
        m[tally + p[op + w.CAUSE]] += hold
    if p[op + w.ADDRESS] >= 0:
        _pass_window(p, m, r, op, at)
    if p[op + w.PRIORITY] >= 0:
        m[r + w.RANK] = p[op + w.PRIORITY]
    clock: int = at + hold
    entry: int = m[r + w.INDEX]
    last: int = m[r + w.SIZE_LEFT] == 1
    following: int = 1
    if last:
        m[r + w.AT] += 1
        following = _block(p, m, r)
        if p[op + w.TARGET] >= 0 and following and p[op + w.TARGET] == m[r + w.INDEX] >> 1:
            clock += p[w.BRANCH_TAKEN]
            m[tally + w.BRANCH] += p[w.BRANCH_TAKEN]
            _jump(p, m, r, clock)
    else:
        m[r + w.OP] += 1
        m[r + w.SIZE_LEFT] -= 1
    m[r + w.CLOCK] = clock
    _note(m, wave, op, at, clock, p[w.OPS])
    m[r + w.TRIED] = clock
    if last:
        block: int = m[w.BLOCK_TALLIES] + entry * 2
        m[block] += 1
        m[block + 1] += clock - m[r + w.ENTERED]
        m[r + w.BEFORE] = m[r + w.ENTERED]
        m[r + w.ENTERED] = clock
    m[w.LAST] = max(m[w.LAST], clock)
    if flags & w.IS_BARRIER:
        _arrive(p, m, wave, r, tally)
    if following == 0:
        _leave(p, m, wave, clock)
    elif m[r + w.STATUS] == w.RUNNING:
        _key(m, wave)
    return 1


def _jump(p: Words, m: Words, r: int, clock: int) -> int:
    """A taken branch: the window of the block it leads to is there when the branch's own cost is over."""
    op: int = p[w.OPS] + m[r + w.OP] * w.OP_WORDS
    if p[op + w.ADDRESS] >= 0:
        m[r + w.WINDOW] = p[op + w.ADDRESS] // p[w.FETCH_BYTES]
        m[r + w.WINDOW_READY] = clock
        m[r + w.NEXT_READY] = -1
    return 0


def _note(m: Words, wave: int, op: int, at: int, clock: int, ops: int) -> int:
    """Writes down an issue, for timelines."""
    if m[w.EVENT_LIMIT] == 0:
        return 0
    if m[w.EVENT_SKIP] > 0:
        m[w.EVENT_SKIP] -= 1
        return 0
    if m[w.EVENT_COUNT] < m[w.EVENT_LIMIT]:
        event: int = m[w.EVENTS] + m[w.EVENT_COUNT] * w.EVENT_WORDS
        m[event] = wave
        m[event + 1] = (op - ops) // w.OP_WORDS
        m[event + 2] = m[m[w.WAVES] + wave * w.WAVE_WORDS + w.TRIED]
        m[event + 3] = at
        m[event + 4] = clock
        m[w.EVENT_COUNT] += 1
    return 0


def _arrive(p: Words, m: Words, wave: int, r: int, tally: int) -> int:
    """A wave of a work-group of several stops at a barrier until the last of them is there."""
    if p[w.GROUP_WAVES] == 1:
        return 0
    m[r + w.STATUS] = w.AT_BARRIER
    m[m[w.KEYS] + wave] = w.NEVER
    # Until the barrier opens the tally of what it costs is kept in the wave's record of tries.
    m[r + w.TRIED] = tally
    group: int = m[w.GROUPS] + m[r + w.GROUP] * w.GROUP_WORDS
    m[group + w.GROUP_ARRIVED] += 1
    return _open(p, m, m[r + w.GROUP], m[r + w.CLOCK])


def _open(p: Words, m: Words, place: int, now: int) -> int:
    """Lets the waves at a barrier go when no other of their work-group is on its way to it."""
    group: int = m[w.GROUPS] + place * w.GROUP_WORDS
    if m[group + w.GROUP_ARRIVED] == 0 or m[group + w.GROUP_ARRIVED] < m[group + w.GROUP_ALIVE]:
        return 0
    m[group + w.GROUP_ARRIVED] = 0
    for n in range(p[w.GROUP_WAVES]):
        wave: int = place * p[w.GROUP_WAVES] + n
        r: int = m[w.WAVES] + wave * w.WAVE_WORDS
        if m[r + w.STATUS] == w.AT_BARRIER:
            m[r + w.STATUS] = w.RUNNING
            tally: int = m[r + w.TRIED]
            m[r + w.CLOCK] = _later(p, m, m[r + w.CLOCK], now + p[w.BARRIER_RELEASE], tally, w.BARRIER)
            m[r + w.TRIED] = m[r + w.CLOCK]
            _key(m, wave)
    return 1


def _leave(p: Words, m: Words, wave: int, now: int) -> int:
    """A wave ends; when it is its work-group's last, the next work-group takes the place."""
    r: int = m[w.WAVES] + wave * w.WAVE_WORDS
    m[r + w.STATUS] = w.ENDED
    m[m[w.KEYS] + wave] = w.NEVER
    m[w.ALIVE] -= 1
    place: int = m[r + w.GROUP]
    group: int = m[w.GROUPS] + place * w.GROUP_WORDS
    m[group + w.GROUP_ALIVE] -= 1
    m[group + w.GROUP_LEFT] = max(m[group + w.GROUP_LEFT], now)
    if m[group + w.GROUP_ALIVE] > 0:
        return _open(p, m, place, now)
    m[w.GROUP_TIME] += m[group + w.GROUP_LEFT] - m[group + w.GROUP_STARTED]
    if m[w.LAUNCHED] < p[w.GROUP_COUNT]:
        _enter(p, m, place, m[group + w.GROUP_LEFT])
    return 0


def _start_matrix(p: Words, m: Words, wave: int, r: int, records: int, op: int, at: int) -> int:
    s: int = m[w.SIMDS] + m[r + w.SIMD] * w.SIMD_WORDS
    m[s + w.MATRIX_FREE] = at + p[op + w.MATRIX_BUSY]
    m[s + w.USED_MATRIX] += p[op + w.MATRIX_BUSY]
    m[s + w.VALU] = max(m[s + w.VALU], at + p[op + w.VALU_SHADOW])
    m[s + w.PACKED_FREE] = at + p[op + w.PACKED_SHADOW]
    m[s + w.MATRIX_WAVE] = wave
    _in_flight(p, m, records, op, at + p[op + w.RESULT])
    first: int = p[w.UNIT_LIST] + p[op + w.UNITS] + p[op + w.PLAIN] + p[op + w.SOURCES]
    for place in range(first, first + p[op + w.WRITES]):
        unit: int = records + p[place]
        m[unit + w.ACC_KEY] = p[op + w.WRITE_KEY]
        m[unit + w.ACC_SAME] = at + p[op + w.SAME]
        m[unit + w.ACC_OTHER] = at + p[op + w.OTHER]
    return 0


def _in_flight(p: Words, m: Words, records: int, op: int, ready: int) -> int:
    first: int = p[w.UNIT_LIST] + p[op + w.UNITS] + p[op + w.PLAIN] + p[op + w.SOURCES]
    for place in range(first, first + p[op + w.WRITES]):
        m[records + w.READY + p[place]] = ready
        m[records + w.ACC_KEY + p[place]] = 0
    return 0


def _send(p: Words, m: Words, records: int, op: int, ready: int) -> int:
    """Notes when results of the vector unit may be addresses or data of memory instructions."""
    first: int = p[w.UNIT_LIST] + p[op + w.UNITS] + p[op + w.PLAIN] + p[op + w.SOURCES]
    for place in range(first, first + p[op + w.WRITES]):
        m[records + w.SENT + p[place]] = ready
    return ready
