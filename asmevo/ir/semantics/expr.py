"""The typed expression language in which every opcode's meaning is written, once.

All values are bit vectors; a float operation names its format (`f16`, `bf16`, `f32`, `f64`) and acts on the bits. Three
interpreters read these expressions: NumPy (reference), native code through llvmlite (speed), z3 (proof). Nothing here
evaluates.

Lane expressions are evaluated once for each active lane, scalar expressions once a wave.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Op(enum.Enum):
    """Every operation. Comment: (argument widths) -> width; N is any width."""

    # Members are single objects: the plain hash is right, and much faster than the hash of a name.
    __hash__ = object.__hash__

    # Leaves
    CONST = "const"  # attr int
    SRC = "src"  # attr operand name: its value for this lane (scalars broadcast), modifiers already applied
    IMM = "imm"  # attr modifier name: an integer of the decoded instruction (offset)
    SPECIAL = "special"  # attr: scc(1) exec(64) vcc(64) m0(32) mode(32) pc(64)
    LANE = "lane"  # () -> 32: this lane's number
    LANE_BIT = "lane_bit"  # (64) -> 1: this lane's bit of a wave mask
    GATHER = "gather"  # attr operand name, (32 lane index) -> 32 or 64: that operand of another lane, whatever EXEC says
    LANE_ACTIVE = "lane_active"  # (32 lane index) -> 1: EXEC bit of another lane
    OLD = "old"  # attr operand name: the destination's value before the write
    # Integers
    ADD = "add"
    SUB = "sub"
    MUL = "mul"
    UDIV = "udiv"
    UREM = "urem"
    AND = "and"
    OR = "or"
    XOR = "xor"
    NOT = "not"
    SHL = "shl"  # (N, N) -> N; amounts >= N give 0: mask explicitly where the opcode does
    LSHR = "lshr"
    ASHR = "ashr"
    EXTRACT = "extract"  # attr low bit, (N) -> bits
    CONCAT = "concat"  # (high, low) -> sum
    ZEXT = "zext"
    SEXT = "sext"
    EQ = "eq"  # (N, N) -> 1
    ULT = "ult"
    SLT = "slt"
    ITE = "ite"  # (1, N, N) -> N
    POPCOUNT = "popcount"
    CLZ = "clz"  # leading zeros, N for 0
    CTZ = "ctz"  # trailing zeros, N for 0
    BITREV = "bitrev"
    # Floats: attr is the format; results are rounded and flushed by MODE unless the opcode says otherwise
    FADD = "fadd"
    FMUL = "fmul"
    FFMA = "ffma"
    FMIN = "fmin"
    FMAX = "fmax"
    FLT = "flt"  # ordered less: (N, N) -> 1
    FEQ = "feq"  # ordered equal
    FUNO = "funo"  # unordered: either is NaN
    FFLOOR = "ffloor"
    FCEIL = "fceil"
    FTRUNC = "ftrunc"
    FRNDNE = "frndne"
    FRACT = "fract"
    FRCP = "frcp"
    FRSQ = "frsq"
    FSQRT = "fsqrt"
    FEXP2 = "fexp2"
    FLOG2 = "flog2"
    FSIN = "fsin"
    FCOS = "fcos"
    FLDEXP = "fldexp"  # (N, 32 signed) -> N
    FREXP_MANT = "frexp_mant"
    FREXP_EXP = "frexp_exp"  # (N) -> 32
    FCANON = "fcanon"  # flush by MODE and quiet
    FCVT = "fcvt"  # attr (from, to) with RNE by MODE
    FCVT_RTZ = "fcvt_rtz"  # attr (from, to), round toward zero
    FTOI = "ftoi"  # attr (from, "i32"|"u32"|"i16"|"u16"), truncating, saturating, NaN to 0
    ITOF = "itof"  # attr ("i32"|"u32"|..., to)
    NATIVE = "native"  # attr name of a function of the interpreters' shared library (div_scale, div_fixup, fp8 ...)


@dataclass(frozen=True, slots=True)
class Expr:
    """A node. Build through the functions of `build`, which check widths."""

    op: Op
    bits: int
    args: tuple[Expr, ...] = ()
    attr: int | str | tuple[str, str] | None = None


class Domain(enum.Enum):
    """How often a program runs for one wave-instruction."""

    SCALAR = "scalar"
    LANE = "lane"
    CONTROL = "control"
    """Handled by the engine itself: branches, waits, barrier, end, nops."""
    INTRINSIC = "intrinsic"
    """Not expressible lane by lane: matrix operations, writelane, ds_permute. Each interpreter implements it by name."""


@dataclass(frozen=True, slots=True)
class Write:
    """`target` (an operand name or a special: scc, vcc, exec, m0, mode) becomes `value`.

    In the lane domain a 1-bit value written to a scalar target is a ballot: the wave mask of the lanes' bits, inactive lanes 0.
    `enable` (1 bit) suppresses the write for a lane when it is 0; None means always.
    """

    target: str
    value: Expr
    enable: Expr | None = None


class Extend(enum.Enum):
    """How a loaded sub-dword value fills its destination register."""

    NONE = "none"
    ZERO = "zero"
    SIGN = "sign"
    D16_LO = "d16-lo"
    D16_HI = "d16-hi"
    D16_LO_SIGN = "d16-lo-sign"
    D16_HI_SIGN = "d16-hi-sign"


@dataclass(frozen=True, slots=True)
class MemoryOp:
    """A memory effect: for each lane (for a scalar load: once) `bytes` at each of `addresses`.

    `addresses` has one entry, or two for ds_read2/write2: byte addresses (LDS and buffer offsets 32 bits, others 64).
    For buffers the address is the byte offset before bounds and swizzle, `resource` names the descriptor operand,
    `index` is the vindex expression (None without idxen) and the engine applies the buffer rules.
    `data` names the operands stored or combined, `dest` the operand loaded (consecutive registers for two addresses).
    `atomic` names the operation (add_u32, add_f32, cmpswap_b32, ...).
    """

    addresses: tuple[Expr, ...]
    bytes: int
    data: tuple[str, ...] = ()
    dest: str | None = None
    extend: Extend = Extend.NONE
    resource: str | None = None
    index: Expr | None = None
    soffset: Expr | None = None
    atomic: str | None = None
    to_lds: Expr | None = None
    """For loads to LDS: LDS byte address of lane 0; lane n lands 4 * n further."""


@dataclass(frozen=True, slots=True)
class Program:
    """The meaning of one instruction form."""

    domain: Domain
    writes: tuple[Write, ...] = ()
    memory: MemoryOp | None = None
    intrinsic: str | None = None
    approximate: bool = False
    """True when the result's exact bits are not published (transcendentals); verdicts that rest on it say so."""
    ignored_mode: int = 0
    """Bits of MODE that its float operations take as 0, whatever they are."""
