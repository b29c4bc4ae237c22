"""One instruction's effect on abstract register contents, by its program.

Owns the transfer and what it records: the values that memory instructions compute addresses from, and which vector results all
lanes share. What no program tells becomes a symbol of the instruction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import NamedTuple

from asmevo.ir.analysis.dataflow.exec_full import ExecChange, exec_change
from asmevo.ir.analysis.dataflow.facts import EffectsTable
from asmevo.ir.analysis.values.abstract import INTEGER_OPS, Evaluation
from asmevo.ir.analysis.values.registers import DEFAULT, Content, Half, Origin, Reader, State
from asmevo.ir.analysis.values.value import Ballot, Value, constant, of_symbol, same, unknown
from asmevo.ir.effects import EVERYTHING, SCALAR_FAMILIES, Effects
from asmevo.ir.instruction import Immediate, Instruction, Operand, Register, Symbolic
from asmevo.ir.isa.model import Space
from asmevo.ir.memo import by_text
from asmevo.ir.registers import EXEC, EXEC_MASK, M0, MODE, SCC, VCC, VECTOR_MASK, VGPR0, RegisterRange, units
from asmevo.ir.semantics import program_of
from asmevo.ir.semantics.expr import Domain as Runs
from asmevo.ir.semantics.expr import Expr, MemoryOp, Op, Program, Write
from asmevo.ir.semantics.form import source_bits

Site = tuple[str, int]
_SPECIALS = {"exec": EXEC, "vcc": VCC, "m0": M0, "mode": MODE, "scc": SCC}
_MAX_NODES = 64
_MOST_PROGRAMS = 1 << 14


@dataclass(frozen=True, slots=True)
class MemoryValues:
    """What a memory instruction computes its addresses from: see `semantics.expr.MemoryOp`.

    `resource` are the four dwords of a buffer descriptor. `full`: every lane of the launch is active there.
    """

    operation: MemoryOp
    addresses: tuple[Value, ...]
    index: Value | None
    soffset: Value | None
    resource: tuple[Value, ...] | None
    full: bool


class PlannedWrite(NamedTuple):
    """A write whose value can be told, and the registers that it goes to."""

    place: RegisterRange
    value: Expr
    enable: Expr | None
    runs: Runs


class Plan(NamedTuple):
    """An instruction's program prepared: its memory operation, and the writes whose value can be told."""

    memory: MemoryOp | None
    writes: tuple[PlannedWrite, ...]
    operands: Mapping[str, Operand]


