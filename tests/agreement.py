"""Every opcode on many inputs in every interpreter: NumPy reference, native engine, and z3 where its encoding has an operation.

Inputs are lanes of waves, for scalar opcodes waves. Some hold random values of every format, the others every pair of corner
values of the opcode's type; modes, EXEC and the opcode's forms take turns. Everything must agree bit for bit, but for the
functions that the host's mathematical library computes, where one unit in the last place is allowed and noted.
"""

from __future__ import annotations

import ctypes
import itertools
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from asmevo.backend.emulator import layout, reference
from asmevo.backend.emulator.form import expressions, nodes
from asmevo.backend.emulator.native import native
from asmevo.backend.emulator.setup import build_group, build_memory
from asmevo.backend.launch import Buffer, Dispatch
from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.parser import parse_line
from asmevo.ir.instruction import Immediate, Instruction, Register, Symbolic
from asmevo.ir.isa.model import OpcodeDef
from asmevo.ir.printer import print_instruction
from asmevo.ir.registers import EXEC, M0, MODE, SCC, VCC, VGPR0
from asmevo.ir.semantics import program_of, source_bits
from asmevo.ir.semantics.expr import Domain, Op, Program
from asmevo.ir.semantics.matrix import plain_operation
from line_forms import lines_of
from machines import (
    ALL,
    BUFFER_BYTES,
    F16,
    F32,
    F64,
    INTEGERS,
    LANES,
    LDS_BYTES,
    SCRATCH_BYTES,
    Machine,
    Step,
    aim,
    differences,
    patterns,
    random_machine,
)
from reference_step import SPECIALS, run_reference
from z3_step import Encoded, Place, encoded_results

_SOURCES = ("src0", "src1", "src2", "ssrc0", "ssrc1")
APPROXIMATE = frozenset({Op.FEXP2, Op.FLOG2, Op.FSIN, Op.FCOS})
_DENORMALS, _IEEE, _DX10, _OVFL = 0xF0, 1 << 9, 1 << 8, 1 << 23
_MODES = (
    _DENORMALS | _IEEE | _DX10,
    0xC0 | _IEEE | _DX10,
    0x30 | _OVFL,
    _DENORMALS | 0x5,
    0,
    _DENORMALS | _IEEE | 0xA,
    0xC0 | 0xF,
    _DENORMALS | _IEEE | _DX10 | 0x6,
)
_MASKS = (ALL, ALL, ALL, 0x0123456789ABCDEF, ALL, ALL, 0xFFFEFFFEFFFF0001, ALL)
_FEW_INTEGERS = (0, 1, 2, 3, 7, 15, 16, 31, 32, 33, 63, 64, 127, 128, 255, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x00FF00FF)
_WIDE_INTEGERS = (*(n for n in INTEGERS if 0 <= n < 4 or n >= 1 << 24), -1, -2, -128, -0x8000)


@dataclass
class Outcome:
    """What the comparison of one opcode found. `inputs` were given to both NumPy and the native engine, `z3` also to z3."""

    inputs: int = 0
    z3: int = 0
    last_place: bool = False
    problems: list[str] = field(default_factory=list)


@lru_cache(maxsize=8)
def corners(kind: str) -> tuple[int, ...]:
    """The corner values of a type as bits."""
    floats = {"f16": (F16, 16), "f32": (F32, 32), "f64": (F64, 64)}
    if kind in floats:
        values, bits = floats[kind]
        return tuple(v | sign << (bits - 1) for v in values for sign in (0, 1))
    return tuple(dict.fromkeys(n & 0xFFFFFFFF for n in (*_FEW_INTEGERS, *(-n for n in _FEW_INTEGERS), *_WIDE_INTEGERS)))


def _kind(mnemonic: str) -> str:
    return next((word for word in reversed(mnemonic.split("_")) if word in ("f16", "f32", "f64")), "i32")


def corner_waves(i: Instruction) -> Iterator[list[tuple[int, ...]]]:
    """For each wave the corner values of the first two sources, 64 pairs at a time, until every pair was there."""
    pairs = iter(itertools.product(corners(_kind(i.mnemonic)), repeat=2))
    while batch := list(itertools.islice(pairs, LANES)):
        yield (batch * LANES)[:LANES]


