"""Wait-state facts: which pairs of instructions need how many issue slots between them.

Owns the table and how an opcode falls into its classes. It must not search code: `ir.analysis.hazards.needed` and the
independent check in `verify` do that, each with its own interpretation of `Part`.

Sources: G3 (MI300 CDNA3 ISA guide 4.5 and table 37), G2 and G4 (MI200 and CDNA4 guides; table 38 in G4), HR (LLVM
GCNHazardRecognizer.cpp), RR (rocRoller wait-state observers). Where they differ, `documented` is the vendor's figure and `llvm`
the compiler's.

Not in the table: a VGPR write before a memory read with a DGEMM between them (a gfx90a chip bug), VCC written by one name and
read by its SGPR alias (the assembler prints one name only), a state between two conversions to FP8 parts of one VGPR (G3 7.2
asks for it, HR does not, and production objects have none), and soft clauses under XNACK.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from asmevo.ir.isa.model import Access, Family, Flag, IssueClass, OpcodeDef, Space

ModifierValue = int | str | tuple[int, ...] | bool


class Op(enum.Enum):
    """A class of instructions, decided by opcode, mnemonic suffix and modifiers alone (see `operations`)."""

    # Members are single objects: the plain hash is right, and much faster than the hash of a name.
    __hash__ = object.__hash__

    SETREG = "s_setreg"
    GETREG = "s_getreg"
    SETVSKIP = "s_setvskip"
    RFE = "s_rfe"
    MOVREL = "s_movrel"
    SALU = "SALU"
    MESSAGE = "s_sendmsg or GWS"
    M0_LDS = "LDS add-TID or load to LDS"
    VALU = "VALU, matrix instructions not included"
    VALU_NOT_DOT = "VALU other than v_dot"
    VALU_NOT_TRANS = "VALU other than transcendental"
    TRANS = "transcendental VALU"
    CMPX = "v_cmpx"
    DOT = "v_dot"
    PARTIAL = "VALU that writes a part of a VGPR by op_sel or SDWA"
    DPP = "DPP"
    DIV_FMAS = "v_div_fmas"
    FMA_F64 = "v_fma_f64 or v_fmac_f64"
    LANE = "v_readlane, v_readfirstlane, v_writelane"
    LANE_READ = "v_readlane, v_readfirstlane"
    PERMLANE = "v_permlane"
    VECTOR = "any vector instruction"
    VMEM = "buffer, flat, global, scratch"
    MEMORY = "VMEM or LDS"
    WIDE_STORE = "flat, global or scratch store or cmpswap_x2 of more than 64 bits"
    WIDE_BUFFER_STORE = "buffer store or cmpswap_x2 of more than 64 bits"
    MATRIX = "any MFMA or SMFMAC"
    XDL = "MFMA or SMFMAC other than F32 and F64"
    SGEMM = "F32 MFMA"
    DGEMM = "F64 MFMA"
    DGEMM_4 = "F64 MFMA 4x4x4"
    DGEMM_16 = "F64 MFMA 16x16x4"
    NOT_DGEMM = "MFMA other than F64"
    NOT_XDL = "F32 or F64 MFMA"


class Part(enum.Enum):
    """Which registers of an instruction a rule speaks of."""

    # Members are single objects: the plain hash is right, and much faster than the hash of a name.
    __hash__ = object.__hash__

    ALL = "the instruction as a whole; overlaps everything"
    WRITES = "VGPRs and AGPRs written"
    READS = "VGPRs and AGPRs read"
    SCALAR_WRITES = "SGPRs and VCC written"
    SCALAR_READS = "SGPRs and VCC read"
    EXEC_WRITES = "EXEC, when written"
    M0_WRITES = "M0, when written"
    EXEC_CONSTANT = "EXEC read as a source operand"
    CONSTANTS = "SGPRs read as a source operand, carry and mask operands and VCC not included"
    VCC_CONSTANT = "VCC read as a source operand, carry and mask operands not included"
    MASK = "SGPRs and VCC read as carry-in or lane mask"
    ZERO_FLAGS = "VCCZ or EXECZ read as a source operand (as the VCC or EXEC units behind them)"
    VCC_OR_EXEC_WRITES = "VCC and EXEC written"
    LANE_SELECT = "the SGPR lane select of v_readlane and v_writelane"
    DATA = "VGPRs with the data of a store or atomic"
    DATA_WITHOUT_SOFFSET = "the same, empty when soffset is an SGPR"
    SRC_C = "the accumulator source: third source of MFMA and v_dot, destination of SMFMAC"
    SRC_AB = "first and second source, and the index of SMFMAC"
    HWREG = "the hardware register named by s_setreg or s_getreg"
    TRAPSTS = "HW_REG_TRAPSTS, when named"
    VSKIP = "MODE.vskip, when written"


class Relation(enum.Enum):
    """How the two parts must meet for the rule to apply."""

    OVERLAP = "a register in common"
    IDENTICAL = "exactly the same registers, and the same number of passes"
    OVERLAP_ONLY = "a register in common, but not IDENTICAL"
    SAME_OPCODE = "a register in common and the same opcode"
    OTHER_OPCODE = "a register in common and different opcodes"


@dataclass(frozen=True, slots=True)
class States:
    """A number of wait states: `fixed` plus `per_pass` times the producer's passes; `exact` (passes, states) come first."""

    fixed: int = 0
    per_pass: int = 0
    exact: tuple[tuple[int, int], ...] = ()

    def at(self, passes: int) -> int:
        """The states needed after a producer of `passes` passes (0 for one that is no matrix instruction)."""
        for known, states in self.exact:
            if known == passes:
                return states
        return self.fixed + self.per_pass * passes


