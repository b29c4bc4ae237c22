"""What a memory instruction takes on its way: the paths to LDS and to the vector cache, what the caches hold, when it is done.

Owns the memory side of the machine. Written in the subset of `compiled`; `words` has the fields.
"""

from __future__ import annotations

from asmevo.backend.timing import words as w
from asmevo.backend.timing.words import Words


def start_memory(p: Words, m: Words, r: int, records: int, op: int, at: int) -> int:
    """A memory instruction enters its path; when its result is there."""
    port: int = p[op + w.PORT]
    flags: int = p[op + w.FLAGS]
    access: int = -1
    if m[r + w.ACCESS] >= 0:
        access = p[w.ACCESSES] + m[r + w.ACCESS] * w.ACCESS_WORDS
        m[r + w.ACCESS] += 1
    done: int = at + p[op + w.LATENCY]
    if port == w.VMEM:
        done = _vector_memory(p, m, op, access, at)
    elif port == w.LDS:
        done = _lds(p, m, r, op, access, at)
    elif flags & w.IS_SCALAR_MEMORY and access >= 0:
        done = at + (p[w.SCALAR_HIT] if _scalar_hits(p, m, access) else p[w.SCALAR_MISS])
    if flags & w.IN_VMCNT:
        done = _queue(m, r + w.VM_HEAD, records + w.VM_QUEUE, done, 1)
    if flags & w.IN_LGKMCNT:
        done = _queue(m, r + w.LGKM_HEAD, records + w.LGKM_QUEUE, done, port == w.LDS)
    return done


def _queue(m: Words, head: int, queue: int, done: int, in_order: int) -> int:
    """Puts an operation behind a queue; one in order is not complete before the one ahead of it."""
    if in_order and m[head + 1] > 0:
        done = max(done, m[queue + (m[head] + m[head + 1] - 1) % w.QUEUE_SLOTS])
    if m[head + 1] == w.QUEUE_SLOTS:
        m[head] += 1
        m[head + 1] -= 1
    m[queue + (m[head] + m[head + 1]) % w.QUEUE_SLOTS] = done
    m[head + 1] += 1
    return done


def _lds(p: Words, m: Words, r: int, op: int, access: int, at: int) -> int:
    """Half of the SIMDs share a path to the array of banks, and all of them the array."""
    half: int = w.LDS_FREE_2 if p[w.LDS_PATHS] > 1 and m[r + w.SIMD] >= 2 else w.LDS_FREE
    banks: int = p[op + w.BANKS]
    transfer: int = p[op + w.TRANSFER]
    if access >= 0:
        banks = p[access + w.ACCESS_CYCLES]
    begin: int = max(at, m[half])
    m[half] = begin + transfer
    end: int = begin + transfer
    if banks > 0:
        first: int = max(begin, m[w.BANK_FREE])
        m[w.BANK_FREE] = first + banks
        m[w.USED_BANKS] += banks
        end = max(end, first + banks)
        # Conflicts hold the path up too: the data of a wave leave the array in order.
        m[half] = max(m[half], first + banks)
    return end + p[op + w.LATENCY]


def _vector_memory(p: Words, m: Words, op: int, access: int, at: int) -> int:
    """Addresses and data pass the compute unit's vector cache; lines that it does not have come over the path to memory."""
    cycles: int = p[op + w.TRANSFER]
    if access >= 0:
        cycles = max(cycles, p[access + w.ACCESS_CYCLES])
    begin: int = max(at, m[w.L1_FREE])
    end: int = begin + cycles
    m[w.L1_FREE] = end
    m[w.USED_L1] += cycles
    if access < 0:
        if p[op + w.LINES] == 0:
            return end + p[op + w.LATENCY]
        far: int = p[w.ALL_FAR]
        path: int = max(begin * w.SUB, m[w.MEMORY_FREE])
        if p[op + w.FLAGS] & w.IS_STORE:
            m[w.STORE_LINES] += p[op + w.LINES]
            path += p[op + w.LINES] * p[w.STORE_COST]
        elif far:
            m[w.FAR_LINES] += p[op + w.LINES]
            path += p[op + w.LINES] * p[w.FAR_COST]
        else:
            m[w.NEAR_LINES] += p[op + w.LINES]
            path += p[op + w.LINES] * p[w.NEAR_COST]
        m[w.USED_MEMORY] += path - max(begin * w.SUB, m[w.MEMORY_FREE])
        m[w.MEMORY_FREE] = path
        return max(end, path // w.SUB) + (p[w.FAR_LATENCY] if far else p[w.NEAR_LATENCY])
    return _looked_up(p, m, op, access, begin, end)


def _looked_up(p: Words, m: Words, op: int, access: int, begin: int, end: int) -> int:
    """The same with known lines: what the vector cache holds, what the wider caches have seen, and what they have not."""
    latency: int = p[w.L1_LATENCY]
    path: int = max(begin * w.SUB, m[w.MEMORY_FREE])
    first: int = p[w.LINE_LIST] + p[access + w.ACCESS_LINES]
    misses: int = 0
    for place in range(first, first + p[access + w.ACCESS_COUNT]):
        line: int = p[place]
        if p[op + w.FLAGS] & w.IS_STORE:
            m[w.STORE_LINES] += 1
            path += p[w.STORE_COST]
            latency = max(latency, p[w.NEAR_LATENCY])
            m[m[w.SEEN] + line % w.SEEN_LINES] = line + 1
            misses += 1
        elif _cached(m, line):
            m[w.L1_HITS] += 1
        else:
            misses += 1
            seen: int = m[w.SEEN] + line % w.SEEN_LINES
            # Of the lines new to this compute unit FAR_PART of PARTS are new to the wider cache too.
            if m[seen] != line + 1 and p[w.ALL_FAR]:
                m[w.FAR_OWED] += p[w.FAR_PART]
            m[seen] = line + 1
            if m[w.FAR_OWED] >= w.PARTS:
                m[w.FAR_OWED] -= w.PARTS
                m[w.FAR_LINES] += 1
                path += p[w.FAR_COST]
                latency = max(latency, p[w.FAR_LATENCY])
            else:
                m[w.NEAR_LINES] += 1
                path += p[w.NEAR_COST]
                latency = max(latency, p[w.NEAR_LATENCY])
    if misses == 0:
        return end + latency
    m[w.USED_MEMORY] += path - max(begin * w.SUB, m[w.MEMORY_FREE])
    m[w.MEMORY_FREE] = path
    return max(end, path // w.SUB) + latency


def _cached(m: Words, line: int) -> int:
    """Whether the vector cache holds a line; it does afterwards. Least recently used of four goes."""
    m[w.STAMP] += 1
    base: int = m[w.L1_TAGS] + line % w.L1_SETS * w.L1_WAYS * 2
    oldest: int = base
    for way in range(w.L1_WAYS):
        place: int = base + 2 * way
        if m[place] == line + 1:
            m[place + 1] = m[w.STAMP]
            return 1
        if m[place + 1] < m[oldest + 1]:
            oldest = place
    m[oldest] = line + 1
    m[oldest + 1] = m[w.STAMP]
    return 0


def _scalar_hits(p: Words, m: Words, access: int) -> int:
    """Whether the scalar cache holds all lines of an access; it does afterwards."""
    hits: int = 1
    first: int = p[w.LINE_LIST] + p[access + w.ACCESS_LINES]
    for place in range(first, first + p[access + w.ACCESS_COUNT]):
        tag: int = m[w.SCALAR_TAGS] + p[place] % w.SCALAR_LINES
        if m[tag] != p[place] + 1:
            hits = 0
            m[tag] = p[place] + 1
    return hits
