"""Symbolic execution of one instruction's program on a machine.

Owns how each domain acts: lane programs once for one symbolic lane, scalar programs once, memory effects through `memory`, and
intrinsics as opaque functions of everything they may see. What it does not model it refuses by name; it decides nothing about
equality.

Trap: whether v_accvgpr_* obey EXEC is not settled. They act where EXEC or one free Boolean says so, so a proof holds for both.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from asmevo.ir.instruction import Immediate, Instruction, Modifier, Operand, Register, Symbolic
from asmevo.ir.isa.model import Access, Family, Flag, IssueClass, OpcodeDef, Role
from asmevo.ir.registers import EXEC, MODE, SCC, VGPR0, units
from asmevo.ir.semantics.expr import Domain, Program
from asmevo.verify.equivalence import memory
from asmevo.verify.equivalence.accesses import access_memory
from asmevo.verify.equivalence.compiled import Compiled, CompiledWrite, Step, compile_program
from asmevo.verify.equivalence.machine import SPECIALS, AddressUse, Machine
from asmevo.verify.equivalence.operands import UnmodelledError, destination_of, operand_of
from asmevo.verify.equivalence.terms import Term

ProgramOf = Callable[[Instruction], Program | None]
SourceBits = Callable[[Instruction, str], int]

NO_EFFECT = frozenset({"v_nop", "s_setprio", "s_sleep", "s_incperflevel", "s_decperflevel"})
"""Instructions that change only when things happen."""

_UNSETTLED = frozenset({"v_pack_b32_f16"})
"""Vector moves of floats that may also flush denormals and quiet NaNs by MODE: sources disagree."""

_QUIET = frozenset({IssueClass.WAIT, IssueClass.NOP})
_STATEFUL = (
    *("s_setvskip", "s_set_gpr_idx", "s_setreg", "s_getreg", "s_getpc", "s_mem"),
    *("s_movrel", "v_movrel", "s_sendmsg", "s_trap"),
)
"""Instructions that switch how others work, depend on time or place, or name registers indirectly."""


_KNOWN_SIZE = 1 << 17


_VECTOR = frozenset({IssueClass.VALU, IssueClass.TRANS, IssueClass.MATRIX, IssueClass.LDS, IssueClass.VMEM, IssueClass.FLAT})


def is_vector(i: Instruction) -> bool:
    """Whether VSKIP switches the instruction off."""
    return i.definition is not None and i.definition.issue in _VECTOR


class Programs:
    """Looks up and compiles programs, each instruction text once. `program_of` and `source_bits` come from the semantics."""

    def __init__(self, program_of: ProgramOf, source_bits: SourceBits) -> None:
        self._program_of = program_of
        self._source_bits = source_bits
        self._known: dict[tuple[str, tuple[Operand, ...], tuple[Modifier, ...]], Compiled | None] = {}
        self._compiled: dict[int, Compiled] = {}

    def of(self, i: Instruction) -> Compiled | None:
        """Return the instruction's program; None where the semantics have none."""
        text = (i.mnemonic, i.operands, i.modifiers)
        if text not in self._known:
            if len(self._known) >= _KNOWN_SIZE:
                self._known.clear()
            program = self._program_of(i)
            self._known[text] = None if program is None else self._compile(program)
        return self._known[text]

    def constant(self, i: Instruction, operand: str) -> int:
        """Return an immediate operand's bits."""
        return self._source_bits(i, operand)

    def _compile(self, program: Program) -> Compiled:
        found = self._compiled.get(id(program))
        if found is None:
            found = self._compiled[id(program)] = compile_program(program)
        return found


def refusal(i: Instruction, programs: Programs) -> str | None:
    """Why an instruction is not executed here: nothing moves across it. None when it can be executed."""
    definition = i.definition
    if definition is None:
        return "raw data"
    if definition.issue in _QUIET or definition.mnemonic in NO_EFFECT or definition.issue is IssueClass.BARRIER:
        return None
    if definition.is_branch or definition.is_terminator:
        return "control flow"
    if definition.access is Access.FENCE:
        return None
    if Flag.FIXED in definition.flags or definition.mnemonic.startswith(_STATEFUL):
        return "an instruction that nothing may cross"
    program = programs.of(i)
    if program is None:
        return "no semantics"
    if program.program.domain is Domain.CONTROL:
        return "control"
    if any(w.target in ("mode", "pc") for w in program.writes) or definition.implicit_writes >> MODE & 1:
        return "it writes MODE or the program counter"
    if any(s.op == "special" and s.attr == "pc" for s in program.steps):
        return "it reads the program counter"
    return None


