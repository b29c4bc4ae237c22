"""Whether a rebuilt object is the old one with the new kernel in it.

Reads the result from its bytes alone, as any loader would, and compares. It shares the readers with the writer but none of
its layout: places, targets and padding are found anew in the disassembly.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn

from asmevo.backend.layout import branch_label
from asmevo.diagnostics import DiagnosticError, Span, fail
from asmevo.frontend.codeobject import CodeObject, KernelEntry, load
from asmevo.frontend.descriptor import encode_descriptor
from asmevo.frontend.disassembler import Decoded, disassemble
from asmevo.frontend.line import parse_line
from asmevo.ir.instruction import Immediate, Instruction, Label, Modifier, Operand, Symbolic, WaitCounts
from asmevo.ir.kernel import Kernel

_WORD = 4
# Zero and s_code_end, which gfx9 does not decode.
_FILLER = (bytes(_WORD), struct.pack("<I", 0xBF9F0000))
_UNLIMITED = WaitCounts(63, 7, 15)
_ENCODING_SUFFIXES = ("_e32", "_e64")


def validate(obj: CodeObject, kernel: Kernel, data: bytes) -> None:
    """Return when `data` is `obj` with `kernel` in it: target, metadata, descriptors, other kernels, code, branch targets.

    Raises E0616 with the first difference: the writer is wrong then, and the result must not be used.
    """
    try:
        new = load(data, obj.name)
    except DiagnosticError as error:
        fail("E0616", f"the rebuilt object cannot be read: {error}", Span(obj.name))
    if (new.target, new.elf.header.flags, new.abi_version) != (obj.target, obj.elf.header.flags, obj.abi_version):
        _wrong(obj, "its target changed")
    if _note(new) != _note(obj):
        _wrong(obj, "its metadata changed")
    if [k.name for k in new.kernels] != [k.name for k in obj.kernels]:
        _wrong(obj, "its kernels changed")
    for before, after in zip(obj.kernels, new.kernels, strict=True):
        is_edited = before.name == kernel.name
        wanted = kernel.descriptor if is_edited and kernel.descriptor is not None else before.descriptor
        placed = replace(wanted, entry_offset=after.descriptor.entry_offset)
        if encode_descriptor(placed) != after.descriptor.raw:
            _wrong(obj, f"the descriptor of '{before.name}' changed")
        if is_edited:
            _check_code(new, after, kernel)
        elif before.start != obj.kernel(kernel.name).start and obj.code(before) != new.code(after):
            _wrong(obj, f"the code of '{before.name}' changed")


def _note(obj: CodeObject) -> bytes:
    offset, size = obj.note
    return obj.data[offset : offset + size]


def _wrong(obj: CodeObject, what: str, offset: int | None = None) -> NoReturn:
    fail("E0616", f"the rebuilt object is not as it should be: {what}", Span(obj.name, offset=offset))


def _check_code(new: CodeObject, entry: KernelEntry, kernel: Kernel) -> None:
    lines = disassemble(new.code(entry), new.target)
    # Filler at the end may have become shorter, longer or of another kind.
    left = _without_trailing_filler(kernel)
    position = 0
    targets: list[tuple[Instruction, str, int]] = []
    places: dict[str, int] = {}

    def skip_filler(stop: int) -> None:
        nonlocal position
        while position < len(lines) and entry.start + lines[position].offset < stop and lines[position].text == "s_nop 0":
            position += 1

    for block in kernel.blocks:
        if block.label in kernel.roots and block.offset is not None:
            skip_filler(block.offset)
        places[block.label] = entry.start + lines[position].offset if position < len(lines) else entry.stop
        for instruction in block.instructions:
            if left == 0:
                break
            left -= 1
            if position >= len(lines):
                _wrong(new, f"'{kernel.name}' is cut off")
            line = lines[position]
            if not _is_same(instruction, line):
                where = entry.start + line.offset
                _wrong(new, f"'{kernel.name}' has '{line.text}' for {instruction.mnemonic} (number {instruction.uid})", where)
            if (label := branch_label(instruction)) is not None:
                (distance,) = struct.unpack_from("<h", line.encoding)
                targets.append((instruction, label, entry.start + line.offset + _WORD + _WORD * distance))
            position += 1
    for line in lines[position:]:
        if line.encoding not in _FILLER and not (line.text or "").startswith("s_nop "):
            _wrong(new, f"'{kernel.name}' has more instructions than it should", entry.start + line.offset)
    roots = {places[label] for label in kernel.roots}
    if entry.entry not in roots:
        _wrong(new, f"'{kernel.name}' does not start at one of its roots", entry.entry)
    for instruction, label, target in targets:
        if places.get(label) != target:
            _wrong(new, f"'{kernel.name}': {instruction.mnemonic} does not lead to '{label}'", target)


def _without_trailing_filler(kernel: Kernel) -> int:
    instructions = list(kernel.instructions())
    while instructions and _is_filler(instructions[-1]):
        instructions.pop()
    return len(instructions)


def _is_filler(instruction: Instruction) -> bool:
    return instruction.mnemonic == "s_nop" or instruction.encoding in _FILLER


def _is_same(instruction: Instruction, line: Decoded) -> bool:
    if instruction.encoding is not None:
        if line.encoding == instruction.encoding:
            return True
        return branch_label(instruction) is not None and line.encoding[2:] == instruction.encoding[2:]
    if line.text is None:
        return instruction.mnemonic == ".long"
    read = parse_line(line.text)
    return (
        _base(read.mnemonic) == _base(instruction.mnemonic)
        and len(read.operands) == len(instruction.operands)
        and all(map(_is_same_operand, instruction.operands, read.operands))
        and _modifiers(read.modifiers) == _modifiers(instruction.modifiers)
    )


def _base(mnemonic: str) -> str:
    return next((mnemonic.removesuffix(s) for s in _ENCODING_SUFFIXES if mnemonic.endswith(s)), mnemonic)


def _is_same_operand(wanted: Operand, read: Operand) -> bool:
    # A branch's distance is compared by the place it leads to.
    return isinstance(wanted, Label) or _comparable(wanted) == _comparable(read)


def _comparable(operand: Operand) -> object:
    match operand:
        case Immediate():
            return (operand.value, operand.negate, operand.absolute)
        case Symbolic():
            return operand.text.replace(" ", "") if operand.value is None else operand.value
        case WaitCounts():
            return WaitCounts(
                None if operand.vmcnt == _UNLIMITED.vmcnt else operand.vmcnt,
                None if operand.expcnt == _UNLIMITED.expcnt else operand.expcnt,
                None if operand.lgkmcnt == _UNLIMITED.lgkmcnt else operand.lgkmcnt,
            )
        case _:
            return operand


def _modifiers(modifiers: Sequence[Modifier]) -> set[tuple[str, object]]:
    # What is absent is zero.
    return {(modifier.name, modifier.value) for modifier in modifiers if modifier.value not in (0, False)}
