"""The symbolic state of one wave: every register unit and every memory version as a term.

Owns reading and writing registers, EXEC included. A VGPR is a lane function; a write under EXEC makes it
`ite(this lane is active, new, old)`, which a read under an EXEC that implies it resolves. It knows no instruction.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from asmevo.ir.instruction import Instruction
from asmevo.ir.registers import EXEC, EXECZ, M0, MODE, SCC, VCC, VCCZ, VGPR0
from asmevo.verify.equivalence.extents import Extent
from asmevo.verify.equivalence.facts import NO_FACTS, Facts
from asmevo.verify.equivalence.normal import Normaliser
from asmevo.verify.equivalence.terms import Term

if TYPE_CHECKING:
    from asmevo.verify.equivalence.memory import Place

SPECIALS = {"exec": (EXEC, 2), "vcc": (VCC, 2), "m0": (M0, 1), "mode": (MODE, 1), "scc": (SCC, 1)}
"""Special state by the name expressions and writes use, to (first unit, count)."""

LDS, MEMORY = "lds", "memory"
"""The two address spaces whose order is tracked: a workgroup's LDS, and everything else."""


@dataclass(frozen=True, slots=True)
class AddressUse:
    """The address terms of one memory access, and the words of its buffer descriptor where it has one."""

    addresses: tuple[Term, ...]
    resource: tuple[Term, ...] = ()


@dataclass(frozen=True, slots=True)
class Load:
    """One load, or a dword of one: `attr` and `inputs` say from where, `lanes` (1 bit) whether this lane makes it."""

    attr: Hashable
    inputs: tuple[Term, ...]
    lanes: Term


def initial(normaliser: Normaliser, unit: int, known: tuple[int, int] = (0, 0)) -> Term:
    """Return what a unit holds before the window; the same term on both sides. `known` are its bits that are 0 and 1."""
    value = normaliser.table.node("var", 1 if unit == SCC else 32, (), unit, unit >= VGPR0)
    zeros, ones = known
    if zeros | ones == 0:
        return value
    parts: Term | None = None
    low = 0
    while low < value.bits:
        kind = zeros >> low & 1, ones >> low & 1
        high = low + 1
        while high < value.bits and (zeros >> high & 1, ones >> high & 1) == kind:
            high += 1
        part = normaliser.const(high - low, -kind[1]) if any(kind) else normaliser.extract(value, low, high - low)
        parts = part if parts is None else normaliser.concat(part, parts)
        low = high
    return value if parts is None else parts


class Machine:
    """Registers and memories during a window. `normaliser` is shared with the other side."""

    def __init__(
        self, normaliser: Normaliser, facts: Facts = NO_FACTS, extents: Mapping[int, tuple[Extent, ...]] | None = None
    ) -> None:
        self.normaliser = normaliser
        self.facts = facts
        self.units: dict[int, Term] = {}
        self.memories = {space: normaliser.table.node("memory", 0, (), space) for space in (LDS, MEMORY)}
        self.uses: list[AddressUse] = []
        self.loads: list[Load] = []
        """What was loaded from memory other than LDS, on all ways: copies of a machine add to the same list."""
        self.path: Term | None = None
        """The condition (1 bit) of the way that is executed; None: it is always."""
        self.places: dict[int, Place] = {}
        """Where stores go, by the ident of their version."""
        self.extents: Mapping[int, tuple[Extent, ...]] = extents or {}
        """What the accesses of instructions may touch, by uid; none where nothing is known."""

    def extents_of(self, i: Instruction) -> tuple[Extent, ...]:
        """Return what an instruction's accesses may touch; () where that is not known."""
        return self.extents.get(i.uid, ()) if i.uid >= 0 else ()

    def copy(self) -> Machine:
        """Return a machine in the same state that may go on by itself."""
        other = Machine(self.normaliser, self.facts, self.extents)
        other.units, other.memories, other.uses = dict(self.units), dict(self.memories), list(self.uses)
        other.places = dict(self.places)
        other.loads, other.path = self.loads, self.path
        return other

    def unit(self, unit: int) -> Term:
        """Return the whole value of one unit: 32 bits, 1 for SCC; a lane function for vector registers."""
        found = self.units.get(unit)
        if found is None:
            if unit in (VCCZ, EXECZ):
                n = self.normaliser
                mask = self.pair(VCC if unit == VCCZ else EXEC)
                return n.make("zext", 32, (n.make("eq", 1, (mask, n.const(64, 0))),))
            found = self.units[unit] = initial(self.normaliser, unit, self.facts.known.get(unit, (0, 0)))
        return found

    def pair(self, unit: int) -> Term:
        """Two units as 64 bits."""
        return self.normaliser.concat(self.unit(unit + 1), self.unit(unit))

    def special(self, name: str) -> Term:
        """Return a special by name, in its own width."""
        unit, count = SPECIALS[name]
        return self.unit(unit) if count == 1 else self.pair(unit)

    def active(self) -> Term:
        """Return this lane's EXEC bit."""
        return self.normaliser.lane_bit(self.pair(EXEC))

    def read(self, unit: int, count: int, context: Term | None) -> Term:
        """`count` units joined; vector values are resolved as far as `context` (1 bit, None: nothing known) decides them."""
        value: Term | None = None
        for k in range(unit, unit + count):
            part = self.unit(k)
            if k == SCC:
                part = self.normaliser.make("zext", 32, (part,))
            if context is not None and part.varying:
                part = resolve(part, context)
            value = part if value is None else self.normaliser.concat(part, value)
        if value is None:
            raise ValueError("no units to read")
        return value

    def write(self, unit: int, value: Term, guard: Term | None) -> None:
        """Give the units from `unit` on `value` where `guard` (1 bit; None: everywhere) holds; 32 bits a unit, SCC 1."""
        if unit == SCC:
            self._put(unit, value, guard)
            return
        for k in range(value.bits // 32):
            self._put(unit + k, self.normaliser.extract(value, 32 * k, 32), guard)

    def _put(self, unit: int, value: Term, guard: Term | None) -> None:
        if guard is not None:
            value = self.normaliser.ite(guard, value, _unseen(self.unit(unit), guard))
        self.units[unit] = value


def resolve(value: Term, context: Term) -> Term:
    """`value` where `context` holds: the branch of each outer `ite` that it decides."""
    while value.op == "ite":
        decided = holds(context, value.args[0])
        if decided is None:
            break
        value = value.args[1] if decided else value.args[2]
    return value


def _unseen(old: Term, guard: Term) -> Term:
    """`old` with the parts left out that only lanes in `guard` would show."""
    while old.op == "ite" and holds(old.args[0], guard):
        old = old.args[2]
    return old


def holds(context: Term, condition: Term) -> bool | None:
    """Whether `condition` holds or fails wherever `context` holds; None when that is not plain from their shape."""
    facts = set(context.args) if context.op == "and" else {context}
    if context.op == "and":
        facts.add(context)
    return _decide(facts, condition)


def _decide(facts: set[Term], condition: Term) -> bool | None:
    if condition in facts:
        return True
    if condition.op == "const":
        return bool(condition.value)
    if condition.op == "not":
        inner = _decide(facts, condition.args[0])
        return None if inner is None else not inner
    for fact in facts:
        if fact.op == "not" and fact.args[0] is condition:
            return False
    if condition.op in ("and", "or"):
        absorbing = condition.op == "or"
        parts = [_decide(facts, arg) for arg in condition.args]
        if absorbing in parts:
            return absorbing
        if all(part is (not absorbing) for part in parts):
            return not absorbing
    return None