@dataclass(frozen=True, slots=True)
class Rule:
    """One row: `consumer` may issue only when the states have passed since `producer`, if their parts stand in `relation`."""

    name: str
    targets: frozenset[str]
    producer: Op
    produced: Part
    consumer: Op
    consumed: Part
    documented: States
    llvm: States
    source: str
    relation: Relation = Relation.OVERLAP


LOOK_BACK = 20
"""No rule needs more states on any target, so no search needs to look further back (HR)."""

_90A, _942, _950 = "gfx90a", "gfx942", "gfx950"
_ALL = frozenset({_90A, _942, _950})
_LATE = frozenset({_942, _950})


def _n(fixed: int = 0, per_pass: int = 0, **exact: int) -> States:
    return States(fixed, per_pass, tuple((int(k[1:]), v) for k, v in exact.items()))


def _rule(
    name: str,
    targets: frozenset[str],
    producer: tuple[Op, Part],
    consumer: tuple[Op, Part],
    states: int | States,
    source: str,
    *,
    llvm: int | States | None = None,
    relation: Relation = Relation.OVERLAP,
) -> Rule:
    documented = States(states) if isinstance(states, int) else states
    compiler = documented if llvm is None else States(llvm) if isinstance(llvm, int) else llvm
    return Rule(name, targets, *producer, *consumer, documented, compiler, source, relation)


def _scalar_rules() -> tuple[Rule, ...]:
    return (
        _rule("setreg-getreg", _ALL, (Op.SETREG, Part.HWREG), (Op.GETREG, Part.HWREG), 2, "G3 4.5, HR"),
        _rule("setreg-setreg", _ALL, (Op.SETREG, Part.HWREG), (Op.SETREG, Part.HWREG), 2, "G3 4.5, HR"),
        _rule("setvskip-getreg", _ALL, (Op.SETVSKIP, Part.ALL), (Op.GETREG, Part.ALL), 2, "G3 4.5", llvm=0),
        _rule("vskip-vector", _ALL, (Op.SETREG, Part.VSKIP), (Op.VECTOR, Part.ALL), 2, "G3 4.5", llvm=0),
        _rule("trapsts-rfe", _ALL, (Op.SETREG, Part.TRAPSTS), (Op.RFE, Part.ALL), 1, "G3 4.5, HR"),
        _rule("m0-message", _ALL, (Op.SALU, Part.M0_WRITES), (Op.MESSAGE, Part.ALL), 1, "G3 4.5, HR"),
        _rule("m0-movrel", _ALL, (Op.SALU, Part.M0_WRITES), (Op.MOVREL, Part.ALL), 1, "G3 4.5, HR"),
        _rule("m0-lds", frozenset({_90A}), (Op.SALU, Part.M0_WRITES), (Op.M0_LDS, Part.ALL), 1, "Vega guide, HR"),
        _rule(
            "m0-lds", _LATE, (Op.SALU, Part.M0_WRITES), (Op.M0_LDS, Part.ALL), 0,
            "HR needs 1; G3 has no such row and production objects use 0", llvm=1,
        ),
    )  # fmt: skip


