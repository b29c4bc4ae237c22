"""Resources a kernel asks for that the chip cannot give: a dispatch of it fails, or runs with less than it uses.

Owns the comparison of the descriptor's and the metadata's LDS size, and of the LDS addresses that instructions name outright,
with what a work-group can have.
"""

from __future__ import annotations

from asmevo.ir.finding import Finding
from asmevo.ir.isa.model import Space
from asmevo.ir.kernel import Kernel

LDS_LIMIT = "E0510"
_LDS_BYTES = {"gfx90a": 65536, "gfx942": 65536, "gfx950": 163840}
"""What one work-group can have. Source: CDNA3 ISA guide 1.1 and 11.1, CDNA4 ISA guide 11.1."""


def lds_limit_bytes(target: str) -> int:
    """The most LDS that a work-group can have on a target (`gfx942`; features after a colon are ignored)."""
    return _LDS_BYTES[target.split(":")[0]]


def check_lds(kernel: Kernel) -> list[Finding]:
    """E0510 (error): the LDS size asked for is above the limit, or an instruction's offset alone lies beyond it.

    A size is reported at the kernel's first instruction. What a launch adds is not known here.
    """
    limit = lds_limit_bytes(kernel.target)
    found: list[Finding] = []
    asked = {
        "descriptor": kernel.descriptor.group_segment_bytes if kernel.descriptor else 0,
        "metadata": (kernel.metadata.group_segment_bytes or 0) if kernel.metadata else 0,
    }
    first = next(((block, i) for block in kernel.blocks for i in block.instructions), None)
    for where, size in asked.items():
        if size > limit and first is not None:
            message = f"the {where} asks for {size} bytes of LDS; a work-group can have {limit}"
            found.append(Finding(LDS_LIMIT, message, first[0].label, first[1]))
    for block in kernel.blocks:
        for i in block.instructions:
            if i.definition is not None and i.definition.space is Space.LDS:
                offset = i.modifier("offset", 0)
                if isinstance(offset, int) and offset >= limit:
                    message = f"{i.mnemonic} has offset {offset}; a work-group can have {limit} bytes of LDS"
                    found.append(Finding(LDS_LIMIT, message, block.label, i))
    return found
