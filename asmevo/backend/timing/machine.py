"""In-order issue of waves on one SIMD.

Owns the machine's state: each wave's next slot, registers in flight and wait counters; the ports that the waves share. It
must not know blocks or weights: it runs instructions one after another and says when each issued and what it waited for.

A wave issues in order, at most one instruction a slot, when its registers, its port and its counters allow. Waves that may
issue at the same time go by their number. All quantities are integers, so equal input gives equal output. For one wave every
issue time is a maximum of sums of earlier ones, so taking an instruction away never makes a later one issue later.
"""

from __future__ import annotations

from asmevo.ir.analysis.costs import Port, Timed
from asmevo.ir.instruction import WaitCounts
from asmevo.ir.isa.chips import Chip
from asmevo.ir.isa.model import Counter


class Wave:
    """One wave: when it may issue next, and what it has in flight."""

    __slots__ = ("accumulators", "clock", "lgkmcnt", "pending", "ready", "vmcnt")

    def __init__(self, start: int) -> None:
        self.clock = start
        self.pending = 0
        self.ready: dict[int, int] = {}
        self.accumulators: dict[int, tuple[int, int, int]] = {}
        self.vmcnt: list[int] = []
        self.lgkmcnt: list[int] = []


class Simd:
    """The ports and data paths that waves of a SIMD share."""

    __slots__ = ("_chip", "_free", "_in_flight", "_lds_path", "_matrix", "_packed", "_slot", "_vmem_path")

    def __init__(self, chip: Chip) -> None:
        self._chip = chip
        self._slot = chip.slot.value
        self._free = [0] * len(Port)
        self._matrix = 0
        self._packed = 0
        self._lds_path = 0
        self._vmem_path = 0
        self._in_flight = chip.vmem_in_flight.value

    def issue(self, wave: Wave, timed: Timed, *, taken: bool, lost: dict[str, int]) -> bool:
        """Issues the wave's next instruction at its clock, if it can; adds the cycles lost to `lost`, by cause.

        When it cannot, the wave's clock moves to the earliest time at which it may try again and the answer is False: a wave
        that waits must not keep a port from waves that are ready before it. `taken` says that the branch goes to its label.
        """
        at = wave.clock
        if (timed.reads | timed.writes | timed.accumulator) & wave.pending:
            at = self._later(at, self._registers_ready(wave, timed, at), "dependence", lost)
        if timed.wait is not None:
            at = self._wait(wave, timed.wait, at, lost)
        elif timed.port is not Port.INTERNAL:
            at = self._port(timed, at, lost)
        if timed.vmcnt:
            at = self._queue_room(wave, at, lost)
        if at > wave.clock:
            wave.clock = at
            return False
        self._occupy(wave, timed, at)
        wave.clock = at + timed.hold
        if timed.cause:
            lost[timed.cause] = timed.hold
        if taken:
            wave.clock += self._chip.branch_taken.value
            lost["branch"] = self._chip.branch_taken.value
        return True

    def _later(self, now: int, ready: int, cause: str, lost: dict[str, int]) -> int:
        if ready <= now:
            return now
        # Waves issue on slot boundaries only.
        ready += -(ready - now) % self._slot
        lost[cause] = lost.get(cause, 0) + ready - now
        return ready

    def _registers_ready(self, wave: Wave, timed: Timed, now: int) -> int:
        latest = now
        common = (timed.reads | timed.writes | timed.accumulator) & wave.pending
        while common:
            low = common & -common
            common ^= low
            unit = low.bit_length() - 1
            ready = wave.ready[unit]
            if ready <= now:
                wave.pending ^= low
                wave.accumulators.pop(unit, None)
                continue
            if timed.accumulator & low and not timed.reads & low and unit in wave.accumulators:
                whole, same, other = wave.accumulators[unit]
                ready = same if whole == timed.accumulator else other
            latest = max(latest, ready)
        return latest

    def _wait(self, wave: Wave, wait: WaitCounts, now: int, lost: dict[str, int]) -> int:
        for counter, count, queue in (
            (Counter.VMCNT, wait.vmcnt, wave.vmcnt),
            (Counter.LGKMCNT, wait.lgkmcnt, wave.lgkmcnt),
        ):
            if count is not None and len(queue) > count:
                done = queue[: len(queue) - count]
                del queue[: len(done)]
                now = self._later(now, max(done), counter.value, lost)
        return now

    def _port(self, timed: Timed, now: int, lost: dict[str, int]) -> int:
        if timed.port is Port.MATRIX:
            now = self._later(now, self._matrix, "matrix unit", lost)
            return self._later(now, self._free[Port.VALU], "vector unit", lost)
        if timed.packed:
            now = self._later(now, self._packed, "matrix unit", lost)
        return self._later(now, self._free[timed.port], f"{timed.port.name.lower()} port", lost)

    def _queue_room(self, wave: Wave, now: int, lost: dict[str, int]) -> int:
        queue = wave.vmcnt
        while queue and queue[0] <= now:
            del queue[0]
        if len(queue) < self._in_flight:
            return now
        return self._later(now, queue[len(queue) - self._in_flight], "memory queue", lost)

    def _occupy(self, wave: Wave, timed: Timed, at: int) -> None:
        matrix = timed.matrix
        if matrix is not None:
            self._matrix = at + matrix.busy
            self._free[Port.VALU] = max(self._free[Port.VALU], at + matrix.valu_shadow)
            self._packed = at + matrix.packed_shadow
            self._in_flight_registers(wave, timed.writes, at + matrix.result)
            entry = (timed.writes, at + matrix.same_accumulator, at + matrix.accumulator)
            mask = timed.writes
            while mask:
                low = mask & -mask
                mask ^= low
                wave.accumulators[low.bit_length() - 1] = entry
            return
        if timed.port is not Port.INTERNAL:
            self._free[timed.port] = at + timed.busy
        if timed.vmcnt or timed.lgkmcnt:
            self._start_memory(wave, timed, at)
        elif timed.latency > timed.hold:
            self._in_flight_registers(wave, timed.writes, at + timed.latency)

    def _start_memory(self, wave: Wave, timed: Timed, at: int) -> None:
        done = at + timed.latency
        if timed.port is Port.VMEM:
            begin = max(at, self._vmem_path)
            self._vmem_path = begin + timed.transfer
            done = begin + timed.transfer + timed.latency
        elif timed.port is Port.LDS:
            begin = max(at, self._lds_path)
            self._lds_path = begin + timed.transfer
            done = begin + timed.transfer + timed.latency - self._slot
        if timed.vmcnt:
            done = max(done, wave.vmcnt[-1]) if wave.vmcnt else done
            wave.vmcnt.append(done)
        if timed.lgkmcnt:
            in_order = timed.port is Port.LDS and wave.lgkmcnt
            done = max(done, wave.lgkmcnt[-1]) if in_order else done
            wave.lgkmcnt.append(done)
        self._in_flight_registers(wave, timed.writes, done)

    def _in_flight_registers(self, wave: Wave, units: int, ready: int) -> None:
        wave.pending |= units
        while units:
            low = units & -units
            units ^= low
            unit = low.bit_length() - 1
            wave.ready[unit] = ready
            wave.accumulators.pop(unit, None)