def _vector_rules() -> tuple[Rule, ...]:
    scalar = (Op.VALU, Part.SCALAR_WRITES)
    written = (Op.VALU, Part.WRITES)
    exec_written = (Op.CMPX, Part.EXEC_WRITES)
    return (
        _rule("valu-zero-flag", _ALL, (Op.VALU, Part.VCC_OR_EXEC_WRITES), (Op.VALU, Part.ZERO_FLAGS), 5, "G3 4.5"),
        _rule("valu-lane-select", _ALL, scalar, (Op.LANE, Part.LANE_SELECT), 4, "G3 4.5, HR, RR"),
        _rule("valu-div-fmas", _ALL, scalar, (Op.DIV_FMAS, Part.MASK), 4, "G3 4.5, HR, RR"),
        _rule("valu-sgpr-vmem", _ALL, scalar, (Op.VMEM, Part.SCALAR_READS), 5, "G3 4.5, HR, RR"),
        _rule("wide-store-memory", _ALL, (Op.WIDE_STORE, Part.DATA), (Op.MEMORY, Part.WRITES), 1, "G3 4.5, RR", llvm=0),
        _rule(
            "wide-buffer-store-memory", _ALL, (Op.WIDE_BUFFER_STORE, Part.DATA_WITHOUT_SOFFSET), (Op.MEMORY, Part.WRITES),
            1, "G3 4.5, RR", llvm=0,
        ),
        _rule("wide-store-valu", frozenset({_90A}), (Op.WIDE_STORE, Part.DATA), written, 1, "G2 4.5, HR, RR"),
        _rule("wide-store-valu", _LATE, (Op.WIDE_STORE, Part.DATA), written, 2, "G3 4.5, HR, RR"),
        _rule(
            "wide-buffer-store-valu", frozenset({_90A}), (Op.WIDE_BUFFER_STORE, Part.DATA_WITHOUT_SOFFSET), written,
            1, "G2 4.5, HR, RR",
        ),
        _rule(
            "wide-buffer-store-valu", _LATE, (Op.WIDE_BUFFER_STORE, Part.DATA_WITHOUT_SOFFSET), written,
            2, "G3 4.5, HR, RR",
        ),
        _rule(
            "wide-buffer-store-offset-valu", _LATE, (Op.WIDE_BUFFER_STORE, Part.DATA), written, 0,
            "HR needs 1 (PR 197267: the second dword is lost on gfx950); G3 speaks of stores without an SGPR offset", llvm=1,
        ),
        _rule("valu-dpp", _ALL, written, (Op.DPP, Part.READS), 2, "G3 4.5 (the first source), HR (any source)"),
        _rule("exec-dpp", _ALL, (Op.VALU, Part.EXEC_WRITES), (Op.DPP, Part.ALL), 5, "G3 4.5, HR"),
        _rule("valu-sgpr-constant", _LATE, scalar, (Op.VALU, Part.CONSTANTS), 2, "G3 4.5, HR, RR"),
        _rule("valu-vcc-constant", _LATE, scalar, (Op.VALU, Part.VCC_CONSTANT), 1, "RR says 1, HR 2", llvm=2),
        _rule("valu-mask", _LATE, scalar, (Op.VALU, Part.MASK), 0, "G3 4.5 and RR say 0, HR 2", llvm=2),
        _rule("cmpx-exec-constant", _LATE, exec_written, (Op.VALU, Part.EXEC_CONSTANT), 2, "G3 4.5, RR"),
        _rule("cmpx-lane", _LATE, exec_written, (Op.LANE, Part.ALL), 4, "HR, RR"),
        _rule("valu-lane-read", _LATE, written, (Op.LANE_READ, Part.READS), 1, "G3 4.5, HR, RR"),
        _rule("partial-valu", _LATE, (Op.PARTIAL, Part.WRITES), (Op.VALU, Part.READS), 1, "G3 4.5, HR, RR"),
        _rule("trans-valu", _LATE, (Op.TRANS, Part.WRITES), (Op.VALU_NOT_TRANS, Part.READS), 1, "G3 4.5, HR, RR"),
        _rule("cmpx-permlane", frozenset({_950}), exec_written, (Op.PERMLANE, Part.ALL), 4, "G4 4.5, RR"),
        _rule("valu-permlane", frozenset({_950}), written, (Op.PERMLANE, Part.READS), 2, "G4 4.5, RR"),
        _rule("valu-matrix", _ALL, (Op.VALU_NOT_DOT, Part.WRITES), (Op.MATRIX, Part.READS), 2, "G3 t.37, HR, RR"),
        _rule("cmpx-matrix", _ALL, exec_written, (Op.MATRIX, Part.ALL), 4, "G3 t.37, HR, RR"),
        _rule(
            "dot-same-ab", _ALL, (Op.DOT, Part.WRITES), (Op.DOT, Part.SRC_AB), 3, "G3 t.37, HR, RR",
            relation=Relation.SAME_OPCODE,
        ),
        *(
            _rule(f"dot-other-{consumer.name.lower()}-{part.name.lower()}", _ALL, (Op.DOT, Part.WRITES), (consumer, part),
                  3, "G3 t.37, HR, RR", relation=Relation.OTHER_OPCODE)
            for consumer in (Op.VALU, Op.MATRIX)
            for part in (Part.READS, Part.WRITES)
        ),
    )  # fmt: skip


