"""One operation of the SSA form as LLVM IR: its program's writes and memory effect, or a call where it has no program.

Owns operand values, masking by EXEC, and the calls to declared functions. It must not know opcodes or the block graph.
"""

# llvmlite has no type stubs: what its builder returns is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from llvmlite import ir

from asmevo.backend.emulator.floats import FLOAT_OPS
from asmevo.backend.emulator.form import expressions, nodes
from asmevo.backend.emulator.irkit import I1, I32, I64, Function, Value, const
from asmevo.diagnostics import printable
from asmevo.ir.analysis.dataflow.ssa import SsaOp
from asmevo.ir.analysis.dataflow.ssa_steps import Steps
from asmevo.ir.instruction import Immediate, Instruction, Operand, Register, Symbolic
from asmevo.ir.isa.model import Flag, IssueClass, Role
from asmevo.ir.printer import print_instruction, print_modifier, print_operand
from asmevo.ir.registers import EXEC, EXECZ, M0, MODE, SCC, VCC, VCCZ, RegisterFile, units
from asmevo.ir.semantics.expr import Domain, Expr, Extend, MemoryOp, Op, Program
from asmevo.ir.semantics.form import source_bits
from asmevo.ir.semantics.registry import program_of
from asmevo.report.lift.expressions import LaneEmitter
from asmevo.report.lift.library import Library, reads_mode

_SPECIALS = {"scc": (SCC,), "vcc": (VCC, VCC + 1), "exec": (EXEC, EXEC + 1), "m0": (M0,), "mode": (MODE,)}
_NAMED = frozenset({Op.SRC, Op.OLD, Op.SPECIAL, Op.GATHER})
_HIGH_HALF = frozenset({Extend.D16_HI, Extend.D16_HI_SIGN})
_HALVES = frozenset({Extend.D16_LO, Extend.D16_LO_SIGN}) | _HIGH_HALF
_SIGNED = frozenset({Extend.SIGN, Extend.D16_LO_SIGN, Extend.D16_HI_SIGN})


def unit_type(unit: int) -> Any:
    """The LLVM type of a unit's value: i1 for SCC, else i32."""
    return I1 if unit == SCC else I32


@dataclass(slots=True)
class BlockLifter:
    """Lifts the operations of one block. Wave masks made from two registers are computed once in it."""

    f: Function
    library: Library
    lane: Value
    steps: Steps
    _pairs: dict[tuple[int, int], Value] = field(default_factory=dict[tuple[int, int], Value])
    _active: dict[int, Value] = field(default_factory=dict[int, Value])
    _alive: list[Value] = field(default_factory=list[Value])

    def lift(self, op: SsaOp, reads: Sequence[Value], kept: Sequence[Value | None]) -> list[Value]:
        """Emits `op` at the builder's position; the values of its results."""
        first = op.step.instructions[0]
        self.f.b.comment(printable(_shown(op)))
        program = None if op.step.is_opaque else program_of(first)
        held = {value.unit: one for value, one in zip(op.reads, reads, strict=True)}
        held |= {value.unit: one for value, one in zip(op.results, kept, strict=True) if one is not None}
        lifting = _Lifting(self, first, held)
        if program is not None and program.domain in (Domain.SCALAR, Domain.LANE) and lifting.covers(program, op):
            made = lifting.run(program)
            return [made[value.unit] for value in op.results]
        return lifting.call(op)

    def pair(self, low: Value, high: Value) -> Value:
        """Two registers as an i64."""
        key = (id(low), id(high))
        if key not in self._pairs:
            self._alive += [low, high]
            self._pairs[key] = self.f.b.call(self.library.pair(), [low, high])
        return self._pairs[key]

    def active(self, mask: Value) -> Value:
        """Whether the lane is on in a wave mask."""
        if id(mask) not in self._active:
            self._alive.append(mask)
            self._active[id(mask)] = self.f.b.call(self.library.lane_bit(), [mask, self.lane])
        return self._active[id(mask)]


def _shown(op: SsaOp) -> str:
    first = op.step.instructions[0]
    place = "" if first.offset is None else f"+0x{first.offset:x}  "
    text = print_instruction(first) if first.definition is not None else f"{len(op.step.instructions)} data word(s)"
    return place + text


