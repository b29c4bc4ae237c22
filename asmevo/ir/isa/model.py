"""The shape of one opcode's facts. The facts themselves stand in the family files beside this one.

One definition an opcode: the parser, printer, liveness, waits, hazards, timing, proof and emulator all read it from here.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Role(enum.Enum):
    """What an instruction does with an operand."""

    READ = "read"
    WRITE = "write"
    READ_WRITE = "read-write"


class Family(enum.Enum):
    """The encoding family, as the manual groups opcodes."""

    # Members are single objects: the plain hash is right, and much faster than the hash of a name.
    __hash__ = object.__hash__

    SOP1 = "sop1"
    SOP2 = "sop2"
    SOPK = "sopk"
    SOPC = "sopc"
    SOPP = "sopp"
    SMEM = "smem"
    VOP1 = "vop1"
    VOP2 = "vop2"
    VOP3 = "vop3"
    VOP3P = "vop3p"
    VOPC = "vopc"
    MATRIX = "matrix"
    DS = "ds"
    MUBUF = "mubuf"
    MTBUF = "mtbuf"
    FLAT = "flat"
    GLOBAL = "global"
    SCRATCH = "scratch"


class Encoding(enum.Enum):
    """How an opcode is encoded; the value is the suffix printed behind its mnemonic."""

    # Members are single objects: the plain hash is right, and much faster than the hash of a name.
    __hash__ = object.__hash__

    ONLY = ""
    """The only encoding of its family; also a VOP3 instruction that has no shorter one."""
    E32 = "_e32"
    E64 = "_e64"
    SDWA = "_sdwa"
    DPP = "_dpp"


class IssueClass(enum.Enum):
    """Which unit an instruction issues to; the cycle model and the hazard tables speak of these."""

    __hash__ = object.__hash__

    SALU = "salu"
    VALU = "valu"
    TRANS = "trans"
    MATRIX = "matrix"
    LDS = "lds"
    VMEM = "vmem"
    SMEM = "smem"
    FLAT = "flat"
    BRANCH = "branch"
    WAIT = "wait"
    NOP = "nop"
    BARRIER = "barrier"
    END = "end"
    MESSAGE = "message"
    OTHER = "other"


class Counter(enum.Enum):
    """A wait counter that an instruction increments."""

    # Members are single objects: the plain hash is right, and much faster than the hash of a name.
    __hash__ = object.__hash__

    VMCNT = "vmcnt"
    LGKMCNT = "lgkmcnt"
    EXPCNT = "expcnt"


class Space(enum.Enum):
    """The memory an instruction touches."""

    LDS = "lds"
    GLOBAL = "global"
    BUFFER = "buffer"
    FLAT = "flat"
    SCRATCH = "scratch"
    SCALAR = "scalar"


class Access(enum.Enum):
    """How an instruction touches memory. LDS_DMA is a buffer or global load that writes LDS."""

    LOAD = "load"
    STORE = "store"
    ATOMIC = "atomic"
    ATOMIC_RETURN = "atomic-return"
    LDS_DMA = "lds-dma"
    FENCE = "fence"


class Flag(enum.Enum):
    """Facts that hazards, semantics and motion need and that the rest of the record does not say."""

    __hash__ = object.__hash__

    DOT = "dot"
    DGEMM = "dgemm"
    SGEMM = "sgemm"
    SMFMAC = "smfmac"
    CMPX = "cmpx"
    CROSS_LANE = "cross-lane"
    NO_EXEC = "no-exec"
    CARRY_IN = "carry-in"
    PARTIAL = "partial"
    PACKED_F32 = "packed-f32"
    FIXED = "fixed"
    """Never moved, and nothing moves across it."""
    M0_LDS = "m0-lds"


@dataclass(frozen=True, slots=True)
class OperandSpec:
    """One printed operand: its name in the manual, role and width in bits (0: not a register).

    `takes` names an operand class of `operands` where it is not the usual one of a family's operand of that name.
    """

    name: str
    role: Role
    bits: int
    takes: str = ""


@dataclass(frozen=True, slots=True)
class OpcodeDef:
    """Everything that is a fact about an opcode.

    `mnemonic` is the base name without encoding suffix, `encodings` are those it can be printed in. `implicit_reads` and
    `implicit_writes` are unit sets (see `ir.registers`); `memory_bytes` is per lane (per wave for scalar loads). `passes` are
    four-cycle passes of a matrix instruction on most targets, `passes_by_target` on those where it is another number: ask
    `passes_on`. `alias` is the mnemonic that disassemblers print for this spelling on the targets that have it: ask
    `catalog.canonical`.
    """

    mnemonic: str
    family: Family
    operands: tuple[OperandSpec, ...]
    issue: IssueClass
    implicit_reads: int = 0
    implicit_writes: int = 0
    counters: tuple[Counter, ...] = ()
    space: Space | None = None
    access: Access | None = None
    memory_bytes: int = 0
    passes: int = 0
    passes_by_target: tuple[tuple[str, int], ...] = ()
    flags: frozenset[Flag] = frozenset()
    is_branch: bool = False
    is_conditional: bool = False
    is_terminator: bool = False
    targets: frozenset[str] = frozenset({"gfx90a", "gfx942", "gfx950"})
    encodings: frozenset[Encoding] = frozenset({Encoding.ONLY})
    alias: str = ""

    def passes_on(self, target: str) -> int:
        """Four-cycle passes on `target`; 0 for what is no matrix instruction."""
        return dict(self.passes_by_target).get(target, self.passes)

    def __hash__(self) -> int:
        # Instructions are cache keys by the million: the mnemonic tells definitions apart well enough, equality does the rest.
        return hash(self.mnemonic)
