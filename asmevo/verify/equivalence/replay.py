"""Refutation by running: both windows are executed in the emulator on one state, and what ends different is shown.

Owns which differences count. A difference that rests on bits nobody documents (approximate operations, payloads of NaNs, the
order of signed zeros, AGPR moves under a partial EXEC) refutes nothing, nor does a state on which a window faults.
"""

# NumPy's own stubs leave several methods of plain arrays partially unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from asmevo.ir.effects import effects
from asmevo.ir.instruction import Instruction, Register
from asmevo.ir.isa.model import Access
from asmevo.ir.registers import EXEC, MODE, SCC, UNIT_COUNT, VECTOR_MASK, VGPR0, unit_name, units
from asmevo.ir.semantics.expr import Domain
from asmevo.verify.equivalence.compiled import FLOATS
from asmevo.verify.equivalence.concrete import LANES, WaveState, WindowRunner
from asmevo.verify.equivalence.execute import Programs
from asmevo.verify.equivalence.facts import Facts
from asmevo.verify.equivalence.machine import AddressUse
from asmevo.verify.equivalence.states import entry_state
from asmevo.verify.equivalence.terms import Term, cone

_FULL = (1 << 64) - 1
_FLOAT_OPS = frozenset(op.value for op in FLOATS) | {"native"}
_REGISTERS = (1 << UNIT_COUNT) - 1
_MOST_PLACES = 24
"""How many differing places of one state are looked at."""
_NEVER = frozenset({"suppressed"})
"""Terms whose value no source settles."""


Lanes = npt.NDArray[np.bool_]
Words = npt.NDArray[np.uint32]
_Left = tuple[int, Instruction, list[tuple[int, Words]]]
"""An instruction by its number, and what it left in the units it writes."""


@dataclass(frozen=True, slots=True)
class Step:
    """An instruction by its place in its window, and what it left at the place that differs."""

    index: int
    instruction: Instruction
    value: int


@dataclass(frozen=True, slots=True)
class Parting:
    """The first instruction of the edited window that leaves another register value than its like in the original.

    `before` is None where the original has no such instruction.
    """

    index: int
    instruction: Instruction
    where: str
    before: int | None
    after: int

    def __str__(self) -> str:
        text = f"parted at {self.instruction.mnemonic} [{self.index}]: {self.where} is {shown(self.after, 32)}"
        return text + (", an instruction that the original lacks" if self.before is None else f", not {shown(self.before, 32)}")


@dataclass(frozen=True, slots=True)
class Divergence:
    """A confirmed difference. `where` names register and lane, or a byte; values are its `bits` bits at the end.

    `steps` are the last instructions that changed the place, before and after the edit (None: none did); `parted` is None when
    no instruction leaves another register value.
    """

    where: str
    before: int
    after: int
    bits: int
    steps: tuple[Step | None, Step | None]
    parted: Parting | None
    entry: str

    def __str__(self) -> str:
        last = [f"{s.instruction.mnemonic} [{s.index}]" if s else "what it was at entry" for s in self.steps]
        text = f"on {self.entry}; last changed by {last[0]} before and {last[1]} after the edit"
        return f"{text}; {self.parted}" if self.parted else text


def shown(value: int, bits: int) -> str:
    """A value in hex and as number: signed, and as float where it looks like one."""
    signed = value - (value >> (bits - 1) << bits) if bits > 1 else value
    text = f"{value:#x} ({signed}"
    exponent = value >> 23 & 0xFF
    if bits == 32 and 64 <= exponent < 192:
        text += f", {struct.unpack('<f', struct.pack('<I', value))[0]:.9g}f"
    return text + ")"


