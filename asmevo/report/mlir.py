"""The SSA form of a kernel as MLIR's generic assembly, in a dialect `amdgcn` that no tool needs to know.

Owns the text only: `mlir-opt --allow-unregistered-dialect` and xDSL parse it. docs/ir_export.md describes operations, types and
attributes. Names from the object are escaped. Source: MLIR language reference, "Generic operation form".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from asmevo.ir.analysis.dataflow.ssa import Ssa, SsaBlock, SsaEdge, SsaOp, SsaValue
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.instruction import Instruction, ModifierValue
from asmevo.ir.isa.model import IssueClass, OpcodeDef
from asmevo.ir.kernel import Kernel
from asmevo.ir.printer import print_instruction, print_operand
from asmevo.ir.registers import RegisterFile, RegisterRange, unit_name

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_$.]*")


def print_mlir(kernels: Sequence[Kernel]) -> str:
    """A module with one `amdgcn.kernel` for each kernel, in order.

    The `bytes` attributes of a kernel's operations, joined in order, are its code as it stands in .text.
    """
    lines = ['"builtin.module"() ({']
    for kernel in kernels:
        lines += _kernel(kernel, AnalysisManager(kernel).get(Ssa))
    lines.append("}) : () -> ()")
    return "\n".join(lines) + "\n"


def _kernel(kernel: Kernel, ssa: Ssa) -> Iterator[str]:
    names = _block_names(kernel)
    yield '  "amdgcn.kernel"() ({'
    yield f"  ^entry{_arguments(ssa.entry)}:"
    if ssa.unknown:
        yield f"    {_list(ssa.unknown)} = {_quoted('amdgcn.unknown')}() : () -> ({_types(ssa.unknown)})"
    yield f"    {_operation('amdgcn.start', (), (), (*ssa.starts, *ssa.unseen), names, {})}"
    for block in ssa.blocks:
        yield from _block(block, names)
    attributes = {
        "sym_name": _quoted(kernel.name),
        "target": _quoted(kernel.target),
        "roots": f"[{', '.join(_quoted(names[root]) for root in kernel.roots if root in names)}]",
        "labels": f"[{', '.join(_quoted(block.label) for block in kernel.blocks)}]",
    }
    if kernel.descriptor is not None:
        attributes["descriptor"] = _quoted(kernel.descriptor.raw.hex())
    yield f"  }}) {_dictionary(attributes)} : () -> ()"


def _block(block: SsaBlock, names: dict[str, str]) -> Iterator[str]:
    yield f"  ^{names[block.label]}{_arguments(block.arguments)}:"
    ends_itself = bool(block.ops) and _is_terminator(block.ops[-1].step.instructions[-1].definition)
    for op in block.ops:
        edges = block.edges if ends_itself and op is block.ops[-1] else ()
        yield f"    {_instruction(op, edges, names)}"
    if not ends_itself:
        name = "amdgcn.fall" if block.edges else "amdgcn.leave"
        yield f"    {_operation(name, (), (), block.edges, names, {})}"


def _is_terminator(definition: OpcodeDef | None) -> bool:
    return definition is not None and (definition.is_branch or definition.issue is IssueClass.END)


def _instruction(op: SsaOp, edges: Sequence[SsaEdge], names: dict[str, str]) -> str:
    first = op.step.instructions[0]
    places = {value: number for number, value in enumerate(op.reads)}
    for value in op.kept:
        if value is not None:
            places.setdefault(value, len(places))
    attributes: dict[str, str] = {}
    encodings = [i.encoding for i in op.step.instructions]
    if first.definition is not None:
        attributes |= _description(first, first.definition)
    if op.step.is_opaque:
        attributes["opaque"] = ""
    if any(value is not None for value in op.kept):
        ties = [-1 if value is None else places[value] for value in op.kept]
        attributes["kept"] = f"array<i64: {', '.join(map(str, ties))}>"
    attributes["uid"] = f"{first.uid} : i64"
    if first.offset is not None:
        attributes["offset"] = f"{first.offset} : i64"
    if None not in encodings:
        attributes["bytes"] = _quoted(b"".join(e for e in encodings if e is not None).hex())
    name = "amdgcn.data" if first.definition is None else f"amdgcn.{first.mnemonic}"
    return _operation(name, op.results, tuple(places), edges, names, attributes)


def _description(i: Instruction, definition: OpcodeDef) -> dict[str, str]:
    found = {"asm": _quoted(print_instruction(i))}
    if i.operands:
        specs = definition.operands
        texts = {spec.name: _quoted(print_operand(o)) for spec, o in zip(specs, i.operands, strict=True)}
        found["operands"] = _dictionary(texts)
    if i.modifiers:
        found["modifiers"] = _dictionary({m.name: _modifier(m.value) for m in i.modifiers})
    if definition.space is not None and definition.access is not None:
        memory = {"space": _quoted(definition.space.value), "access": _quoted(definition.access.value)}
        found["memory"] = _dictionary({**memory, "bytes": f"{definition.memory_bytes} : i64"})
    return found


def _modifier(value: ModifierValue) -> str:
    if value is True:
        return ""
    if isinstance(value, bool):
        return "false"
    if isinstance(value, int):
        return f"{value} : i64"
    if isinstance(value, tuple):
        return f"array<i64: {', '.join(map(str, value))}>" if value else "array<i64>"
    return _quoted(value)


def _operation(
    name: str,
    results: Sequence[SsaValue],
    operands: Sequence[SsaValue],
    edges: Sequence[SsaEdge],
    names: dict[str, str],
    attributes: dict[str, str],
) -> str:
    """One operation. With successors, the values for each follow the operands, counted in operandSegmentSizes as in `cf`."""
    everything = (*operands, *(value for edge in edges for value in edge.values))
    if edges:
        sizes = [len(operands), *(len(edge.values) for edge in edges)]
        attributes = {**attributes, "operandSegmentSizes": f"array<i32: {', '.join(map(str, sizes))}>"}
    made = f"{_list(results)} = " if results else ""
    targets = f"[{', '.join('^' + names[edge.target] for edge in edges)}]" if edges else ""
    shown = f" {_dictionary(attributes)}" if attributes else ""
    return f"{made}{_quoted(name)}({_list(everything)}){targets}{shown} : ({_types(everything)}) -> ({_types(results)})"


def _arguments(values: Sequence[SsaValue]) -> str:
    return f"({', '.join(f'%{value}: {_type(value)}' for value in values)})" if values else ""


def _list(values: Iterable[SsaValue]) -> str:
    return ", ".join(f"%{value}" for value in values)


def _types(values: Iterable[SsaValue]) -> str:
    return ", ".join(map(_type, values))


def _type(value: SsaValue) -> str:
    register = RegisterRange(value.unit)
    match register.file:
        case RegisterFile.VGPR:
            return f"!amdgcn.vgpr<{register.index}>"
        case RegisterFile.AGPR:
            return f"!amdgcn.agpr<{register.index}>"
        case RegisterFile.SGPR:
            return f"!amdgcn.sgpr<{register.index}>"
        case RegisterFile.SPECIAL:
            return f"!amdgcn.state<{unit_name(value.unit).removeprefix('src_')}>"


def _dictionary(entries: dict[str, str]) -> str:
    """An attribute dictionary; an empty text is a unit attribute."""
    return f"{{{', '.join(f'{_key(key)} = {text}' if text else _key(key) for key, text in entries.items())}}}"


def _key(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else _quoted(name)


def _quoted(text: str) -> str:
    """A string literal: whatever is not plain ASCII becomes bytes in hexadecimal."""
    plain = "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}" for b in text.encode("utf-8", "replace"))
    return f'"{plain}"'


def _block_names(kernel: Kernel) -> dict[str, str]:
    """A name for each label: the label itself where it is a plain word and no other block's."""
    taken = {"entry"}
    names: dict[str, str] = {}
    for number, block in enumerate(kernel.blocks):
        name = block.label if _PLAIN.fullmatch(block.label) and block.label not in taken else f"block{number}"
        while name in taken:
            name += "_"
        taken.add(name)
        names[block.label] = name
    return names
