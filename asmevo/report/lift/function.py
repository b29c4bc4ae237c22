"""A kernel, or one block of it, as one LLVM function: what one lane of a wave does.

Owns the function's shape: arguments, basic blocks, phi nodes and branches, which all follow the SSA form. Instructions are
`instructions`' business.
"""

# llvmlite has no type stubs: what its builder returns is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from llvmlite import ir

from asmevo.backend.emulator.irkit import I1, I32, I64, Function, Value, const
from asmevo.diagnostics import fail, printable
from asmevo.ir.analysis.dataflow.liveness import Liveness
from asmevo.ir.analysis.dataflow.ssa import Ssa, SsaBlock, SsaEdge, SsaValue
from asmevo.ir.analysis.dataflow.ssa_steps import Steps
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.instruction import Instruction
from asmevo.ir.isa.model import IssueClass
from asmevo.ir.kernel import Kernel
from asmevo.ir.registers import EXEC, SCC, VCC
from asmevo.report.lift.instructions import BlockLifter, unit_type
from asmevo.report.lift.library import LIBRARY_NAMES, RESERVED_PREFIXES, Library

_CONDITIONS = {
    "s_cbranch_scc0": (SCC, False),
    "s_cbranch_scc1": (SCC, True),
    "s_cbranch_vccz": (VCC, False),
    "s_cbranch_vccnz": (VCC, True),
    "s_cbranch_execz": (EXEC, False),
    "s_cbranch_execnz": (EXEC, True),
}
"""Branches on a condition: the first unit tested, and whether the branch is taken when it is not zero."""


def print_llvm_ir(kernels: Sequence[Kernel]) -> str:
    """A module with a function for each kernel, in order, and the functions they call."""
    module = ir.Module("asmevo")
    module.triple = ""
    library = Library(module)
    for kernel in kernels:
        _Lifter(kernel, library, _function_name(kernel.name)).lift()
    return str(module)


def print_block_as_llvm_ir(kernel: Kernel, label: str) -> str:
    """A module with a function for one block: registers in; those that it writes and that are needed later, out.

    The first field of the result is whether the block's conditional branch is taken, where it ends with one; then the
    registers, ascending by unit. Raises E0623 for a label that is no block of the kernel.
    """
    if label not in {block.label for block in kernel.blocks}:
        fail("E0623", f"kernel '{kernel.name}' has no block '{label}'", help="`asmevo disasm` prints the labels")
    manager = AnalysisManager(kernel)
    needed = manager.get(Steps).canonical(manager.get(Liveness).live_out[label])
    alone = replace(kernel, blocks=(replace(kernel.block(label), successors=()),), roots=(label,))
    module = ir.Module("asmevo")
    module.triple = ""
    _Lifter(alone, Library(module), _function_name(f"{kernel.name}.{label}"), needed).lift()
    return str(module)