class Replay:
    """Replays one pair of windows. `uses` are the addresses of both; `live_out` the units that count."""

    def __init__(
        self,
        windows: tuple[Sequence[Instruction], Sequence[Instruction]],
        live_out: int,
        uses: Iterable[AddressUse],
        programs: Programs,
        facts: Facts,
        target: str,
    ) -> None:
        self._runners = (WindowRunner(windows[0], target), WindowRunner(windows[1], target))
        self._uses = tuple(uses)
        self._programs = programs
        self._facts = facts
        written = 0
        for window in windows:
            for i in window:
                written |= effects(i).writes if i.definition is not None else _REGISTERS
        self._compared = tuple(units(live_out & written & _REGISTERS & ~(1 << MODE)))
        self._approximate = self._approximate_operations()
        self._float_ops: dict[int, frozenset[str]] = {}
        self.problem = self._runners[0].problem or self._runners[1].problem

    def find(
        self,
        terms: Callable[[int | str], tuple[Term, Term] | None],
        wanted: Sequence[Mapping[int, tuple[int, ...]]],
        attempts: Iterable[int],
        may_go_on: Callable[[], bool],
    ) -> Divergence | None:
        """Return the first confirmed difference; None when no state showed one.

        `terms` gives the final terms of a differing unit or of memory ("memory", "lds"), None where they are the same term.
        `attempts` number the states; the first ones, from 0, take the values `wanted`. `may_go_on` is asked before each.
        """
        if self.problem is not None:
            return None
        faulted = False
        for attempt in attempts:
            if not may_go_on():
                return None
            values = wanted[attempt] if attempt < len(wanted) else None
            state = entry_state(self._uses, attempt, self._facts, values, faulted)
            finals = [runner.run(state) for runner in self._runners]
            if finals[0] is None or finals[1] is None:
                faulted = True
                continue
            unsettled: Sequence[Mapping[int, Lanes]] | None = None
            for where, unit, lane in itertools.islice(self._differences(finals[0], finals[1]), _MOST_PLACES):
                pair = terms(unit if unit is not None else where)
                if pair is None or not self._is_documented(pair):
                    continue
                unsettled = self._unsettled(state) if unsettled is None else unsettled
                if self._is_settled(unsettled, unit, lane):
                    return self._divergence(state, (finals[0], finals[1]), where, unit, lane)
        return None

    def _differences(self, one: WaveState, other: WaveState) -> Iterable[tuple[str, int | None, int]]:
        """Differing places: (name, unit, lane), or for memory (space, None, byte); one of each register, one of each space."""
        vectors = (one.vector != other.vector).any(1)
        for unit in self._compared:
            if unit >= VGPR0:
                if vectors[unit - VGPR0]:
                    lanes = np.flatnonzero(one.vector[unit - VGPR0] != other.vector[unit - VGPR0])
                    for lane in lanes[:4]:
                        yield unit_name(unit), unit, int(lane)
            elif one.scalar[unit] != other.scalar[unit]:
                yield unit_name(unit), unit, 0
        for space, x, y in (("memory", one.memory, other.memory), ("lds", one.lds, other.lds)):
            for byte in np.flatnonzero(x != y)[:1]:
                yield space, None, int(byte)

    def _is_documented(self, pair: tuple[Term, Term]) -> bool:
        """Whether what the final terms do not share has documented bits."""
        left, right = (set(cone((t,))) for t in pair)
        if any(t.op in _NEVER or (t.op == "unsettled" and t.args) for t in left | right):
            return False
        operations, mnemonics = self._approximate
        for term in left ^ right:
            if (term.op, term.attr) in operations:
                return False
            if term.op == "atom" and isinstance(term.attr, tuple) and not mnemonics.isdisjoint(map(str, term.attr[:2])):
                return False
        return True

    def _approximate_operations(self) -> tuple[set[tuple[str, object]], set[str]]:
        """Operations of instructions whose bits are not published, and the mnemonics of those."""
        operations: set[tuple[str, object]] = set()
        mnemonics: set[str] = set()
        for runner in self._runners:
            for i in runner.instructions:
                compiled = self._programs.of(i)
                if compiled is not None and compiled.program.approximate:
                    mnemonics.add(i.mnemonic)
                    operations |= {(s.op, s.attr) for s in compiled.steps if s.op in _FLOAT_OPS}
        return operations, mnemonics

    def _is_settled(self, unsettled: Sequence[Mapping[int, Lanes]], place: int | None, lane: int) -> bool:
        """Whether no instruction that the place rests on made a value whose bits are not documented, in a lane that counts."""
        for runner, found in zip(self._runners, unsettled, strict=True):
            relevant = _relevant(runner.instructions, place)
            bad = [lanes for uid, lanes in found.items() if uid in relevant]
            if bad and (place is None or self._crosses(relevant) or any(lanes[lane] for lanes in bad)):
                return False
        return True

    def _unsettled(self, state: WaveState) -> list[dict[int, Lanes]]:
        """For each window the instructions, by uid, that make undocumented values, and in which lanes, shape (64,)."""
        out: list[dict[int, Lanes]] = []
        for runner in self._runners:
            found: dict[int, Lanes] = {}
            mask = _exec(state)
            for i, after in zip(runner.instructions, runner.trace(state), strict=False):
                lanes = self._unsettled_lanes(i, after)
                if i.mnemonic.startswith("v_accvgpr") and mask != _FULL:
                    lanes = np.ones(LANES, np.bool_)
                if lanes is not None and lanes.any():
                    found[i.uid] = lanes
                mask = _exec(after)
            out.append(found)
        return out

    def _crosses(self, relevant: Mapping[int, Instruction]) -> bool:
        """Whether lanes see each other in the instructions."""
        masks = scalar_reads = 0
        stores = any(_is_store(i) for i in relevant.values())
        for i in relevant.values():
            compiled = self._programs.of(i)
            if compiled is None or i.definition is None:
                continue
            if compiled.program.domain is Domain.INTRINSIC or any(s.op == "gather" for s in compiled.steps):
                return True
            if compiled.memory is not None and stores:
                return True
            if compiled.program.domain is Domain.SCALAR:
                scalar_reads |= effects(i).reads
            elif any(w.bits == 1 for w in compiled.writes):
                masks |= effects(i).writes
        return bool(masks & scalar_reads)

    def _unsettled_lanes(self, i: Instruction, after: WaveState) -> Lanes | None:
        """Lanes in which an instruction left a NaN that it made, or a zero whose sign is not documented; None for none."""
        compiled = self._programs.of(i)
        if compiled is None or i.definition is None:
            return None
        ops = self._float_ops.get(id(compiled))
        if ops is None:
            ops = self._float_ops[id(compiled)] = frozenset(s.op for s in compiled.steps) & _FLOAT_OPS
        if not ops and compiled.program.domain is not Domain.INTRINSIC:
            return None
        effect = effects(i)
        values = _vectors(after, effect.writes)
        bad: Lanes = np.any(_has_nan(i.mnemonic, values), 0, keepdims=True)[0]
        if not ops.isdisjoint({"fmin", "fmax"}):
            zero = ((values & 0x7FFFFFFF) == 0).any(0)
            if zero.any():
                # Which zero a minimum is, of zeros with different signs; sources may be overwritten, so any sign will do.
                signs = any(isinstance(o, Register) and (o.negate or o.absolute) for o in i.operands)
                if not signs and not effect.reads & effect.writes & VECTOR_MASK:
                    zero &= (_vectors(after, effect.reads | effect.writes) == 0x80000000).any(0)
                bad = bad | zero
        return bad

    def _divergence(
        self, state: WaveState, finals: tuple[WaveState, WaveState], where: str, unit: int | None, lane: int
    ) -> Divergence:
        def value(at: WaveState) -> int:
            if unit is not None:
                return at.unit(unit, lane)
            return int((at.memory if where == "memory" else at.lds)[lane])

        bits = 8 if unit is None else 1 if unit == SCC else 32
        place = f"{where}+{lane:#x}" if unit is None else _place(unit, lane)
        last: list[Step | None] = []
        writes: list[list[_Left]] = []
        for runner in self._runners:
            before, changed = value(state), None
            left: list[_Left] = []
            for n, (i, after) in enumerate(zip(runner.instructions, runner.trace(state), strict=False)):
                now = value(after)
                if now != before:
                    before, changed = now, Step(n, i, now)
                left.append((n, i, _written(i, after)))
            last.append(changed)
            writes.append(left)
        entry = f"entry state {where}={value(state):#x}" if unit is not None else "an entry state"
        return Divergence(
            place, value(finals[0]), value(finals[1]), bits, (last[0], last[1]), _parted(writes[0], writes[1]),
            f"{entry}, exec={_exec(state):#x}",
        )  # fmt: skip


