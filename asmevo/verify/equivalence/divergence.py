"""The report on a confirmed difference: where it shows, what last changed the place, and where the two runs parted.

Owns the report's data and how it is found by running both windows again. That the difference counts was decided before.
"""

# NumPy's own stubs leave several methods of plain arrays partially unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from asmevo.ir.effects import effects
from asmevo.ir.instruction import Instruction
from asmevo.ir.registers import SCC, VGPR0, unit_name, units
from asmevo.verify.equivalence.concrete import MemoryFault, WaveState, WindowRunner, may_store
from asmevo.verify.equivalence.settled import exec_of

AN_ACCESS = "an access"
"""Where windows differ of which only the edited one faults."""

_Written = list[tuple[int, npt.NDArray[np.uint32]]]


@dataclass(frozen=True, slots=True)
class Place:
    """A register in one lane, or (`unit` None) a byte of the memory `space`, with what it is at the end of both runs."""

    space: str
    unit: int | None
    lane: int
    before: int
    after: int

    def __str__(self) -> str:
        return f"{self.space}+{self.lane:#x}" if self.unit is None else _named(self.unit, self.lane)

    def value(self, state: WaveState) -> int:
        """Return what the place holds in a state."""
        if self.unit is not None:
            return state.unit(self.unit, self.lane)
        return int((state.memory if self.space == "memory" else state.lds)[self.lane])


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

    @property
    def texts(self) -> tuple[str, str]:
        """Both values, in hex and as number."""
        return shown(self.before, self.bits), shown(self.after, self.bits)

    def __str__(self) -> str:
        last = [f"{s.instruction.mnemonic} [{s.index}]" if s else "what it was at entry" for s in self.steps]
        text = f"on {self.entry}; last changed by {last[0]} before and {last[1]} after the edit"
        return f"{text}; {self.parted}" if self.parted else text


@dataclass(frozen=True, slots=True)
class Faulting:
    """A confirmed difference: the original runs to its end on a state, and the edited window makes an access that faults."""

    fault: MemoryFault
    instruction: Instruction
    entry: str

    where = AN_ACCESS

    @property
    def texts(self) -> tuple[str, str]:
        """What of accesses is so in both windows."""
        f = self.fault
        return "without a fault", f"{f.kind} at {f.address:#x} in lane {f.lane} ({self.instruction.mnemonic} [{f.index}])"

    def __str__(self) -> str:
        return f"on {self.entry}; the original makes no such access"


def faulting(edited: WindowRunner, fault: MemoryFault, state: WaveState) -> Faulting:
    """Report the fault that the edited window ended with."""
    return Faulting(fault, edited.instructions[fault.index], f"an entry state, exec={exec_of(state):#x}")


def shown(value: int, bits: int) -> str:
    """A value in hex and as number: signed, and as float where it looks like one."""
    signed = value - (value >> (bits - 1) << bits) if bits > 1 else value
    text = f"{value:#x} ({signed}"
    exponent = value >> 23 & 0xFF
    if bits == 32 and 64 <= exponent < 192:
        text += f", {struct.unpack('<f', struct.pack('<I', value))[0]:.9g}f"
    return text + ")"


def divergence(runners: tuple[WindowRunner, WindowRunner], state: WaveState, place: Place) -> Divergence:
    """Report the difference at `place` when both windows run on `state`."""
    bits = 8 if place.unit is None else 1 if place.unit == SCC else 32
    steps = (_last_change(runners[0], state, place), _last_change(runners[1], state, place))
    entry = f"entry state {place.space}={place.value(state):#x}" if place.unit is not None else "an entry state"
    return Divergence(
        str(place), place.before, place.after, bits, steps, _parted(runners, state), f"{entry}, exec={exec_of(state):#x}"
    )


def _last_change(runner: WindowRunner, state: WaveState, place: Place) -> Step | None:
    if place.unit is None:
        writers = [n for n, i in enumerate(runner.instructions) if may_store(i)]
    else:
        writers = [n for n, i in enumerate(runner.instructions) if i.definition is None or effects(i).writes >> place.unit & 1]
    value, last = place.value(state), None
    for n, after in runner.trace(state, writers):
        now = place.value(after)
        if now != value:
            value, last = now, Step(n, runner.instructions[n], now)
    return last


def _parted(runners: tuple[WindowRunner, WindowRunner], state: WaveState) -> Parting | None:
    """Compare what instructions of the same text leave, the first with the first, the second with the second and so on."""
    one, other = (runner.instructions for runner in runners)
    first = next(
        (n for n, (a, b) in enumerate(zip(one, other, strict=False)) if _text(a) != _text(b)), min(len(one), len(other))
    )
    left: dict[object, list[_Written]] = {}
    originals = _leaving(runners[0], state, first)

    def original(text: object) -> _Written | None:
        """Return what the next instruction of this text left in the original; None when there is none."""
        while not left.get(text):
            found = next(originals, None)
            if found is None:
                return None
            left.setdefault(_text(found[0]), []).append(found[2])
        return left[text].pop(0)

    for i, n, written in _leaving(runners[1], state, first):
        known = original(_text(i))
        if known is None and written:
            unit, values = written[0]
            return Parting(n, i, _named(unit, 0), None, int(values[0]))
        for (unit, mine), (_, theirs) in zip(written, known or (), strict=False):
            lanes = np.flatnonzero(mine != theirs)
            if lanes.size:
                lane = int(lanes[0])
                return Parting(n, i, _named(unit, lane), int(theirs[lane]), int(mine[lane]))
    return None


def _leaving(runner: WindowRunner, state: WaveState, first: int) -> Iterator[tuple[Instruction, int, _Written]]:
    """The instructions from number `first` on with the registers that each writes, and what is then in them."""
    instructions = runner.instructions
    for n, after in runner.trace(state, range(first, len(instructions))):
        i = instructions[n]
        written: _Written = [] if i.definition is None else [(unit, _row(after, unit)) for unit in units(effects(i).writes)]
        yield i, n, written


def _row(state: WaveState, unit: int) -> npt.NDArray[np.uint32]:
    return (state.vector[unit - VGPR0] if unit >= VGPR0 else state.scalar[unit : unit + 1]).copy()


def _text(i: Instruction) -> tuple[object, ...]:
    return i.mnemonic, i.operands, i.modifiers


def _named(unit: int, lane: int) -> str:
    return f"{unit_name(unit)} lane {lane}" if unit >= VGPR0 else unit_name(unit)