def _result_rules(producer: Op, targets: frozenset[str], need: States, memory_read: States, source: str) -> tuple[Rule, ...]:
    """Rows for a matrix result used other than as an accumulator: A, B, index, VALU and memory reads, and overwriting."""
    name = producer.name.lower()
    result = (producer, Part.WRITES)
    return (
        _rule(f"{name}-ab", targets, result, (Op.MATRIX, Part.SRC_AB), need, source),
        _rule(f"{name}-valu-read", targets, result, (Op.VALU, Part.READS), need, source),
        _rule(f"{name}-valu-write", targets, result, (Op.VALU, Part.WRITES), need, source),
        _rule(f"{name}-memory-read", targets, result, (Op.MEMORY, Part.READS), memory_read, source),
        _rule(f"{name}-memory-write", targets, result, (Op.MEMORY, Part.WRITES), need, source, llvm=0),
    )


def _accumulator(
    producer: Op, consumer: Op, targets: frozenset[str], states: int | States, source: str, *,
    relation: Relation = Relation.OVERLAP, llvm: int | States | None = None,
) -> Rule:  # fmt: skip
    name = f"{producer.name}-{consumer.name}-c".lower() + ("-same" if relation is Relation.IDENTICAL else "")
    return _rule(name, targets, (producer, Part.WRITES), (consumer, Part.SRC_C), states, source, llvm=llvm, relation=relation)


