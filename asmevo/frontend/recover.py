"""A kernel of a code object as IR.

Owns choosing the kernel and telling lowering where its waves start. Decoding is the disassembler's, blocks are lowering's.
"""

from __future__ import annotations

from asmevo.frontend.codeobject import CodeObject
from asmevo.frontend.disassembler import disassemble
from asmevo.frontend.lowering import lower
from asmevo.ir.kernel import Kernel

PRELOAD_PROLOGUE_BYTES = 256


def recover(obj: CodeObject, kernel: str | None = None) -> Kernel:
    """Lift a kernel, the object's only one unless named. Offsets in the IR are relative to .text.

    With kernarg preload there are two roots, entry and entry + 256: firmware that knows the feature starts at the second.
    Raises E0109 when the name is missing or unknown, and what lowering raises.
    """
    entry = obj.kernel(kernel)
    decoded = disassemble(obj.code(entry), obj.target, start=entry.start)
    second = entry.entry + PRELOAD_PROLOGUE_BYTES
    has_prologue = entry.descriptor.preload_dwords > 0 and second < entry.stop
    return lower(
        decoded,
        name=entry.name,
        target=obj.target,
        entry_offset=entry.entry,
        extra_roots=(second,) if has_prologue else (),
        descriptor=entry.descriptor,
        metadata=entry.metadata,
        file=obj.name,
    )