@dataclass(slots=True)
class Stepper:
    """Applies instructions to states; see the module."""

    table: EffectsTable
    reader: Reader
    may_skip: bool
    memory: dict[Site, MemoryValues] = field(default_factory=dict[Site, MemoryValues])
    uniform: set[Site] = field(default_factory=set[Site])
    exec_writes: dict[Site, tuple[ExecChange, bool | None]] = field(
        default_factory=dict[Site, tuple[ExecChange, "bool | None"]]
    )

    def probe(self) -> Stepper:
        """One that has recorded nothing and makes the same symbols."""
        return Stepper(self.table, self.reader, self.may_skip)

    def step(self, state: State, label: str, index: int, i: Instruction) -> None:
        """Changes `state` as instruction `index` of the block does."""
        effect = self.table.by_block[label][index]
        if effect.writes == EVERYTHING:
            state.contents.clear()
            state.contents[DEFAULT] = Origin(label, index, True)
            state.partial = VECTOR_MASK
            return
        definition = i.definition
        assert definition is not None
        if not effect.writes and definition.space is None:
            return
        plan = _plan(i)
        vector = definition.family not in SCALAR_FAMILIES
        printed = self.table.printed[label][index]
        uncertain = (vector and self.may_skip) or (
            effect is not printed and effect.writes & VECTOR_MASK != printed.writes & VECTOR_MASK
        )
        results: dict[int, Content] = {}
        if plan is not _NO_PLAN:
            leaves = _Leaves(self.reader, state, i, plan.operands)
            run = Evaluation(self.reader.domain, leaves)
            if plan.memory is not None:
                self._memory(state, leaves, run, plan.memory, (label, index), results)
            if not uncertain:
                for write in plan.writes:
                    self._write(leaves, run, write, (label, index), results)
        self._commit(state, effect, results, (label, index), i)

    def _memory(
        self, state: State, leaves: _Leaves, run: Evaluation, op: MemoryOp, site: Site, results: dict[int, Content]
    ) -> None:
        addresses = tuple(run.value(address) for address in op.addresses)
        resource = None
        if op.resource is not None and (place := leaves.register(op.resource)) is not None:
            resource = tuple(self.reader.unit(state, place.unit + n) for n in range(min(place.count, 4)))
        index = None if op.index is None else run.value(op.index)
        soffset = None if op.soffset is None else run.value(op.soffset)
        full = self.reader.exec_is_full(state)
        self.memory[site] = MemoryValues(op, addresses, index, soffset, resource, full)
        definition = leaves.instruction.definition
        if definition is not None and definition.space is Space.SCALAR and op.dest is not None and resource is None:
            offset = kernarg_offset(addresses[0], self.reader)
            place = leaves.register(op.dest)
            if offset is not None and place is not None and op.bytes == 4 * place.count:
                kernargs = self.reader.entry.kernargs
                for n in range(place.count):
                    results[place.unit + n] = kernargs.dword(self.reader.domain, offset + 4 * n)

    def _write(self, leaves: _Leaves, run: Evaluation, write: PlannedWrite, site: Site, results: dict[int, Content]) -> None:
        place = write.place
        value = run.value(write.value)
        if write.enable is not None:
            enable = run.value(write.enable)
            if not enable.is_constant:
                old = leaves.place(place, value.bits)
                value = self.reader.domain.choose(enable, value, old)
            elif not enable.const:
                return
        if write.runs is Runs.LANE and place.unit < VGPR0:
            if value.bits == 1:
                state = leaves.state
                ballot = Ballot(value, self.reader.pair(state, EXEC), self.reader.exec_is_full(state))
                self._put(results, place, of_symbol(self.reader.mask(*site, place.unit, ballot), 64))
            return
        if value.terms is None:
            named = of_symbol(self.reader.result(*site, place.unit, value), value.bits)
            value = named._replace(zeros=named.zeros | value.zeros, ones=value.ones)
        self._put(results, place, value)

    def _put(self, results: dict[int, Content], place: RegisterRange, value: Value) -> None:
        if place.unit == SCC:
            results[SCC] = value
        elif place.count == 1 and value.bits <= 32:
            results[place.unit] = self.reader.domain.zext(value, 32)
        elif place.count == 2 and value.bits == 64:
            results[place.unit], results[place.unit + 1] = Half(value, 0), Half(value, 1)

    def _commit(self, state: State, effect: Effects, results: dict[int, Content], site: Site, i: Instruction) -> None:
        contents = state.contents
        writes = effect.writes
        vector = writes & VECTOR_MASK
        if vector:
            if state.partial & vector != vector and not self.reader.exec_is_full(state):
                state.partial |= vector
        rest = Origin(site[0], site[1], True)
        shared = bool(results)
        change = exec_change(i, effect) if writes & EXEC_MASK else ExecChange.NONE
        if change is not ExecChange.NONE:
            self.exec_writes[site] = (change, self._is_divergent_mask(state, i))
        widened = change is ExecChange.WIDEN and self._widened(state, i)
        if not results:
            contents.update(dict.fromkeys(_units(writes), rest))
        else:
            for unit in _units(writes):
                content = results.get(unit, rest)
                contents[unit] = content
                if unit >= VGPR0 and shared:
                    value = content.value if isinstance(content, Half) else content
                    shared = isinstance(value, Value) and not value.divergent
        if vector and shared:
            self.uniform.add(site)
        if change is ExecChange.NONE:
            return
        if widened:
            full = of_symbol(self.reader.entry.exec_symbol, 64)
            contents[EXEC], contents[EXEC + 1] = Half(full, 0), Half(full, 1)
        if change is not ExecChange.NARROW:
            # Lanes come back that the writes since they left did not reach.
            for unit in units(state.partial):
                contents[unit] = rest
            if self.reader.exec_is_full(state):
                state.partial = 0

    def _is_divergent_mask(self, state: State, i: Instruction) -> bool | None:
        """Whether lanes differ in the condition behind the masks that `i` reads; None when no mask's origin is known."""
        found: bool | None = None
        for operand in i.operands[1:]:
            if isinstance(operand, Register) and operand.range.count == 2 and operand.range.unit != EXEC:
                value = self.reader.pair(state, operand.range.unit)
                for symbol, _ in value.terms or ():
                    if isinstance(symbol.detail, Ballot):
                        found = bool(found) or symbol.detail.bit.divergent
        return found

    def _widened(self, state: State, i: Instruction) -> bool:
        """Whether EXEC is or-ed with a mask that has every lane."""
        if len(i.operands) != 3:
            return False
        for operand in i.operands[1:]:
            if isinstance(operand, Register) and operand.range.count == 2 and operand.range.unit != EXEC:
                value = self.reader.pair(state, operand.range.unit)
                if value.terms == ((self.reader.entry.exec_symbol, 1),):
                    return True
        return False


_NO_PLAN = Plan(None, (), {})


@by_text
def _plan(i: Instruction) -> Plan:
    program = program_of(i)
    if program is None:
        return _NO_PLAN
    operands = _operands_by_name(i)
    writes: list[PlannedWrite] = []
    for write in _evaluable(program):
        operand = operands.get(write.target)
        if write.target in _SPECIALS:
            place = RegisterRange(_SPECIALS[write.target], 2 if write.target in ("exec", "vcc") else 1)
            writes.append(PlannedWrite(place, write.value, write.enable, program.domain))
        elif isinstance(operand, Register):
            writes.append(PlannedWrite(operand.range, write.value, write.enable, program.domain))
    return Plan(program.memory, tuple(writes), operands) if writes or program.memory is not None else _NO_PLAN


