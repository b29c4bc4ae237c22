"""Lays a kernel, its paths and a chip out in the words that the machine reads, and reads its tallies back.

Owns the encoding. It must not decide what an instruction costs (that is `ir.analysis.cost.costs`) or which way a wave goes.
"""

# NumPy's own stubs leave several methods of plain arrays partially unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from asmevo.backend.timing import machine, words
from asmevo.ir.analysis.cost.costs import Port, Timed
from asmevo.ir.isa.chips import Chip

Array = npt.NDArray[np.int64]

CAUSES = (
    "dependence", "vmcnt", "lgkmcnt", "matrix unit", "vector unit", "port", "memory queue", "wait slot", "nop", "barrier",
    "branch", "fetch",
)  # fmt: skip
"""Names of what waves lose cycles to, by the machine's numbers; "port" is shown with the port's name."""
_OWN_CAUSES = {name: number for number, name in enumerate(CAUSES)}
_PORTS = tuple(f"{port.name.lower()} port" for port in Port)


@dataclass(frozen=True, slots=True)
class Detail:
    """What the machine needs of an instruction beyond its costs.

    `address` and `size` are bytes of code (address -1: fetch is not modelled), `banks` cycles of the LDS array, `lines` those
    that a vector access brings, `target` the number of the block that a branch leads to, `priority` what s_setprio sets.
    `transfer` and `hold` take the place of the costs' own when they are not negative; with `hold` the instruction itself is no
    stall.
    """

    address: int = -1
    size: int = 4
    banks: int = 0
    lines: int = 0
    target: int = -1
    priority: int = -1
    is_store: bool = False
    is_barrier: bool = False
    is_scalar_memory: bool = False
    transfer: int = -1
    hold: int = -1


NO_DETAIL = Detail()


@dataclass(frozen=True, slots=True)
class _Row:
    """An operation's words, and its unit numbers."""

    words: bytes
    units: bytes
    count: int


_rows: dict[int, tuple[Timed, _Row]] = {}
_ROWS_LIMIT = 1 << 16


def _row(timed: Timed) -> _Row:
    """The words of an instruction's costs. Costs are shared by instructions of equal text, so identities are good keys."""
    known = _rows.get(id(timed))
    if known is None:
        if len(_rows) >= _ROWS_LIMIT:
            _rows.clear()
        known = _rows[id(timed)] = (timed, _made(timed))
    return known[1]


def _made(timed: Timed) -> _Row:
    row = np.zeros(words.OP_WORDS, np.int64)
    matrix = timed.matrix
    # What only an accumulator reads may come early; what is written waits for everything before it.
    source = timed.accumulator & ~timed.reads
    plain = _units(timed.reads | timed.writes & ~source)
    sources, writes = _units(source), _units(timed.writes)
    flags = words.IN_VMCNT * timed.vmcnt | words.IN_LGKMCNT * timed.lgkmcnt | words.IS_PACKED * timed.packed
    flags |= words.IS_WAIT * (timed.wait is not None) | words.IS_MATRIX * (matrix is not None)
    row[words.PORT] = int(timed.port)
    row[words.BUSY] = timed.busy
    row[words.LATENCY] = timed.latency
    row[words.HOLD] = timed.hold
    row[words.TRANSFER] = timed.transfer
    row[words.FLAGS] = flags
    row[words.WAIT_VM] = row[words.WAIT_LGKM] = -1
    if timed.wait is not None:
        row[words.WAIT_VM] = -1 if timed.wait.vmcnt is None else timed.wait.vmcnt
        row[words.WAIT_LGKM] = -1 if timed.wait.lgkmcnt is None else timed.wait.lgkmcnt
    row[words.CAUSE] = _OWN_CAUSES.get(timed.cause, -1)
    if matrix is not None:
        row[words.MATRIX_BUSY] = matrix.busy
        row[words.VALU_SHADOW] = matrix.valu_shadow
        row[words.PACKED_SHADOW] = matrix.packed_shadow
        row[words.SAME] = matrix.same_accumulator
        row[words.OTHER] = matrix.accumulator
        row[words.RESULT] = matrix.result
    row[words.ADDRESS] = row[words.TARGET] = row[words.PRIORITY] = -1
    row[words.PLAIN], row[words.SOURCES], row[words.WRITES] = len(plain), len(sources), len(writes)
    row[words.SOURCE_KEY] = _key(timed.accumulator)
    row[words.WRITE_KEY] = _key(timed.writes)
    units = np.array([*plain, *sources, *writes], np.int64)
    return _Row(row.tobytes(), units.tobytes(), len(units))


