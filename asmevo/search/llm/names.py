"""What may be shown of names that come from a kernel.

A symbol is someone else's text: it may hold instructions to a model, or control characters. Labels that AsmEvo made itself are
shown as they are, every other name by an alias. Owns the aliases and the marks of cut text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from asmevo.diagnostics import printable
from asmevo.ir.instruction import Instruction, Label, Symbolic
from asmevo.ir.kernel import Kernel
from asmevo.ir.printer import print_instruction

_OWN_LABEL = re.compile(r"L_[0-9a-f]{1,16}\Z")
_PLAIN_SYMBOL = re.compile(r"-?(?:[a-z0-9_]{1,32}|[a-z0-9_]{1,32}\([A-Za-z0-9_ ,+x-]{0,120}\))\Z")
"""`off`, `src_shared_base`, `hwreg(HW_REG_MODE, 0, 4)`: words that the assembler knows."""


@dataclass(frozen=True, slots=True)
class Names:
    """The aliases of one kernel's names; the same kernel always gets the same ones."""

    aliases: dict[str, str]
    _found: re.Pattern[str] | None

    @classmethod
    def of(cls, kernel: Kernel) -> Names:
        """Aliases for the kernel's own name, and for each label that AsmEvo did not make."""
        aliases = {
            block.label: f"block{number}" for number, block in enumerate(kernel.blocks) if not _OWN_LABEL.match(block.label)
        }
        if kernel.name:
            aliases.setdefault(kernel.name, "kernel")
        # Longest first: one name may be a part of another.
        parts = [re.escape(name) for name in sorted(aliases, key=lambda name: (-len(name), name)) if name]
        found = re.compile(rf"(?<![A-Za-z0-9_])(?:{'|'.join(parts)})(?![A-Za-z0-9_])") if parts else None
        return cls(aliases, found)

    def label(self, label: str) -> str:
        """How a block's label is shown."""
        return self.aliases.get(label, label)

    def instruction(self, instruction: Instruction) -> str:
        """The instruction's text, without any name that is not the instruction set's."""
        operands = tuple(
            Label(self.label(operand.name))
            if isinstance(operand, Label)
            else Symbolic("symbol")
            if isinstance(operand, Symbolic) and not _PLAIN_SYMBOL.match(operand.text)
            else operand
            for operand in instruction.operands
        )
        shown = instruction if operands == instruction.operands else instruction.edited(operands=operands)
        return printable(print_instruction(shown))

    def text(self, text: str, most: int = 600) -> str:
        """A message of a check, with aliases for names, control characters escaped, and cut to `most` characters."""
        shown = text if self._found is None else self._found.sub(lambda match: self.aliases[match[0]], text)
        return shortened(printable(shown), most)


def shortened(text: str, most: int) -> str:
    """`text`, cut with a mark when it is longer than `most` characters."""
    return text if len(text) <= most else f"{text[:most]}... ({len(text)} characters)"