def _matrix_rules() -> tuple[Rule, ...]:
    same, partly = Relation.IDENTICAL, Relation.OVERLAP_ONLY
    xdl, sgemm, old, dgemm4, dgemm16 = Op.XDL, Op.SGEMM, Op.NOT_DGEMM, Op.DGEMM_4, Op.DGEMM_16
    a, b, c = frozenset({_90A}), frozenset({_942}), frozenset({_950})
    plus3_950 = _n(p2=5, p4=8, p8=12, p16=20)
    read_c = (Op.VALU, Part.WRITES)
    return (
        _accumulator(xdl, xdl, _LATE, _n(p2=2), "G3 t.37, HR, RR", relation=same),
        _accumulator(xdl, xdl, b, _n(1, 1), "G3 t.37, HR", relation=partly),
        _accumulator(xdl, Op.NOT_XDL, b, _n(1, 1), "G3 t.37, HR"),
        _accumulator(xdl, xdl, c, _n(p2=4, p4=6, p8=10, p16=18), "G4 t.38, HR", relation=partly),
        _accumulator(xdl, Op.NOT_XDL, c, _n(p2=3, p4=6, p8=10, p16=18), "G4 t.38, HR"),
        *_result_rules(xdl, b, _n(3, 1), _n(3, 1), "G3 t.37, HR, RR"),
        *_result_rules(xdl, c, plus3_950, plus3_950, "G4 t.38, HR (PRs 126132, 126727, 126732)"),
        _rule("xdl-war-c", _LATE, (xdl, Part.SRC_C), read_c, _n(-1, 1), "G3 t.37, HR, RR"),
        _accumulator(sgemm, sgemm, b, 0, "G3 says 0, HR 2 for two passes", relation=same, llvm=_n(p2=2)),
        _accumulator(sgemm, sgemm, c, _n(p2=2), "G4 t.38, HR", relation=same),
        _accumulator(sgemm, sgemm, _LATE, _n(0, 1), "G3 t.37, HR", relation=partly),
        _accumulator(sgemm, Op.DGEMM, _LATE, _n(0, 1), "G3 t.37, HR"),
        _accumulator(sgemm, xdl, b, _n(0, 1), "G3 says N, G4 and HR 0", llvm=0),
        *_result_rules(sgemm, _LATE, _n(2, 1), _n(2, 1), "G3 t.37, HR"),
        _accumulator(old, old, a, _n(p2=2), "G2 t.37, HR", relation=same, llvm=_n(p2=2)),
        _accumulator(old, old, a, _n(p2=2, p8=8, p16=16), "G2 t.37, HR", relation=partly),
        _accumulator(old, Op.DGEMM, a, _n(p2=3, p8=9, p16=17), "G2 t.37, HR"),
        *_result_rules(old, a, _n(p2=5, p8=11, p16=19), _n(p2=5, p8=11, p16=19), "G2 t.37, HR"),
        _rule("matrix-war-c", a, (old, Part.SRC_C), read_c, _n(p2=1, p8=11, p16=19), "RR; HR says 1, 7, 15",
              llvm=_n(-1, 1)),
        _accumulator(dgemm16, Op.DGEMM, a | b, 9, "G3 t.37, HR, RR", relation=Relation.OVERLAP_ONLY),
        _accumulator(dgemm16, sgemm, a | b, 9, "G3 t.37, HR, RR"),
        *_result_rules(dgemm16, a | b, _n(11), _n(18), "G3 t.37, HR, RR"),
        _accumulator(dgemm16, Op.DGEMM, c, 17, "G4 t.38, HR (PR 117283)", relation=Relation.OVERLAP_ONLY),
        _accumulator(dgemm16, sgemm, c, 17, "G4 t.38, HR (PR 117283)"),
        *_result_rules(dgemm16, c, _n(19), _n(18), "G4 t.38, HR (PRs 117262, 117284)"),
        _accumulator(dgemm4, Op.NOT_XDL, _ALL, 4, "G3 t.37, HR, RR"),
        *_result_rules(dgemm4, _ALL, _n(6), _n(9), "G3 t.37, HR, RR"),
        _rule("dgemm-fma-f64", _ALL, (Op.DGEMM, Part.ALL), (Op.FMA_F64, Part.ALL), 2, "HR", llvm=2),
    )  # fmt: skip


@lru_cache(maxsize=1)
def rules() -> tuple[Rule, ...]:
    """All rows, every target."""
    return _scalar_rules() + _vector_rules() + _matrix_rules()


@lru_cache(maxsize=8)
def rules_for(target: str) -> tuple[Rule, ...]:
    """The rows of one target (`gfx942`; features such as `:xnack-` are ignored), each with a name of its own."""
    return tuple(rule for rule in rules() if target.split(":")[0] in rule.targets)


_EIGHT_BITS = (0, 1)
"""The values of cbsz and blgp that name a format of eight bits."""


def passes_of(definition: OpcodeDef, modifiers: Mapping[str, ModifierValue], target: str = "") -> int:
    """Passes of a matrix instruction on a target (without features), else 0.

    An f8f6f4 one takes half as many when neither A nor B is of eight bits. Source: G4 7, LLVM scheduling model.
    """
    passes = definition.passes_on(target) if definition.issue is IssueClass.MATRIX else 0
    if definition.mnemonic.endswith("_f8f6f4"):
        formats = (modifiers.get("cbsz", 0), modifiers.get("blgp", 0))
        return passes if any(number in _EIGHT_BITS for number in formats) else passes // 2
    return passes


_VECTOR_MEMORY = frozenset({Space.GLOBAL, Space.BUFFER, Space.FLAT, Space.SCRATCH})


def operations(definition: OpcodeDef, mnemonic: str, modifiers: Mapping[str, ModifierValue]) -> frozenset[Op]:
    """The classes of an instruction: by its definition, its mnemonic as printed and its modifiers by name."""
    if not modifiers:
        return _operations(definition, dpp=mnemonic.endswith("_dpp"), partial=False, lds=False)
    return _operations(
        definition,
        dpp=mnemonic.endswith("_dpp") or any(name in DPP_MODIFIERS for name in modifiers),
        partial=modifiers.get("dst_sel", "DWORD") != "DWORD" or _selects_high_destination(definition, modifiers.get("op_sel")),
        lds="lds" in modifiers,
    )


