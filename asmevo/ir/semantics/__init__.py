"""What every instruction does, written once as typed expressions.

`program_of(i)` gives the meaning of an instruction, None when it has none here (`unsupported_reason` tells why);
`source_bits(i, name)` the bits of a constant operand.
"""

from asmevo.ir.semantics.form import source_bits
from asmevo.ir.semantics.registry import program_of, unsupported_reason

__all__ = ["program_of", "source_bits", "unsupported_reason"]