class _Lifter:
    """Makes one function. `needed` are the units to return where the kernel is one block taken alone, else None."""

    def __init__(self, kernel: Kernel, library: Library, name: str, needed: int | None = None) -> None:
        manager = AnalysisManager(kernel)
        ssa = manager.get(Ssa)
        self.ssa, self.steps, self.library = ssa, manager.get(Steps), library
        self.starts = (*ssa.starts, *ssa.unseen)
        self.results: tuple[SsaValue, ...] | None = None
        result: Any = ir.VoidType()
        if needed is not None:
            last = {value.unit: value for op in ssa.blocks[0].ops for value in op.results}
            self.results = tuple(last[unit] for unit in sorted(last) if needed >> unit & 1)
            ends = kernel.blocks[0].instructions[-1:]
            taken = [I1] if ends and ends[0].mnemonic in _CONDITIONS else []
            result = ir.LiteralStructType([*taken, *(unit_type(value.unit) for value in self.results)])
        arguments = [I32, I32, *(unit_type(value.unit) for value in ssa.entry)]
        self.f = Function(library.module, name, ir.FunctionType(result, arguments))
        self.values: dict[SsaValue, Value] = {}
        self.instructions = {block.label: block.instructions for block in kernel.blocks}
        self.blocks = {block.label: self.f.function.append_basic_block(printable(block.label)) for block in kernel.blocks}
        self.phis: dict[str, list[Any]] = {}

    def lift(self) -> None:
        lane, start, *entry = self.f.args
        lane.name, start.name = "lane", "start"
        for value, argument in zip(self.ssa.entry, entry, strict=True):
            argument.name = str(value)
            self.values[value] = argument
        for value in self.ssa.unknown:
            self.values[value] = ir.Constant(unit_type(value.unit), ir.Undefined)
        blocks = {block.label: block for block in self.ssa.blocks}
        for block in self.ssa.blocks:
            self._phis(block)
        self._enter(start)
        for label in self.ssa.order:
            self._block(blocks[label], lane)

    def _phis(self, block: SsaBlock) -> None:
        self.f.b.position_at_end(self.blocks[block.label])
        self.phis[block.label] = []
        for value in block.arguments:
            phi = self.f.b.phi(unit_type(value.unit), name=str(value))
            self.phis[block.label].append(phi)
            self.values[value] = phi

    def _enter(self, start: Value) -> None:
        b = self.f.b
        b.position_at_end(self.f.entry)
        if not self.starts:
            b.ret_void()
            return
        first, *others = self.starts
        if not others:
            self._pass(first)
            b.branch(self.blocks[first.target])
            return
        switch = b.switch(start, self.blocks[first.target])
        self._pass(first)
        for number, edge in enumerate(others, 1):
            switch.add_case(const(32, number), self.blocks[edge.target])
            self._pass(edge)

    def _pass(self, edge: SsaEdge) -> None:
        """Gives an edge's values to the target's phi nodes; the edge leaves the block where the builder is."""
        for phi, value in zip(self.phis[edge.target], edge.values, strict=True):
            phi.add_incoming(self.values[value], self.f.b.block)

    def _block(self, block: SsaBlock, lane: Value) -> None:
        b = self.f.b
        b.position_at_end(self.blocks[block.label])
        lifter = BlockLifter(self.f, self.library, lane, self.steps)
        instructions = self.instructions[block.label]
        last = instructions[-1] if instructions else None
        for op in block.ops:
            if last is not None and op.step.instructions[-1] is last and (_is_simple_branch(last) or _ends(last)):
                break
            kept = [None if value is None else self.values[value] for value in op.kept]
            made = lifter.lift(op, [self.values[value] for value in op.reads], kept)
            for value, one in zip(op.results, made, strict=True):
                _name(one, str(value))
                self.values[value] = one
        self._leave(block, last, lifter)

    def _leave(self, block: SsaBlock, last: Instruction | None, lifter: BlockLifter) -> None:
        b = self.f.b
        if self.results is not None:
            self._give(self.results, block, last, lifter)
            return
        for edge in block.edges:
            self._pass(edge)
        targets = [self.blocks[edge.target] for edge in block.edges]
        if last is not None and _ends(last):
            b.ret_void()
        elif not targets:
            b.call(self.library.declared("asmevo.leave", ir.VoidType(), []), [])
            b.unreachable()
        elif len(targets) == 1:
            b.branch(targets[0])
        elif last is not None and last.mnemonic in _CONDITIONS:
            b.cbranch(self._condition(block, last, lifter), targets[0], targets[1])
        else:
            # Which way such a branch goes is not known here: the number of the edge is asked for.
            number = b.call(self.library.declared("asmevo.way", I32, [I32]), [const(32, last.uid if last else -1)])
            switch = b.switch(number, targets[0])
            for index, target in enumerate(targets[1:], 1):
                switch.add_case(const(32, index), target)

    def _give(self, results: Sequence[SsaValue], block: SsaBlock, last: Instruction | None, lifter: BlockLifter) -> None:
        """Returns a block's results."""
        b = self.f.b
        fields = [(str(value), self.values[value]) for value in results]
        if last is not None and last.mnemonic in _CONDITIONS:
            fields.insert(0, ("taken", self._condition(block, last, lifter)))
        b.comment(f"returns {', '.join(name for name, _ in fields) or 'nothing'}")
        whole: Value = ir.Constant(self.f.function.function_type.return_type, ir.Undefined)
        for number, (_, value) in enumerate(fields):
            whole = b.insert_value(whole, value, number)
        b.ret(whole)

    def _condition(self, block: SsaBlock, last: Instruction, lifter: BlockLifter) -> Value:
        b = self.f.b
        unit, wanted = _CONDITIONS[last.mnemonic]
        read = {value.unit: self.values[value] for value in block.ops[-1].reads}
        if unit == SCC:
            return read[SCC] if wanted else b.not_(read[SCC])
        mask = lifter.pair(read[unit], read[unit + 1])
        return b.icmp_unsigned("!=" if wanted else "==", mask, ir.Constant(I64, 0))


def _function_name(kernel: str) -> str:
    """The kernel's name, with a prefix where it is one of the names that lifted code uses."""
    name = printable(kernel)
    return f"kernel.{name}" if name in LIBRARY_NAMES or name.startswith(RESERVED_PREFIXES) else name


def _is_simple_branch(i: Instruction) -> bool:
    if i.definition is None or not i.definition.is_branch:
        return False
    return i.mnemonic == "s_branch" or i.mnemonic in _CONDITIONS or i.mnemonic.startswith("s_cbranch_cdbg")


def _ends(i: Instruction) -> bool:
    return i.definition is not None and i.definition.issue is IssueClass.END


def _name(value: Value, name: str) -> None:
    """Names an instruction's result after its register, unless it has such a name already (a copy of another register)."""
    if isinstance(value, ir.Instruction) and value.name.startswith("."):
        value.name = name