def _key(mask: int) -> int:
    """A number that tells unit sets apart: where the run of units begins and how long it is, never 0."""
    return (mask & -mask).bit_length() << 16 | mask.bit_length() << 32 | 1


def _units(mask: int) -> list[int]:
    found: list[int] = []
    while mask:
        low = mask & -mask
        mask ^= low
        found.append(low.bit_length() - 1)
    return found


@dataclass(frozen=True, slots=True)
class Trace:
    """The way of one wave: entries (n,) int64 of block * 2 + revisit, and per access in order (cycles, first line, lines).

    `accesses` (k, 3) and `lines` are empty when addresses are not known.
    """

    entries: Array
    accesses: Array | None = None
    lines: Array | None = None


@dataclass(frozen=True, slots=True)
class Figures:
    """The head's figures that are not the chip's alone: memory as the launch sees it, costs in sixteenths of a cycle."""

    near_latency: int = 0
    far_latency: int = 0
    near_cost: int = 0
    far_cost: int = 0
    store_cost: int = 0
    all_far: bool = False
    far_part: int = words.PARTS
    group_launch: int = 0
    wave_launch: int = 0


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine ready to run: SIMDs, resident work-groups and waves of each, and how many work-groups run in all.

    `simd_of` is the SIMD of each resident wave; it may be driven natively or by the interpreter, with equal results.
    """

    program: Array
    state: Array
    op_count: int
    block_count: int

    def run(self, limit: int = words.NEVER, *, natively: bool = True) -> int:
        """Issues up to `limit` instructions and returns how many."""
        if natively:
            return _native("run")(self.program.ctypes.data, self.state.ctypes.data, limit)
        return _interpreted(self, lambda p, m: machine.run(p, m, limit))

    def start(self, *, natively: bool = True) -> int:
        """Puts the first work-groups on the compute unit."""
        if natively:
            return _native("start")(self.program.ctypes.data, self.state.ctypes.data)
        return _interpreted(self, lambda p, m: machine.start(p, m))

    def head(self, word: int) -> int:
        """A counter of the machine's head."""
        return int(self.state[word])

    def part(self, word: int, rows: int, columns: int) -> Array:
        """The part of the state that a word of the head points to, shape (rows, columns)."""
        begin = int(self.state[word])
        return self.state[begin : begin + rows * columns].reshape(rows, columns)

    def tallies(self) -> Array:
        """Cycles by operation and cause, with a last column of issues: shape (2, ops, causes), first visits and others."""
        return self.part(words.TALLIES, 2 * self.op_count, words.CAUSES).reshape(2, self.op_count, words.CAUSES)

    def blocks(self) -> Array:
        """Visits and cycles of waves by block: shape (blocks, 2, 2), first visits and others."""
        return self.part(words.BLOCK_TALLIES, 2 * self.block_count, 2).reshape(self.block_count, 2, 2)


def _interpreted(m: Machine, work: Callable[[list[int], list[int]], int]) -> int:
    program, state = m.program.tolist(), m.state.tolist()
    result = work(program, state)
    m.state[:] = state
    return result


@lru_cache(maxsize=4)
def _native(name: str) -> Callable[..., int]:
    # LLVM is loaded when something is modelled, not when this module is.
    from asmevo.backend.timing.compiled import native_function

    return native_function(machine, name)