@lru_cache(maxsize=8192)
def _operations(definition: OpcodeDef, *, dpp: bool, partial: bool, lds: bool) -> frozenset[Op]:
    found: set[Op] = set()
    if definition.family in (Family.SOP1, Family.SOP2, Family.SOPK, Family.SOPC) or definition.issue is IssueClass.SALU:
        found.add(Op.SALU)
    _by_name(definition.mnemonic, found)
    if definition.issue in (IssueClass.VALU, IssueClass.TRANS):
        _valu(definition, found)
        found |= {Op.DPP} if dpp else set()
        found |= {Op.PARTIAL} if partial else set()
    if definition.issue is IssueClass.MATRIX:
        _matrix(definition, found)
    memory = definition.space in _VECTOR_MEMORY
    if memory:
        found |= {Op.VMEM, Op.MEMORY, Op.VECTOR}
        _wide(definition, found)
    if definition.space is Space.LDS:
        found |= {Op.MEMORY, Op.VECTOR}
    if Flag.M0_LDS in definition.flags or (memory and (definition.access is Access.LDS_DMA or lds)):
        found.add(Op.M0_LDS)
    return frozenset(found)


_NAMED = (
    ("s_setreg", Op.SETREG),
    ("s_getreg", Op.GETREG),
    ("s_setvskip", Op.SETVSKIP),
    ("s_rfe", Op.RFE),
    ("s_movrel", Op.MOVREL),
    ("s_sendmsg", Op.MESSAGE),
    ("ds_gws", Op.MESSAGE),
    ("v_div_fmas", Op.DIV_FMAS),
    ("v_fma_f64", Op.FMA_F64),
    ("v_fmac_f64", Op.FMA_F64),
    ("v_permlane", Op.PERMLANE),
)


def _by_name(base: str, found: set[Op]) -> None:
    found |= {op for prefix, op in _NAMED if base.startswith(prefix)}
    if base in ("v_readlane_b32", "v_readfirstlane_b32"):
        found |= {Op.LANE, Op.LANE_READ}
    elif base == "v_writelane_b32":
        found.add(Op.LANE)


def _valu(definition: OpcodeDef, found: set[Op]) -> None:
    found |= {Op.VALU, Op.VECTOR}
    found.add(Op.DOT if Flag.DOT in definition.flags else Op.VALU_NOT_DOT)
    found.add(Op.TRANS if definition.issue is IssueClass.TRANS else Op.VALU_NOT_TRANS)
    if Flag.CMPX in definition.flags:
        found.add(Op.CMPX)


def _selects_high_destination(definition: OpcodeDef, op_sel: ModifierValue | None) -> bool:
    # In VOP3 the last element of op_sel speaks of the destination; in VOP3P all of them speak of sources.
    return definition.family is not Family.VOP3P and isinstance(op_sel, tuple) and len(op_sel) > 1 and op_sel[-1] == 1


def _matrix(definition: OpcodeDef, found: set[Op]) -> None:
    found |= {Op.MATRIX, Op.VECTOR}
    if Flag.DGEMM in definition.flags:
        found |= {Op.DGEMM, Op.NOT_XDL, Op.DGEMM_16 if "_16x16x" in definition.mnemonic else Op.DGEMM_4}
        return
    found.add(Op.NOT_DGEMM)
    found |= {Op.SGEMM, Op.NOT_XDL} if Flag.SGEMM in definition.flags else {Op.XDL}


def _wide(definition: OpcodeDef, found: set[Op]) -> None:
    stores = definition.access is Access.STORE and definition.memory_bytes > 8
    swaps = definition.mnemonic.endswith("cmpswap_x2")
    if stores or swaps:
        found.add(Op.WIDE_BUFFER_STORE if definition.space is Space.BUFFER else Op.WIDE_STORE)


DPP_MODIFIERS = frozenset(
    {
        "quad_perm", "row_shl", "row_shr", "row_ror", "row_mirror", "row_half_mirror", "row_bcast", "row_newbcast",
        "wave_shl", "wave_shr", "wave_rol", "wave_ror",
    }
)  # fmt: skip
"""Modifier names that only DPP forms have."""