def _relevant(window: Sequence[Instruction], place: int | None) -> dict[int, Instruction]:
    """The instructions, by uid, that a unit at the end may rest on; for memory (None) all."""
    if place is None:
        return {i.uid: i for i in window}
    needed = 1 << place
    memory = False
    found: dict[int, Instruction] = {}
    for i in reversed(window):
        if i.definition is None:
            continue
        effect = effects(i)
        if not (effect.writes & needed or (memory and _is_store(i))):
            continue
        found[i.uid] = i
        needed = needed & ~effect.kills | effect.reads
        memory |= i.definition.space is not None
    return found


def _is_store(i: Instruction) -> bool:
    """Whether it may write memory or LDS."""
    d = i.definition
    return d is not None and d.space is not None and (d.access is not Access.LOAD or bool(i.modifier("lds")))


def _exec(state: WaveState) -> int:
    return int(state.scalar[EXEC]) | int(state.scalar[EXEC + 1]) << 32


def _vectors(state: WaveState, mask: int) -> Words:
    """The vector registers of a unit set, shape (n, 64)."""
    return state.vector[[unit - VGPR0 for unit in units(mask & VECTOR_MASK)]]


def _written(i: Instruction, state: WaveState) -> list[tuple[int, Words]]:
    """The registers that an instruction writes, with what is in them."""
    if i.definition is None:
        return []
    return [
        (unit, (state.vector[unit - VGPR0] if unit >= VGPR0 else state.scalar[unit : unit + 1]).copy())
        for unit in units(effects(i).writes)
    ]