@dataclass(slots=True)
class Builder:
    """Collects blocks and traces, and makes the machine."""

    chip: Chip
    figures: Figures = field(default_factory=Figures)
    _words: list[bytes] = field(default_factory=list[bytes])
    _units: list[bytes] = field(default_factory=list[bytes])
    _unit_counts: list[int] = field(default_factory=list[int])
    _details: list[tuple[int, Detail]] = field(default_factory=list[tuple[int, Detail]])
    _blocks: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    _traces: list[Trace] = field(default_factory=list[Trace])

    def block(self, sequence: Sequence[Timed], details: Sequence[Detail] = ()) -> int:
        """Adds a block; its number."""
        first = len(self._words)
        for timed in sequence:
            row = _row(timed)
            self._words.append(row.words)
            self._units.append(row.units)
            self._unit_counts.append(row.count)
        self._details += [(first + n, detail) for n, detail in enumerate(details) if detail is not NO_DETAIL]
        self._blocks.append((first, len(sequence)))
        return len(self._blocks) - 1

    def trace(self, trace: Trace) -> None:
        """Adds the way of a wave. Wave n of work-group g takes trace (g * waves + n) modulo their number."""
        self._traces.append(trace)

    def machine(
        self,
        simd_of: Sequence[int],
        *,
        group_waves: int = 1,
        groups: int | None = None,
        lds_paths: int = 1,
        events: int = 0,
        skip_events: int = 0,
    ) -> Machine:
        """The machine with a place for a wave for each entry of `simd_of`; `groups` work-groups run, by default the places."""
        ops = np.frombuffer(b"".join(self._words), np.int64).reshape(-1, words.OP_WORDS).copy()
        counts = np.array([0, *self._unit_counts], np.int64).cumsum()
        ops[:, words.UNITS] = counts[:-1]
        for number, detail in self._details:
            _apply(ops[number], detail)
        parts = {
            words.OPS: ops.reshape(-1),
            words.UNIT_LIST: np.frombuffer(b"".join(self._units), np.int64),
            words.BLOCKS: np.array(self._blocks, np.int64).reshape(-1),
            **self._trace_parts(),
        }
        total = len(simd_of) // group_waves if groups is None else groups
        head = self._head(len(ops), len(self._traces), group_waves, total, lds_paths)
        program = _joined(head, words.PROGRAM_HEAD, parts)
        state = _state(simd_of, group_waves, len(ops), len(self._blocks), events, self._has_accesses(), skip_events)
        return Machine(program, state, len(ops), len(self._blocks))

    def _has_accesses(self) -> bool:
        return any(trace.accesses is not None for trace in self._traces)

    def _trace_parts(self) -> dict[int, Array]:
        rows: list[tuple[int, int, int]] = []
        at = access_at = line_at = 0
        accesses: list[Array] = []
        lines: list[Array] = []
        for trace in self._traces:
            rows.append((at, at + len(trace.entries), -1 if trace.accesses is None else access_at))
            at += len(trace.entries)
            if trace.accesses is not None and trace.lines is not None:
                moved = trace.accesses.copy()
                moved[:, words.ACCESS_LINES] += line_at
                accesses.append(moved.reshape(-1))
                lines.append(trace.lines)
                access_at += len(trace.accesses)
                line_at += len(trace.lines)
        none = np.zeros(0, np.int64)
        return {
            words.PATH: np.concatenate([none, *(trace.entries for trace in self._traces)]),
            words.TRACES: np.array(rows, np.int64).reshape(-1),
            words.ACCESSES: np.concatenate([none, *accesses]),
            words.LINE_LIST: np.concatenate([none, *lines]),
        }

    def _head(self, ops: int, traces: int, group_waves: int, groups: int, lds_paths: int) -> Array:
        chip, figures = self.chip, self.figures
        head = np.zeros(words.PROGRAM_HEAD, np.int64)
        for word, value in {
            words.OP_COUNT: ops,
            words.TRACE_COUNT: traces,
            words.GROUP_WAVES: group_waves,
            words.GROUP_COUNT: groups,
            words.SLOT: chip.slot.value,
            words.BRANCH_TAKEN: chip.branch_taken.value,
            words.FETCH_CYCLES: chip.fetch_latency.value,
            words.FETCH_BYTES: chip.fetch_bytes.value,
            words.BARRIER_RELEASE: chip.barrier_release.value,
            words.VM_LIMIT: chip.vmem_in_flight.value,
            words.LGKM_LIMIT: chip.lgkm_in_flight.value,
            words.L1_LATENCY: chip.l1_latency.value,
            words.NEAR_LATENCY: figures.near_latency,
            words.FAR_LATENCY: figures.far_latency,
            words.NEAR_COST: figures.near_cost,
            words.FAR_COST: figures.far_cost,
            words.STORE_COST: figures.store_cost,
            words.ALL_FAR: int(figures.all_far),
            words.SCALAR_HIT: chip.smem_hit.value,
            words.SCALAR_MISS: chip.smem_latency.value,
            words.LAUNCH_CYCLES: figures.group_launch,
            words.WAVE_CYCLES: figures.wave_launch,
            words.LDS_PATHS: lds_paths,
            words.FAR_PART: figures.far_part,
            words.TO_MEMORY: chip.valu_to_address.value,
        }.items():
            head[word] = value
        return head


