"""What a person sees of a wave: its registers at one place, and the instructions of a window with the values they move.

Owns which registers are shown and the records; text is the command's business.
"""

# NumPy's own stubs leave several methods of plain arrays partially unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from dataclasses import dataclass, field, replace

from asmevo.backend.observe.watch import Moment, Watch
from asmevo.ir.effects import effects
from asmevo.ir.instruction import Instruction, Register
from asmevo.ir.registers import AGPR0, EXEC, EXEC_MASK, M0, MODE, SCC, VCC, VGPR0, unit_name, units

_ALL = (1 << 64) - 1
SPECIALS = (("exec", EXEC, 64), ("vcc", VCC, 64), ("scc", SCC, 32), ("m0", M0, 32), ("mode", MODE, 32))


@dataclass(frozen=True, slots=True)
class RegisterValue:
    """A register: one value of a scalar one, 64 of a vector one. `lanes` is the mask of lanes that hold a value.

    `pending`: a load that was not waited for will write it.
    """

    name: str
    values: tuple[int, ...]
    lanes: int = _ALL
    pending: bool = False


@dataclass(frozen=True, slots=True)
class Filter:
    """Which waves are looked at; None is any."""

    workgroup: tuple[int, int, int] | None = None
    wave: int | None = None

    def accepts(self, moment: Moment) -> bool:
        """Whether the moment's wave is one of them."""
        return self.workgroup in (None, moment.workgroup) and self.wave in (None, moment.wave)


def register(moment: Moment, unit: int, strict: bool) -> RegisterValue:
    """One register as it is now; in fast mode every lane counts as holding a value."""
    values = tuple(moment.vector(unit).tolist()) if unit >= VGPR0 else (moment.scalar(unit),)
    if not strict:
        return RegisterValue(unit_name(unit), values)
    return RegisterValue(unit_name(unit), values, moment.valid_lanes(unit), moment.is_pending(unit))


@dataclass(frozen=True, slots=True)
class WaveState:
    """A wave that was stopped before an instruction: its place, special registers, and those that hold a value or will."""

    instruction: Instruction
    workgroup: tuple[int, int, int]
    wave: int
    executed: int
    """Wave-instructions of the whole run until then."""
    specials: tuple[tuple[str, int], ...]
    registers: tuple[RegisterValue, ...]
    outstanding: tuple[int, int]
    """Vector memory operations, and LDS with scalar loads, that no wait has covered; 0 in fast mode."""


@dataclass(slots=True)
class Stop:
    """Stops a run when a wave comes to byte `offset` of the code for the `hit`-th time; `state` is then that wave's."""

    offset: int
    strict: bool
    waves: Filter = field(default_factory=Filter)
    hit: int = 1
    state: WaveState | None = None
    _seen: int = 0

    def join(self, watch: Watch) -> None:
        """Adds the stop to a watch."""
        watch.before(lambda i: i.offset == self.offset, self._arrive)

    def _arrive(self, moment: Moment) -> bool:
        if not self.waves.accepts(moment):
            return False
        self._seen += 1
        if self._seen < self.hit:
            return False
        self.state = _state(moment, self.strict)
        return True


def _state(moment: Moment, strict: bool) -> WaveState:
    specials = tuple((name, moment.pair(unit) if bits == 64 else moment.scalar(unit)) for name, unit, bits in SPECIALS)
    limits = ((0, VCC), (VGPR0, VGPR0 + int(moment.state["vgprs"])), (AGPR0, AGPR0 + 256))
    found: list[RegisterValue] = []
    for start, end in limits:
        for unit in range(start, end):
            value = register(moment, unit, strict)
            # Without strict mode nothing tells what was written; zeros are left out.
            if (value.lanes or value.pending) if strict else any(value.values):
                found.append(value)
    vm, lds, smem = (int(moment.state[f"{queue}_count"]) if strict else 0 for queue in ("vm", "lds", "smem"))
    executed = int(moment.state["executed"]) - 1
    return WaveState(
        moment.instruction, moment.workgroup, moment.wave, executed, specials, tuple(found), (vm, lds + smem)
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Step:
    """One executed instruction: what it read before, and what it wrote, after."""

    instruction: Instruction
    workgroup: tuple[int, int, int]
    wave: int
    exec_mask: int
    read: tuple[RegisterValue, ...]
    written: tuple[RegisterValue, ...]


@dataclass(slots=True)
class Trace:
    """Records the instructions from byte `start` to below byte `end` of the code as they run, at most `most` of them."""

    start: int
    end: int
    strict: bool
    waves: Filter = field(default_factory=Filter)
    most: int = 10_000
    steps: list[Step] = field(default_factory=list[Step])
    left_out: int = 0

    def join(self, watch: Watch) -> None:
        """Adds the trace to a watch."""
        watch.before(lambda i: i.offset is not None and self.start <= i.offset < self.end, self._step)

    def _step(self, moment: Moment) -> bool:
        if not self.waves.accepts(moment):
            return False
        if len(self.steps) >= self.most:
            self.left_out += 1
            return False
        touched = effects(moment.instruction)
        mask = moment.exec_mask
        read = _registers(moment, _named(moment.instruction, touched.reads), self.strict)
        status = moment.execute()
        written = () if status else tuple(_written(r, mask) for r in _registers(moment, touched.writes, self.strict))
        self.steps.append(Step(moment.instruction, moment.workgroup, moment.wave, mask, read, written))
        return False


def _named(i: Instruction, reads: int) -> int:
    """What is read, without EXEC where it only says which lanes work."""
    named = any(isinstance(operand, Register) and operand.range.mask & EXEC_MASK for operand in i.operands)
    return reads if named else reads & ~EXEC_MASK


def _written(value: RegisterValue, exec_mask: int) -> RegisterValue:
    """The engine notes only later that the lanes that were on hold a value."""
    if value.pending:
        return value
    return replace(value, lanes=value.lanes | (exec_mask if len(value.values) > 1 else _ALL))


def _registers(moment: Moment, mask: int, strict: bool) -> tuple[RegisterValue, ...]:
    shown = [unit for unit in units(mask) if unit < M0 or unit >= VGPR0 or unit == SCC or unit in (EXEC, EXEC + 1)]
    return tuple(register(moment, unit, strict) for unit in shown[:64])