def _with_corners(i: Instruction, machine: Machine, pairs: list[tuple[int, ...]], turn: int) -> Machine:
    """`machine` with a wave's pairs in the registers of two sources of `i`; other sources keep what they hold."""
    assert i.definition is not None
    named = [
        o.range
        for spec, o in zip(i.definition.operands, i.operands, strict=True)
        if isinstance(o, Register) and spec.name in _SOURCES and o.range.unit not in (EXEC, SCC)
    ]
    for place, values in zip(named[turn % 2 if len(named) > 2 else 0 :], zip(*pairs, strict=True), strict=False):
        bits = 32 * min(place.count, 2)
        if place.unit >= VGPR0:
            machine.put(place.unit, np.array([v << 32 | v if bits == 64 and v >> 32 == 0 else v for v in values], object), bits)
        else:
            machine.put(place.unit, values[turn % LANES], bits)
    return machine


def comparable_lines(definition: OpcodeDef, target: str) -> list[Instruction]:
    """The instructions of an opcode, one for each form, that both interpreters evaluate."""
    found: list[Instruction] = []
    for line in lines_of(definition):
        try:
            i = parse_line(line)
        except DiagnosticError:
            continue
        program = program_of(i, target)
        if program is not None and program.domain is not Domain.CONTROL:
            found.append(i)
    return found


class Native:
    """A prepared step with one wave's memory kept from run to run; `touches_memory` puts it back before each."""

    def __init__(self, i: Instruction, target: str, *, touches_memory: bool) -> None:
        step = Step(i, target=target, rounds=True)
        self._touches_memory = touches_memory
        self._buffer = np.zeros(BUFFER_BYTES, np.uint8)
        launch = Dispatch("step", "step", (1, 1, 1), (LANES, 1, 1), b"", (), (Buffer("data", self._buffer, True),))
        scratch = LANES * SCRATCH_BYTES if touches_memory else 0
        self._memory = build_memory(launch, LDS_BYTES, scratch)
        self._counts = np.zeros(len(step.prepared.ops), np.uint64)
        self._group = build_group(step.prepared, self._memory, self._counts, 1, LDS_BYTES, False)
        self._step = step
        start = self._memory.starts[0]
        self._data = self._memory.arena[start : start + BUFFER_BYTES]
        at = self._memory.scratch_starts[0] if scratch else 0
        self._scratch = self._memory.arena[at : at + scratch].reshape(LANES, -1)
        self._run = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p)(native().symbol("asm_run_fast"))
        self._states = self._group.states

    def run(self, machine: Machine) -> Machine:
        """The state after the step; memory is shared with the next run."""
        states = self._states
        if self._touches_memory:
            self._data[:], self._group.lds[:LDS_BYTES], self._scratch[:] = machine.buffer, machine.lds, machine.scratch
        states["scalar"][0], states["vector"][0] = machine.scalar, machine.vector
        self._go()
        if not self._touches_memory:
            return Machine(states["scalar"][0], states["vector"][0], machine.buffer, machine.lds, machine.scratch)
        return Machine(states["scalar"][0], states["vector"][0], self._data, self._group.lds[:LDS_BYTES], self._scratch)

    def scalars(self, machine: Machine, inputs: np.ndarray) -> np.ndarray:
        """The scalar registers after a run from each row of `inputs`, shape (n, 256), with the machine's vector registers."""
        after = np.empty_like(inputs)
        self._states["vector"][0] = machine.vector
        for n, row in enumerate(inputs):
            self._states["scalar"][0] = row
            self._go()
            after[n] = self._states["scalar"][0]
        return after

    def _go(self) -> None:
        states = self._states
        states["pc"], states["executed"], states["limit"], states["fault"] = 0, 0, 1000, 0
        status = self._run(states.ctypes.data)
        assert status == layout.END, layout.FAULT_KINDS[int(states["fault"][0])]


def _uses(program: Program, ops: frozenset[Op]) -> bool:
    return any(e.op in ops for e in nodes(expressions(program)))


