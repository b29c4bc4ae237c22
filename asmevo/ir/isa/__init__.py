"""The facts of every opcode, one readable table a family.

`resolve(mnemonic, operand_count, modifier_names)` gives the definition of a printed instruction, `lookup(mnemonic)` the plain
one; both take the suffixes _e32, _e64, _sdwa and _dpp off. Use `resolve` where operands are known: the printed operands of
an atomic differ with `sc0`/`glc` (a destination first, or data that is also written), those of a buffer load with `lds`.

A definition's operands are the printed ones, one to one and in order: the `vcc` of carry, compare and v_cndmask e32 forms is
an operand (`sdst`, `src2`) as in their e64 forms, so both have the same count; `off` is `saddr`/`vaddr`. `permitted_bits`
tells the widths an operand may have where that depends on another operand; `operands.operand_class` the registers and constants
that it takes. `canonical` turns older spellings of a mnemonic into the one that disassemblers print.
"""

from asmevo.ir.isa.catalog import base_mnemonic, canonical, definitions, lookup, permitted_bits, resolve, variants

__all__ = ["base_mnemonic", "canonical", "definitions", "lookup", "permitted_bits", "resolve", "variants"]