def _apply(row: Array, detail: Detail) -> None:
    row[words.ADDRESS], row[words.SIZE] = detail.address, detail.size
    row[words.BANKS], row[words.LINES] = detail.banks, detail.lines
    row[words.TARGET], row[words.PRIORITY] = detail.target, detail.priority
    row[words.FLAGS] |= words.IS_STORE * detail.is_store | words.IS_BARRIER * detail.is_barrier
    row[words.FLAGS] |= words.IS_SCALAR_MEMORY * detail.is_scalar_memory
    if detail.transfer >= 0:
        row[words.TRANSFER] = detail.transfer
    if detail.hold >= 0:
        row[words.HOLD], row[words.CAUSE] = detail.hold, -1


def _joined(head: Array, size: int, parts: dict[int, Array]) -> Array:
    at = size
    for word, part in parts.items():
        head[word] = at
        at += len(part)
    return np.ascontiguousarray(np.concatenate([head, *parts.values()]))


def _state(
    simd_of: Sequence[int], group_waves: int, ops: int, blocks: int, events: int, with_caches: bool, skip_events: int
) -> Array:
    waves, simds = len(simd_of), max(simd_of) + 1
    sizes = {
        words.KEYS: waves,
        words.WAVES: waves * words.WAVE_WORDS,
        words.SIMDS: simds * words.SIMD_WORDS,
        words.GROUPS: -(-waves // group_waves) * words.GROUP_WORDS,
        words.RECORDS: waves * words.RECORD_WORDS,
        words.TALLIES: 2 * ops * words.CAUSES,
        words.BLOCK_TALLIES: 4 * blocks,
        words.EVENTS: events * words.EVENT_WORDS,
        words.L1_TAGS: words.L1_SETS * words.L1_WAYS * 2 if with_caches else 0,
        words.SEEN: words.SEEN_LINES if with_caches else 0,
        words.SCALAR_TAGS: words.SCALAR_LINES if with_caches else 0,
    }
    state = np.zeros(words.HEAD_WORDS + sum(sizes.values()), np.int64)
    at = words.HEAD_WORDS
    for word, size in sizes.items():
        state[word] = at
        at += size
    state[words.WAVE_COUNT] = waves
    state[words.EVENT_LIMIT] = events
    state[words.EVENT_SKIP] = skip_events
    first = int(state[words.WAVES]) + words.SIMD
    state[first : first + waves * words.WAVE_WORDS : words.WAVE_WORDS] = simd_of
    first = int(state[words.SIMDS]) + words.MATRIX_WAVE
    state[first : first + simds * words.SIMD_WORDS : words.SIMD_WORDS] = -1
    return state


def cause_name(cause: int, timed: Timed) -> str:
    """The name of what an instruction waited for."""
    return _PORTS[int(timed.port)] if cause == words.PORT_TAKEN else CAUSES[cause]