def compare(definition: OpcodeDef, target: str, inputs: int, seed: int = 0) -> Outcome:
    """Compares one opcode on at least `inputs` random inputs and every pair of corners; the first problem of a form ends it."""
    outcome = Outcome()
    lines = comparable_lines(definition, target)
    for number, i in enumerate(lines):
        program = program_of(i, target)
        assert program is not None
        memory = program.memory is not None or str(program.intrinsic).startswith("ds_")
        try:
            run = Native(i, target, touches_memory=memory)
        except NotImplementedError as refusal:
            outcome.problems.append(f"{i.mnemonic}: refused: {refusal}")
            continue
        found = _Form(i, target, program, run, number, len(lines), seed)
        share = -(-inputs // len(lines))
        # One that reads lanes by number cannot take inputs as lanes.
        by_lane = program.domain is not Domain.SCALAR or memory or _uses(program, frozenset({Op.GATHER}))
        (_compare_waves if by_lane else _compare_scalar)(found, share, outcome)
    return outcome


@dataclass(frozen=True)
class _Form:
    i: Instruction
    target: str
    program: Program
    run: Native
    number: int
    forms: int
    seed: int

    def name(self) -> str:
        return print_instruction(self.i)


class _Contents:
    """Register contents that are drawn many at a time, since each draw is slow."""

    def __init__(self, rng: np.random.Generator, width: int) -> None:
        self._rng, self._width = rng, width
        self._rows, self._next = np.empty((0, width), np.uint32), 0

    def take(self, count: int) -> np.ndarray:
        """Contents of `count` consecutive registers that begin at an even one, shape (count, width)."""
        wanted = count + count % 2
        if self._next + wanted > len(self._rows):
            # A narrow draw gives as many numbers as a wide one.
            self._rows, self._next = patterns(self._rng, max(wanted, 8192 // self._width), self._width), 0
        found = self._rows[self._next : self._next + count]
        self._next += wanted
        return found


def _fresh(form: _Form, machine: Machine, vectors: _Contents, scalars: _Contents) -> None:
    """New values in the vector and scalar registers that an instruction names; scalars come from a second lane."""
    for operand in form.i.operands:
        if isinstance(operand, Register) and operand.range.unit not in (EXEC, MODE):
            count = operand.range.count
            if operand.range.unit >= VGPR0:
                at = operand.range.unit - VGPR0
                machine.vector[at : at + count] = vectors.take(count)
            else:
                machine.scalar[operand.range.unit : operand.range.unit + count] = scalars.take(count)[:, 1]
    machine.scalar[SCC] &= 1


def _compare_waves(form: _Form, inputs: int, outcome: Outcome) -> None:
    i, program = form.i, form.program
    ulps = int(_uses(program, APPROXIMATE))
    outcome.last_place |= bool(ulps)
    matrix = plain_operation(i.mnemonic, form.target)
    scalar = program.domain is Domain.SCALAR
    per_wave = 1 if scalar else LANES if matrix is None else matrix.shape.results_per_lane * LANES
    encoded = encoded_results(i, form.target)
    rng = np.random.default_rng([form.seed, zlib.crc32(form.name().encode())])
    vectors, scalars = _Contents(rng, LANES), _Contents(rng, 4)
    machine = random_machine(form.number)
    for pairs, turn in itertools.chain(((None, n) for n in range(-(-inputs // per_wave))), _corner_turns(form)):
        _fresh(form, machine, vectors, scalars)
        machine.scalar[MODE] = _MODES[(turn + form.number) % len(_MODES)]
        machine.put(EXEC, _MASKS[turn % len(_MASKS)], 64)
        aimed = aim(i, machine, turn, form.target) if matrix is None else machine
        if pairs is not None:
            _with_corners(i, aimed, pairs, turn)
        after = form.run.run(aimed)
        found = differences(after, run_reference(i, aimed, form.target), ulps)
        outcome.inputs += per_wave
        if encoded:
            outcome.z3 += per_wave
            lanes = range(per_wave)
            found += z3_differences(encoded, [Place(aimed, n) for n in lanes], [Place(after, n) for n in lanes])
        if found:
            outcome.problems.append(f"{form.name()}, turn {turn}: {found[0]}")
            return


def _compare_scalar(form: _Form, inputs: int, outcome: Outcome) -> None:
    """Scalar opcodes without memory: 64 inputs at a time, the reference takes them as lanes."""
    i, program = form.i, form.program
    assert i.definition is not None
    encoded = encoded_results(i, form.target)
    rng = np.random.default_rng([form.seed, zlib.crc32(form.name().encode())])
    machine = random_machine(form.number)
    contents, rows = _Contents(rng, LANES), patterns(rng, 128, LANES).T.copy()
    named = [o.range for o in i.operands if isinstance(o, Register) and o.range.unit < VGPR0]
    fresh = sorted({unit for r in named for unit in range(r.unit & ~1, r.unit + r.count, 2)} | {VCC, EXEC, M0})
    for pairs, turn in itertools.chain(((None, n) for n in range(-(-inputs // LANES))), _corner_turns(form)):
        for unit in fresh:
            rows[:, unit : unit + 2] = contents.take(2).T
        rows[:, SCC] = rng.integers(0, 2, LANES)
        rows[:, MODE] = _MODES[turn % len(_MODES)]
        if turn % 4 == 0:
            rows[:, EXEC : EXEC + 2] = rows[:, EXEC : EXEC + 2] * (rng.integers(0, 4, (LANES, 1)) > 0)
        states = [Machine(row, machine.vector, machine.buffer, machine.lds, machine.scratch) for row in rows]
        if pairs is not None:
            for n, state in enumerate(states):
                _with_corners(i, state, pairs, n)
        after = form.run.scalars(machine, rows)
        expected = _scalars_by_reference(i, program, states, machine)
        wrong = np.argwhere(after != expected)
        outcome.inputs += LANES
        found = [f"unit {u}: {after[n, u]:#x} != {expected[n, u]:#x}" for n, u in wrong[:1]]
        if encoded:
            outcome.z3 += LANES
            left = [Machine(row, machine.vector, machine.buffer, machine.lds, machine.scratch) for row in after]
            found += z3_differences(encoded, [Place(m, 0) for m in states], [Place(m, 0) for m in left])
        if found:
            outcome.problems.append(f"{form.name()}, turn {turn}: {found[0]}")
            return


def _scalars_by_reference(i: Instruction, program: Program, states: list[Machine], machine: Machine) -> np.ndarray:
    """Scalar registers after an instruction from each state, each write's value computed for all states at once."""
    assert i.definition is not None
    values: dict[str, object] = {}
    where: dict[str, tuple[int, int]] = {}
    for spec, operand in zip(i.definition.operands, i.operands, strict=True):
        if isinstance(operand, Register):
            unit, count = operand.range.unit, operand.range.count
            where[spec.name] = (unit, 32 * count)
            one = unit >= VGPR0
            values[spec.name] = (
                machine.operand(unit, count) if one else np.array([s.operand(unit, count) for s in states], object)
            )
        elif isinstance(operand, Immediate) or (isinstance(operand, Symbolic) and operand.value is not None):
            values[spec.name] = source_bits(i, spec.name)
    specials = {
        name: np.array([s.pair(unit) if bits == 64 else int(s.scalar[unit]) for s in states], object)
        for name, (unit, bits) in SPECIALS.items()
    }
    evaluator = reference.Evaluator(values, specials, {}, values | specials)
    after = np.array([s.scalar for s in states])
    for write in program.writes:
        unit, bits = where.get(write.target) or SPECIALS[write.target]
        new = evaluator.value(write.value)
        on = np.ones(LANES, np.bool_) if write.enable is None else evaluator.value(write.enable).astype(np.bool_)
        for n in range((max(bits, 32) + 31) // 32):
            part = np.array([int(v) >> 32 * n & 0xFFFFFFFF for v in new], np.uint32)
            after[:, unit + n] = np.where(on, part, after[:, unit + n])
    return after


def _corner_turns(form: _Form) -> Iterator[tuple[list[tuple[int, ...]] | None, int]]:
    """The waves of corners: all for an opcode's first form, a share for each other; none for memory and matrices."""
    if form.program.memory is not None or form.program.domain is Domain.INTRINSIC:
        return
    for turn, pairs in enumerate(corner_waves(form.i)):
        if form.number == 0 or turn % form.forms == form.number:
            yield pairs, turn


def z3_differences(encoded: list[Encoded], before: list[Place], after: list[Place]) -> list[str]:
    """Where z3's value of a result is not what the native engine left."""
    for result in encoded:
        for place, values in zip(after, result.values(before), strict=True):
            for part, found in zip(result.parts, values, strict=True):
                left = _left(place.machine, part.unit, place.lane, ballot=part.is_ballot)
                if found != left:
                    return [f"z3: unit {part.unit}, lane {place.lane}: {found:#x} != {left:#x}"]
    return []


def _left(after: Machine, unit: int, lane: int, *, ballot: bool) -> int:
    if unit >= VGPR0:
        return int(after.vector[unit - VGPR0, lane])
    return after.pair(unit) >> lane & 1 if ballot else int(after.scalar[unit])