@dataclass(slots=True)
class _Lifting:
    """The lifting of one instruction; `held` are the values of the units it reads or keeps."""

    block: BlockLifter
    i: Instruction
    held: dict[int, Value]
    made: dict[int, Value] = field(default_factory=dict[int, Value])

    # Programs ----------------------------------------------------------------------------------------------------------------

    def covers(self, program: Program, op: SsaOp) -> bool:
        """Whether the program can be followed here: every leaf is known, and it makes every result."""
        made: set[int] = set()
        for write in program.writes:
            made.update(self._target(write.target)[: (write.value.bits + 31) // 32 if write.value.bits > 1 else None])
        memory = program.memory
        if memory is not None and memory.dest is not None:
            made.update(self._target(memory.dest))
        if made != {value.unit for value in op.results} or not all(unit in self.held for unit in self._left_alone(memory)):
            return False
        return all(self._is_known(e) for e in nodes(expressions(program)))

    def _is_known(self, e: Expr) -> bool:
        if e.op is Op.NATIVE:
            return False
        if e.op in FLOAT_OPS:
            return not reads_mode(e) or MODE in self.held
        if e.op not in _NAMED:
            return True
        if e.op is Op.SPECIAL:
            return str(e.attr) in _SPECIALS and all(unit in self.held for unit in _SPECIALS[str(e.attr)])
        operand = self._operand(str(e.attr))
        if isinstance(operand, Register):
            return all(unit in self.held for unit in self._sources(operand))
        return isinstance(operand, Immediate) or (isinstance(operand, Symbolic) and operand.value is not None)

    def run(self, program: Program) -> dict[int, Value]:
        """Emits the program; the value of each unit it writes."""
        f, b = self.block.f, self.block.f.b
        emitter = LaneEmitter(
            f, None, None, {}, {},
            library=self.block.library, lane=self.block.lane, exec_mask=self._exec, leaf=self._leaf,
            mode_bits=lambda: self.held[MODE], ignored_mode=program.ignored_mode,
        )  # fmt: skip
        in_lanes = program.domain is Domain.LANE
        if program.memory is not None:
            self._memory(emitter, program.memory, in_lanes)
            self.made |= {unit: self.held[unit] for unit in self._left_alone(program.memory)}
        values = [(w, emitter.emit(w.value), None if w.enable is None else emitter.emit(w.enable)) for w in program.writes]
        for write, value, enable in values:
            targets = self._target(write.target)
            if in_lanes and write.value.bits == 1 and not self._is_vector(write.target):
                ballot = self.block.library.declared("asmevo.ballot", I64, [I1], convergent=True)
                mask = b.call(ballot, [b.and_(value, self.block.active(self._exec()))])
                self.made |= dict(zip(targets, self._split(mask, 64), strict=True))
                continue
            parts = [value] if targets == (SCC,) else self._split(value, write.value.bits)
            for unit, part in zip(targets, parts, strict=False):
                self._write(unit, part, enable, in_lanes=in_lanes)
        return self.made

    def _write(self, unit: int, value: Value, enable: Value | None, *, in_lanes: bool) -> None:
        b = self.block.f.b
        condition = enable
        if in_lanes and unit in self.held and self._may_be_masked():
            active = self.block.active(self._exec())
            condition = active if enable is None else b.and_(active, enable)
        self.made[unit] = value if condition is None else b.select(condition, value, self.held[unit])

    def _may_be_masked(self) -> bool:
        return EXEC in self.held and EXEC + 1 in self.held

    def _leaf(self, e: Expr) -> Value:
        name = str(e.attr)
        if e.op is Op.IMM:
            value = self.i.modifier(name, 0)
            return const(e.bits, value if isinstance(value, int) else 0)
        if e.op is Op.SPECIAL:
            return self._joined([self.held[unit] for unit in _SPECIALS[name]], e.bits)
        operand = self._operand(name)
        if not isinstance(operand, Register):
            return const(e.bits, source_bits(self.i, name))
        if operand.range.unit in (VCCZ, EXECZ):
            place = VCC if operand.range.unit == VCCZ else EXEC
            mask = self.block.pair(self.held[place], self.held[place + 1])
            return self.block.f.b.zext(self.block.f.b.icmp_unsigned("==", mask, const(64, 0)), ir.IntType(e.bits))
        return self._joined([self.held[unit] for unit in self._sources(operand)], e.bits)

    # Memory ------------------------------------------------------------------------------------------------------------------

    def _memory(self, m: LaneEmitter, memory: MemoryOp, in_lanes: bool) -> None:
        b = self.block.f.b
        definition = self.i.definition
        assert definition is not None
        assert definition.space is not None
        active = [self.block.active(self._exec())] if in_lanes else []
        place = definition.space.value if memory.resource is None else "buffer"
        shared: list[Value] = []
        if memory.resource is not None:
            shared.append(self._leaf(Expr(Op.SRC, 128, (), memory.resource)))
            index = const(32, 0) if memory.index is None else m.emit(memory.index)
            shared += [index, const(32, 0) if memory.soffset is None else m.emit(memory.soffset)]
            place += ".indexed" if memory.index is not None else ""
        addresses = [m.emit(e) for e in memory.addresses]
        bits = 8 * memory.bytes
        kind = ir.IntType(bits)

        def call(verb: str, result: Any, arguments: list[Value]) -> Value:
            name = f"asmevo.{verb}.{place}" + ("" if in_lanes else ".uniform")
            everything = [*active, *shared, *arguments]
            return b.call(self.block.library.declared(name, result, [v.type for v in everything]), everything)

        data = [self._stored(name, memory) for name in memory.data]
        if memory.atomic is not None:
            verb = f"atomic.{memory.atomic}"
            if len(addresses) == 1:
                found = [call(verb, kind, [addresses[0], *data])]
            else:
                found = [call(verb, kind, [address, one]) for address, one in zip(addresses, data, strict=True)]
            self._deliver(memory, found, in_lanes=in_lanes)
        elif memory.to_lds is not None:
            call(f"load_to_lds.b{bits}", ir.VoidType(), [addresses[0], m.emit(memory.to_lds)])
        elif memory.dest is not None:
            self._deliver(memory, [call(f"load.b{bits}", kind, [a]) for a in addresses], in_lanes=in_lanes)
        else:
            for number, address in enumerate(addresses):
                call(f"store.b{bits}", ir.VoidType(), [address, data[number if len(data) > 1 else 0]])

    def _left_alone(self, memory: MemoryOp | None) -> tuple[int, ...]:
        """Registers of the destination beyond what memory gives: a compare-and-swap returns half of its operand."""
        if memory is None or memory.dest is None:
            return ()
        return self._target(memory.dest)[max(1, memory.bytes // 4) * len(memory.addresses) :]

    def _stored(self, name: str, memory: MemoryOp) -> Value:
        operand = self._operand(name)
        wide = 32 * operand.range.count if isinstance(operand, Register) else 32
        value = self._leaf(Expr(Op.SRC, wide, (), name))
        if memory.extend in _HIGH_HALF:
            value = self.block.f.b.lshr(value, const(wide, 16))
        bits = 8 * memory.bytes
        # A compare-and-swap of one operand has the comparison value behind the new one.
        if memory.atomic is not None and memory.atomic.startswith("cmpswap") and len(memory.data) == 1:
            bits *= 2
        return value if bits == wide else self.block.f.b.trunc(value, ir.IntType(bits))

    def _deliver(self, memory: MemoryOp, values: list[Value], *, in_lanes: bool) -> None:
        """Puts what memory gave into the destination's registers."""
        if memory.dest is None:
            return
        b = self.block.f.b
        targets = iter(self._target(memory.dest))
        for value in values:
            bits = 8 * memory.bytes
            if bits < 32:
                unit = next(targets)
                whole = b.sext(value, I32) if memory.extend in _SIGNED else b.zext(value, I32)
                if memory.extend in _HALVES:
                    high = memory.extend in _HIGH_HALF
                    moved = b.shl(whole, const(32, 16)) if high else b.and_(whole, const(32, 0xFFFF))
                    rest = b.and_(self.held[unit], const(32, 0xFFFF if high else 0xFFFF0000))
                    whole = b.or_(moved, rest)
                self._write(unit, whole, None, in_lanes=in_lanes)
                continue
            for part in self._split(value, bits):
                self._write(next(targets), part, None, in_lanes=in_lanes)

    # Calls -------------------------------------------------------------------------------------------------------------------

    def call(self, op: SsaOp) -> list[Value]:
        """A call in place of an instruction without a program: registers in, by operand, then what it reads besides."""
        b = self.block.f.b
        inputs, outputs = self._order(op)
        arguments = [self.held[unit] for unit in inputs]
        types = [unit_type(unit) for unit in outputs]
        result: Any = ir.VoidType() if not types else types[0] if len(types) == 1 else ir.LiteralStructType(types)
        name = f"amdgcn.{printable(_form_text(self.i))}"
        if op.step.is_opaque:
            name = f"amdgcn.unknown.{self.i.uid}"
        name = self._unambiguous(name, result, [a.type for a in arguments])
        function = self.block.library.declared(name, result, [a.type for a in arguments], convergent=self._sees_lanes())
        value = b.call(function, arguments)
        made = [value] if len(types) == 1 else [b.extract_value(value, n) for n in range(len(types))]
        by_unit = dict(zip(outputs, made, strict=True))
        return [by_unit[value.unit] for value in op.results]

    def _order(self, op: SsaOp) -> tuple[list[int], list[int]]:
        inputs: dict[int, None] = {}
        outputs: dict[int, None] = {}
        written = {value.unit for value in op.results}
        definition = self.i.definition
        specs = definition.operands if definition is not None and not op.step.is_opaque else ()
        repeated: list[int] = []
        for spec, operand in zip(specs, self.i.operands, strict=False):
            if not isinstance(operand, Register):
                continue
            for unit in self._sources(operand):
                if spec.role is not Role.WRITE and unit in self.held:
                    repeated.append(unit)
                if spec.role is not Role.READ and unit in written:
                    outputs[unit] = None
        for unit in sorted(self.held):
            if unit not in repeated:
                inputs[unit] = None
        for unit in sorted(written):
            outputs.setdefault(unit, None)
        return [*repeated, *inputs], list(outputs)

    def _unambiguous(self, name: str, result: Any, arguments: list[Any]) -> str:
        """The name, with the counts behind it where the same form reads or makes other registers at another place."""
        found = self.block.library.module.globals.get(name)
        wanted = ir.FunctionType(result, arguments)
        if found is None or found.function_type == wanted:
            return name
        return f"{name} {wanted}"

    def _sees_lanes(self) -> bool:
        definition = self.i.definition
        if definition is None:
            return True
        return bool({Flag.CROSS_LANE, Flag.NO_EXEC} & definition.flags) or definition.issue in (
            IssueClass.MATRIX,
            IssueClass.BARRIER,
        )

    # Operands ----------------------------------------------------------------------------------------------------------------

    def _operand(self, name: str) -> Operand | None:
        assert self.i.definition is not None
        for spec, operand in zip(self.i.definition.operands, self.i.operands, strict=True):
            if spec.name == name:
                return operand
        return None

    def _sources(self, operand: Register) -> tuple[int, ...]:
        unit = operand.range.unit
        if unit in (VCCZ, EXECZ):
            return (VCC, VCC + 1) if unit == VCCZ else (EXEC, EXEC + 1)
        return tuple(self._canonical(unit + n) for n in range(operand.range.count))

    def _canonical(self, unit: int) -> int:
        return next(units(self.block.steps.canonical(1 << unit)))

    def _target(self, name: str) -> tuple[int, ...]:
        operand = self._operand(name)
        return self._sources(operand) if isinstance(operand, Register) else _SPECIALS.get(name, ())

    def _is_vector(self, name: str) -> bool:
        operand = self._operand(name)
        vector = (RegisterFile.VGPR, RegisterFile.AGPR)
        return isinstance(operand, Register) and operand.range.file in vector

    def _exec(self) -> Value:
        return self.block.pair(self.held[EXEC], self.held[EXEC + 1])

    def _joined(self, parts: list[Value], bits: int) -> Value:
        """The low `bits` bits of registers in a row."""
        b = self.block.f.b
        if len(parts) == 2 and bits == 64:
            return self.block.pair(parts[0], parts[1])
        parts = parts[: (bits + 31) // 32]
        result = parts[0]
        if len(parts) > 1:
            wide = ir.IntType(32 * len(parts))
            result = b.zext(result, wide)
            for number, part in enumerate(parts[1:], 1):
                result = b.or_(result, b.shl(b.zext(part, wide), const(wide.width, 32 * number)))
        return _resized(b, result, bits)

    def _split(self, value: Value, bits: int) -> list[Value]:
        b = self.block.f.b
        if bits <= 32:
            return [_resized(b, value, 32)]
        count = (bits + 31) // 32
        return [_resized(b, b.lshr(value, const(bits, 32 * n)) if n else value, 32) for n in range(count)]


def _resized(b: ir.IRBuilder, value: Value, bits: int) -> Value:
    width: int = value.type.width
    if width == bits:
        return value
    return b.trunc(value, ir.IntType(bits)) if width > bits else b.zext(value, ir.IntType(bits))


def _form_text(i: Instruction) -> str:
    """The instruction without its register numbers: what it means apart from the values it is given."""
    words: list[str] = []
    for operand in i.operands:
        if isinstance(operand, Register):
            text = str(operand.range.file.value) + (f"[{operand.range.count}]" if operand.range.count > 1 else "")
            if operand.range.file is RegisterFile.SPECIAL:
                text = str(operand.range)
            whole = print_operand(operand)
            words.append(whole.replace(str(operand.range), text))
        else:
            words.append(print_operand(operand))
    modifiers = [print_modifier(modifier, i.mnemonic) for modifier in i.modifiers]
    return " ".join([i.mnemonic, *([", ".join(words)] if words else []), *modifiers])


__all__ = ["BlockLifter", "unit_type"]
