"""VOPC: vector compares.

The result is one bit a lane: `vcc` in e32, the printed pair in e64 and SDWA; both are the operand `sdst`. On gfx9 a v_cmpx
writes EXEC as well. The class compares do not depend on MODE. The lines are conditions times types, written out by loops.
Source: CDNA3 ISA guide, VOPC.
"""

from __future__ import annotations

from asmevo.ir.isa.model import Family, IssueClass
from asmevo.ir.isa.table import Table

FLOAT_CONDITIONS = ("f", "lt", "eq", "le", "gt", "lg", "ge", "o", "u", "nge", "nlg", "ngt", "nle", "neq", "nlt", "tru")
INTEGER_CONDITIONS = ("f", "lt", "eq", "le", "gt", "ne", "ge", "t")
_FLOAT_BITS = {"f16": 32, "f32": 32, "f64": 64}
_INTEGER_BITS = {"i16": 32, "u16": 32, "i32": 32, "u32": 32, "i64": 64, "u64": 64}


def _lines(prefix: str, facts: str) -> str:
    lines: list[str] = []
    for kind, bits in _FLOAT_BITS.items():
        lines.append(f"{prefix}_class_{kind} sdst=64 src0:{bits} src1:32 {facts}")
        lines += [f"{prefix}_{c}_{kind} sdst=64 src0:{bits} src1:{bits} <mode {facts}" for c in FLOAT_CONDITIONS]
    for kind, bits in _INTEGER_BITS.items():
        lines += [f"{prefix}_{c}_{kind} sdst=64 src0:{bits} src1:{bits} {facts}" for c in INTEGER_CONDITIONS]
    return "\n".join(lines)


def tables() -> tuple[Table, ...]:
    """Return the family's tables."""
    return (
        Table(Family.VOPC, IssueClass.VALU, "<exec", _lines("v_cmp", "")),
        Table(Family.VOPC, IssueClass.VALU, "<exec", _lines("v_cmpx", ">exec cmpx")),
    )