def _evaluable(program: Program) -> tuple[Write, ...]:
    """The writes of a program that are worth evaluating."""
    # Programs are shared by form, and take long to hash.
    known = _known_programs()
    found = known.get(id(program))
    if found is None:
        if len(known) >= _MOST_PROGRAMS:
            known.clear()
        found = known[id(program)] = program, tuple(w for w in program.writes if _can_evaluate(w.value))
    return found[1]


@cache
def _known_programs() -> dict[int, tuple[Program, tuple[Write, ...]]]:
    return {}


@lru_cache(maxsize=1 << 14)
def _units(mask: int) -> tuple[int, ...]:
    return tuple(units(mask))


def _can_evaluate(e: Expr) -> bool:
    """Whether a value is worth evaluating: integer operations alone, and not too many."""
    if e.op not in INTEGER_OPS or e.bits > 128:
        return False
    count = 0
    pending = [e]
    while pending:
        node = pending.pop()
        count += 1
        if count > _MAX_NODES or node.bits > 128 or node.op not in INTEGER_OPS:
            return False
        pending.extend(node.args)
    return True


def kernarg_offset(address: Value, reader: Reader) -> int | None:
    """The byte offset of an address in the kernarg segment; None when it is not known to lie there."""
    if address.terms == ((reader.entry.kernarg_base, 1),) and address.table is None and 0 <= address.const < 1 << 16:
        return address.const
    return None


def _operands_by_name(i: Instruction) -> dict[str, Operand]:
    specs = i.definition.operands if i.definition is not None else ()
    return {spec.name: operand for spec, operand in zip(specs, i.operands, strict=False)}


@by_text
def _constant(i: Instruction, name: str, bits: int) -> Value:
    return constant(bits, source_bits(i, name))


class _Leaves:
    """The leaves of one instruction's expressions in one state."""

    def __init__(self, reader: Reader, state: State, instruction: Instruction, operands: Mapping[str, Operand]) -> None:
        self.reader = reader
        self.state = state
        self.instruction = instruction
        self._operands = operands

    def register(self, name: str) -> RegisterRange | None:
        """The register range of an operand; None for others."""
        operand = self._operands.get(name)
        return operand.range if isinstance(operand, Register) else None

    def place(self, place: RegisterRange, bits: int) -> Value:
        """The low `bits` bits of a register range."""
        if place.unit == SCC:
            return self.reader.unit(self.state, SCC)
        if bits <= 32:
            value = self.reader.unit(self.state, place.unit)
        elif place.count == 2:
            value = self.reader.pair(self.state, place.unit)
        else:
            return unknown(bits, place.unit >= VGPR0)
        if value.bits < bits:
            return self.reader.domain.zext(value, bits)
        return value if value.bits == bits else self.reader.domain.extract(value, 0, bits)

    def source(self, name: str, bits: int) -> Value:
        """See `abstract.Leaves`."""
        operand = self._operands.get(name)
        if isinstance(operand, Register):
            return self.place(operand.range, bits)
        if isinstance(operand, Immediate) or (isinstance(operand, Symbolic) and operand.value is not None):
            return _constant(self.instruction, name, bits)
        return unknown(bits, False)

    def any_lane(self, name: str, bits: int) -> Value | None:
        """See `abstract.Leaves`."""
        place = self.register(name)
        if place is not None and (place.mask & self.state.partial or not self.reader.exec_is_full(self.state)):
            return None
        return self.source(name, bits)

    def immediate(self, name: str, bits: int) -> Value:
        """See `abstract.Leaves`."""
        value = self.instruction.modifier(name, 0)
        return constant(bits, int(value)) if isinstance(value, int) else unknown(bits, False)

    def special(self, name: str, bits: int) -> Value:
        """See `abstract.Leaves`."""
        unit = _SPECIALS.get(name)
        if unit is None:
            return unknown(bits, False)
        return self.reader.pair(self.state, unit) if bits == 64 else self.reader.unit(self.state, unit)

    def lane_bit(self, mask: Expr) -> Value | None:
        """See `abstract.Leaves`."""
        if mask.op is Op.SPECIAL and mask.attr == "exec":
            return constant(1, 1)
        value = self.special(str(mask.attr), 64) if mask.op is Op.SPECIAL else self.source(str(mask.attr), 64)
        if mask.op not in (Op.SPECIAL, Op.SRC) or value.terms is None or len(value.terms) != 1 or value.const:
            return None
        symbol, factor = value.terms[0]
        ballot = symbol.detail
        if factor != 1 or not isinstance(ballot, Ballot):
            return None
        return ballot.bit if ballot.full or same(ballot.lanes, self.special("exec", 64)) else None
