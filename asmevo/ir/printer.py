"""Instructions and kernels as assembly text.

Owns the spelling: the words and their order are those of LLVM's printer, so that assembling the text gives the bytes back.
It decides nothing about an instruction and never reads its encoding, but for data that has no other form.
"""

from __future__ import annotations

from functools import lru_cache

from asmevo.ir.instruction import Immediate, Instruction, Label, Modifier, Operand, Register, Symbolic, WaitCounts
from asmevo.ir.kernel import Block, Kernel
from asmevo.ir.memo import by_text
from asmevo.ir.registers import RegisterRange
from asmevo.ir.symbols import swizzle_text

_HEX_MODIFIERS = frozenset(("row_mask", "bank_mask", "dmask", "bitop3"))
_LIMITS = WaitCounts(63, 7, 15)


@by_text
def print_instruction(instruction: Instruction) -> str:
    """One line as LLVM prints it, without indentation; `.long` for data."""
    text = instruction.mnemonic
    if instruction.operands:
        text = f"{text} {', '.join([print_operand(operand) for operand in instruction.operands])}"
    for modifier in instruction.modifiers:
        text = f"{text} {print_modifier(modifier, instruction.mnemonic)}"
    return text


def print_operand(operand: Operand) -> str:
    """One operand with its source modifiers."""
    if isinstance(operand, Register):
        if operand.negate or operand.absolute or operand.sign_extend:
            return _modified(operand)
        return _register(operand.range)
    if isinstance(operand, Immediate):
        text = f"|{operand.text}|" if operand.absolute else operand.text
        # `-1` and the negation of 1 are different encodings, hence the call form for constants.
        return f"neg({text})" if operand.negate else text
    if isinstance(operand, Label):
        return operand.name
    if isinstance(operand, Symbolic):
        return operand.text
    return _waits(operand)


def _modified(operand: Register) -> str:
    text = _register(operand.range)
    if operand.absolute:
        text = f"|{text}|"
    if operand.sign_extend:
        text = f"sext({text})"
    return f"-{text}" if operand.negate else text


@lru_cache(maxsize=4096)
def _register(value: RegisterRange) -> str:
    return str(value)


def _waits(counts: WaitCounts) -> str:
    shown = [
        f"{name}({count})"
        for name, count in (("vmcnt", counts.vmcnt), ("expcnt", counts.expcnt), ("lgkmcnt", counts.lgkmcnt))
        if count is not None
    ]
    return " ".join(shown) if shown else _waits(_LIMITS)


def print_modifier(modifier: Modifier, mnemonic: str) -> str:
    """One modifier; how its number is written depends on the opcode's family."""
    name, value = modifier.name, modifier.value
    if value is True:
        return name
    if isinstance(value, tuple):
        return f"{name}:[{','.join(map(str, value))}]"
    if isinstance(value, int):
        if name == "offset" and mnemonic == "ds_swizzle_b32":
            return f"offset:{swizzle_text(value)}"
        if name in _HEX_MODIFIERS or (name == "offset" and mnemonic.startswith("s_")):
            return f"{name}:{value:#x}"
    return f"{name}:{value}"


def print_kernel(kernel: Kernel) -> str:
    """The kernel as a source file that `parse_source` reads back: target, name, blocks in layout order.

    An assembler accepts it too. Roots other than the first block alone stand in comments of their own, frozen blocks say so in
    a comment, and data is printed as `.long` with its address.
    """
    lines = [f'\t.amdgcn_target "amdgcn-amd-amdhsa--{kernel.target}"', "\t.text", f"\t.globl {quoted(kernel.name)}"]
    lines += [f"\t.type {quoted(kernel.name)},@function"]
    if kernel.roots != tuple(block.label for block in kernel.blocks[:1]):
        lines += [f"; asmevo-root: {quoted(label)}" for label in kernel.roots]
    is_named = any(block.label == kernel.name for block in kernel.blocks)
    for block in kernel.blocks:
        if not is_named and block.label in kernel.roots[:1]:
            lines.append(f"{quoted(kernel.name)}:")
        lines += _block_lines(block)
    return "\n".join(lines) + "\n"


def quoted(name: str) -> str:
    """A symbol as the assembler accepts it: in quotes when it is no plain word."""
    plain = name.replace("_", "a").replace(".", "a").replace("$", "a")
    if plain.isascii() and plain.isalnum() and not name[0].isdigit():
        return name
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _block_lines(block: Block) -> list[str]:
    lines = [f"{quoted(block.label)}:" + (" ; frozen" if block.frozen else "")]
    for instruction in block.instructions:
        text = f"\t{print_instruction(instruction)}"
        if instruction.definition is None:
            place = "" if instruction.offset is None else f" at 0x{instruction.offset:x}"
            text = f"{text} ; kept as it is{place}"
        lines.append(text)
    return lines