class Executor:
    """Executes instructions on one machine."""

    def __init__(self, machine: Machine, programs: Programs) -> None:
        self.machine = machine
        self._n = machine.normaliser
        self._programs = programs
        self._true = self._n.const(1, 1)
        self._accvgpr_always = self._n.table.node("unsettled", 1, (), "v_accvgpr ignores EXEC")

    def run(self, i: Instruction) -> None:
        """Execute `i`, which `refusal` must not refuse. UnmodelledError where its program is outside the model."""
        definition = i.definition
        if definition is None:
            raise UnmodelledError(f"{i.mnemonic}: raw data")
        if definition.issue in _QUIET or definition.mnemonic in NO_EFFECT:
            return
        if definition.issue is IssueClass.BARRIER or definition.access is Access.FENCE:
            memory.advance(self.machine, memory.key(i, definition))
            return
        compiled = self._programs.of(i)
        if compiled is None:
            raise UnmodelledError(f"{i.mnemonic}: no semantics")
        if compiled.program.domain is Domain.INTRINSIC:
            versions = self._versions_seen(i, definition, compiled)
            self._intrinsic(i, definition, compiled.program.intrinsic or definition.mnemonic, versions)
            return
        lanes = compiled.program.domain is Domain.LANE
        context = self._context(definition) if lanes else None
        values = self._values(i, compiled, context)
        memory_write = None
        if compiled.memory is not None:
            memory_write = access_memory(
                self.machine, i, definition, compiled.memory, values, context, lambda name, at: self._units(i, name, at)
            )
        for write, value in [(w, values[w.value]) for w in compiled.writes]:
            enable = None if write.enable is None else values[write.enable]
            self._write(i, write, value, enable, context)
        if memory_write is not None:
            memory_write()

    def _context(self, definition: OpcodeDef) -> Term:
        """Where a lane program acts: the lane's EXEC bit, or everywhere."""
        if Flag.NO_EXEC in definition.flags:
            return self._true
        active = self.machine.active()
        if definition.mnemonic.startswith("v_accvgpr"):
            return self._n.make("or", 1, (active, self._accvgpr_always))
        return active

    # Expressions -----------------------------------------------------------------------------------------------------------

    def _values(self, i: Instruction, compiled: Compiled, context: Term | None) -> list[Term]:
        values: list[Term] = []
        make = self._n.make
        for step in compiled.steps:
            leaf = _LEAVES.get(step.op)
            if leaf is not None:
                values.append(leaf(self, i, step, values, context))
                continue
            args = tuple(values[k] for k in step.args)
            if step.uses_mode:
                args = (*args, self.machine.unit(MODE))
            values.append(make(step.op, step.bits, args, step.attr))
        return values

    def leaf_constant(self, i: Instruction, step: Step, values: list[Term], context: Term | None) -> Term:
        """Return a constant."""
        if not isinstance(step.attr, int):
            raise UnmodelledError(f"{i.mnemonic}: a constant without a value")
        return self._n.const(step.bits, step.attr)

    def leaf_modifier(self, i: Instruction, step: Step, values: list[Term], context: Term | None) -> Term:
        """Return a number of the decoded instruction."""
        value = i.modifier(str(step.attr), 0)
        if not isinstance(value, int):
            raise UnmodelledError(f"{i.mnemonic}: modifier {step.attr} is not a number")
        return self._n.const(step.bits, int(value))

    def leaf_source(self, i: Instruction, step: Step, values: list[Term], context: Term | None) -> Term:
        """Return an operand's value for this lane; in a scalar program, for the wave."""
        operand = operand_of(i, str(step.attr))
        if isinstance(operand, Register):
            value = self.machine.read(operand.range.unit, operand.range.count, context)
            if context is None and value.varying:
                raise UnmodelledError(f"{i.mnemonic}: a scalar program reads vector operand {step.attr}")
            if step.bits > value.bits:
                raise UnmodelledError(f"{i.mnemonic}: operand {step.attr} is narrower than its use")
            return self._n.extract(value, 0, step.bits)
        if isinstance(operand, Immediate):
            return self._n.const(step.bits, self._programs.constant(i, str(step.attr)))
        if isinstance(operand, Symbolic) and operand.value is not None:
            return self._n.const(step.bits, self._programs.constant(i, str(step.attr)))
        raise UnmodelledError(f"{i.mnemonic}: operand {step.attr} has no value")

    def leaf_special(self, i: Instruction, step: Step, values: list[Term], context: Term | None) -> Term:
        """Return special state."""
        name = str(step.attr)
        if name not in SPECIALS:
            raise UnmodelledError(f"{i.mnemonic}: special {name}")
        return self._n.extract(self.machine.special(name), 0, step.bits)

    def leaf_lane(self, i: Instruction, step: Step, values: list[Term], context: Term | None) -> Term:
        """Return this lane's number."""
        return self._n.table.node("lane", step.bits, (), None, True)

    def leaf_gather(self, i: Instruction, step: Step, values: list[Term], context: Term | None) -> Term:
        """Return an operand of another lane: of its whole value, inactive lanes included."""
        operand = operand_of(i, str(step.attr))
        if isinstance(operand, Register):
            whole = self.machine.read(operand.range.unit, operand.range.count, None)
            return self._n.make("gather", step.bits, (self._n.extract(whole, 0, step.bits), values[step.args[0]]))
        return self.leaf_source(i, step, values, context)

    def leaf_lane_active(self, i: Instruction, step: Step, values: list[Term], context: Term | None) -> Term:
        """Return the EXEC bit of another lane."""
        index = values[step.args[0]]
        bit = self._n.ballot(self.machine.active())
        if index.op == "lane":
            return self._n.lane_bit(bit)
        wide = self._n.make("zext", 64, (self._n.extract(index, 0, 6),))
        return self._n.extract(self._n.make("lshr", 64, (bit, wide)), 0, 1)

    def leaf_old(self, i: Instruction, step: Step, values: list[Term], context: Term | None) -> Term:
        """Return the destination's value before the write."""
        operand = operand_of(i, str(step.attr))
        if not isinstance(operand, Register):
            raise UnmodelledError(f"{i.mnemonic}: operand {step.attr} is no register")
        return self._n.extract(self.machine.read(operand.range.unit, operand.range.count, context), 0, step.bits)

    # Effects ---------------------------------------------------------------------------------------------------------------

    def _write(self, i: Instruction, write: CompiledWrite, value: Term, enable: Term | None, context: Term | None) -> None:
        unit, count = destination_of(i, write.target)
        if unit >= VGPR0:
            if context is None or value.bits != 32 * count:
                raise UnmodelledError(f"{i.mnemonic}: {value.bits} bits written to {count} vector registers")
            if i.definition is not None and i.definition.mnemonic in _UNSETTLED:
                args = (value, self.machine.unit(MODE))
                value = self._n.table.node("unsettled", value.bits, args, i.definition.mnemonic)
            guard = context if enable is None else self._n.both(context, enable)
            self.machine.write(unit, value, guard)
            return
        if context is not None and value.bits == 1 and unit != SCC:
            body = value
            if enable is not None:
                # Which bit a suppressed lane leaves is not modelled: it stays a function of all that it may be.
                old = self._n.lane_bit(self.machine.pair(unit))
                body = self._n.table.node("suppressed", 1, (enable, value, old))
            self.machine.write(unit, self._n.ballot(self._n.both(context, body)), None)
            return
        if value.varying or (context is not None and enable is not None):
            raise UnmodelledError(f"{i.mnemonic}: a lane's value written to a scalar register")
        expected = 1 if unit == SCC else 32 * count
        if value.bits != expected:
            raise UnmodelledError(f"{i.mnemonic}: {value.bits} bits written to a place of {expected}")
        self.machine.write(unit, value, enable)

    def _units(self, i: Instruction, name: str, context: Term | None) -> list[Term]:
        operand = operand_of(i, name)
        if isinstance(operand, Register):
            first = operand.range.unit
            return [self.machine.read(k, 1, context) for k in range(first, first + operand.range.count)]
        if isinstance(operand, Immediate):
            return [self._n.const(64, self._programs.constant(i, name))]
        raise UnmodelledError(f"{i.mnemonic}: operand {name} has no value")

    def _versions_seen(self, i: Instruction, definition: OpcodeDef, compiled: Compiled) -> tuple[Term, ...]:
        """The memories, as they are now, that an intrinsic loads from: one that lets lanes exchange what they load."""
        if compiled.memory is None and definition.access is None:
            return ()
        if compiled.memory is None or definition.access is not Access.LOAD or memory.orders(i, definition):
            raise UnmodelledError(f"{i.mnemonic}: an intrinsic with a memory effect")
        values = self._values(i, compiled, self._context(definition))
        self.machine.uses.append(AddressUse(tuple(values[k] for k in compiled.memory.addresses)))
        return tuple(self.machine.memories[space] for space in memory.spaces(definition))

    def _intrinsic(self, i: Instruction, definition: OpcodeDef, name: str, versions: tuple[Term, ...]) -> None:
        """Return an opaque function of all that the instruction may see: whole registers, so that inactive lanes count.

        `versions` are the memories it loads from. Matrix instructions ignore EXEC and overwrite all lanes. Of any other, the
        result also depends on M0, the old destination and, unless its definition rules that out, on EXEC, whatever the
        instruction does with them. A product of integer matrices is added to its accumulator modulo 2^32, element by element.
        """
        matrix = definition.family is Family.MATRIX and not definition.mnemonic.startswith("v_accvgpr")
        machine = self.machine
        args = list(versions)
        shape: list[Hashable] = [name, definition.mnemonic, i.modifiers]
        added = self._accumulator(i, definition)
        for operand, spec in zip(i.operands, definition.operands, strict=True):
            if added is not None and spec.name == "src2":
                continue
            if isinstance(operand, Register):
                signs = (operand.negate, operand.absolute, operand.sign_extend)
                shape.append((spec.name, spec.role, operand.range.count, signs, operand.range.unit >= VGPR0))
                seen = spec.role is not Role.WRITE or (not matrix and operand.range.unit >= VGPR0)
                if seen:
                    first = operand.range.unit
                    args.extend(machine.read(k, 1, None) for k in range(first, first + operand.range.count))
            else:
                shape.append((spec.name, operand))
        implied = definition.implicit_reads & ~(3 << EXEC)
        args.extend(machine.unit(u) for u in units(implied | 1 << MODE))
        if not matrix:
            if Flag.NO_EXEC not in definition.flags:
                args.append(machine.special("exec"))
            args.append(machine.special("m0"))
        for position, (operand, spec) in enumerate(zip(i.operands, definition.operands, strict=True)):
            if isinstance(operand, Register) and spec.role is not Role.READ:
                for k in range(operand.range.count):
                    plus = added[k] if added and operand.range.unit >= VGPR0 else None
                    self._opaque(operand.range.unit + k, args, (*shape, position, k), plus)
        for unit in units(definition.implicit_writes):
            self._opaque(unit, args, (*shape, "implicit", unit))

    def _accumulator(self, i: Instruction, definition: OpcodeDef) -> list[Term] | None:
        """Return what an integer matrix product is added to, none for zero; None for any other instruction."""
        if not definition.mnemonic.startswith("v_mfma_i32_"):
            return None
        source = operand_of(i, "src2")
        if isinstance(source, Register):
            first = source.range.unit
            return [self.machine.read(k, 1, None) for k in range(first, first + source.range.count)]
        return [] if isinstance(source, Immediate) and self._programs.constant(i, "src2") == 0 else None

    def _opaque(self, unit: int, args: list[Term], attr: tuple[Hashable, ...], plus: Term | None = None) -> None:
        bits = 1 if unit == SCC else 32
        value = self._n.table.node("atom", bits, tuple(args), attr, unit >= VGPR0)
        self.machine.write(unit, value if plus is None else self._n.make("add", bits, (value, plus)), None)


Leaf = Callable[[Executor, Instruction, Step, list[Term], Term | None], Term]
_LEAVES: dict[str, Leaf] = {
    "const": Executor.leaf_constant,
    "imm": Executor.leaf_modifier,
    "src": Executor.leaf_source,
    "special": Executor.leaf_special,
    "lane": Executor.leaf_lane,
    "gather": Executor.leaf_gather,
    "lane_active": Executor.leaf_lane_active,
    "old": Executor.leaf_old,
}