def _parted(one: list[_Left], other: list[_Left]) -> Parting | None:
    """Compare by occurrence of an instruction's text."""
    seen: dict[object, list[_Left]] = {}
    for left in one:
        i = left[1]
        seen.setdefault((i.mnemonic, i.operands, i.modifiers), []).append(left)
    for index, i, written in other:
        known = seen.get((i.mnemonic, i.operands, i.modifiers))
        if not known and written:
            unit, values = written[0]
            return Parting(index, i, _place(unit, 0), None, int(values[0]))
        for (unit, mine), (_, theirs) in zip(written, known.pop(0)[2] if known else (), strict=False):
            differing = np.flatnonzero(mine != theirs)
            if differing.size:
                lane = int(differing[0])
                return Parting(index, i, _place(unit, lane), int(theirs[lane]), int(mine[lane]))
    return None


def _place(unit: int, lane: int) -> str:
    return f"{unit_name(unit)} lane {lane}" if unit >= VGPR0 else unit_name(unit)


def _has_nan(mnemonic: str, values: Words) -> Lanes:
    """Where register values hold a NaN in the format of the mnemonic's result, the first that it names."""
    names = [token for token in mnemonic.split("_") if token in ("f16", "bf16", "f32", "f64")]
    if not names or names[0] == "f32":
        return (values & 0x7FFFFFFF) > 0x7F800000
    if names[0] == "f64":
        return (values & 0x7FF00000) == 0x7FF00000
    limit = 0x7C00 if names[0] == "f16" else 0x7F80
    return ((values & 0x7FFF) > limit) | ((values >> 16 & 0x7FFF) > limit)
