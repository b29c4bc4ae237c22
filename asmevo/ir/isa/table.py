"""Compiles the family tables: one line of text an instruction, one OpcodeDef a line.

Owns the notation and nothing else; what an instruction does stands in the family files. A line is a mnemonic, its printed
operands in printed order, then facts:

    s_addc_u32    sdst=32 ssrc0:32 ssrc1:32      <scc >scc
    ds_read_b128  vdst=128 addr:32               load 16

| word                    | meaning                                                                                    |
|-------------------------|--------------------------------------------------------------------------------------------|
| `name=32`               | operand written, 32 bits; `name:32` read, `name+32` read and written; 0 bits: no register   |
| `name:32/vgpr`          | the same, with an operand class other than the usual one of that name (see `operands`)      |
| `<scc,m0` `>vcc`        | implicit reads and writes, by register name                                                |
| `vmcnt` `lgkmcnt` ...   | a counter it increments                                                                    |
| `load 16`               | memory access and bytes: `load`, `store`, `atomic`, `return` (atomic with return), `dma`, `fence` |
| `space buffer`          | the memory it touches                                                                      |
| `trans` `nop` ...       | an issue class other than the table's                                                      |
| `dot` `fixed` ...       | a flag                                                                                     |
| `passes 8,gfx950=16`    | four-cycle passes of a matrix instruction, and on which targets there are more or fewer      |
| `jump` `conditional`    | a branch that always, or sometimes, is taken                                               |
| `@gfx942,gfx950`        | only on these targets                                                                      |
| `alias v_mul_lo_u32`    | another spelling of that instruction, where a target has it                                |
| `[e32,e64]`             | its encodings, where they are not those of its family                                      |

Widths are those of the registers as printed (a 16-bit value takes a 32-bit register). `#` starts a comment.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from asmevo.ir.isa.model import (
    Access,
    Counter,
    Encoding,
    Family,
    Flag,
    IssueClass,
    OpcodeDef,
    OperandSpec,
    Role,
    Space,
)
from asmevo.ir.registers import SPECIAL_NAMES, RegisterRange

ALL_TARGETS = frozenset({"gfx90a", "gfx942", "gfx950"})
_ROLES = {"=": Role.WRITE, ":": Role.READ, "+": Role.READ_WRITE}
_ACCESSES = {
    "load": Access.LOAD,
    "store": Access.STORE,
    "atomic": Access.ATOMIC,
    "return": Access.ATOMIC_RETURN,
    "dma": Access.LDS_DMA,
    "fence": Access.FENCE,
}
_ISSUES = {issue.value: issue for issue in IssueClass}
_FLAGS = {flag.value: flag for flag in Flag}
_COUNTERS = {counter.value: counter for counter in Counter}
_SHORT = frozenset({Encoding.E32, Encoding.E64, Encoding.SDWA})
_ENCODINGS = {Family.VOP1: _SHORT | {Encoding.DPP}, Family.VOP2: _SHORT | {Encoding.DPP}, Family.VOPC: _SHORT}
_FORMS = {encoding.name.lower(): encoding for encoding in Encoding}
_WIDE_BITS = 64


@dataclass(frozen=True, slots=True)
class Table:
    """Instructions of one family that share an issue class.

    `common` are facts that hold for every line, which a line's own words add to or override.
    """

    family: Family
    issue: IssueClass
    common: str
    text: str

    def lines(self) -> Iterator[str]:
        """Yield the lines that hold an instruction, without comments, indentation and `common`."""
        for line in self.text.splitlines():
            stripped = line.split("#", 1)[0].strip()
            if stripped:
                yield stripped


def compile_table(table: Table) -> Iterator[OpcodeDef]:
    """Yield one definition a line, in order; ValueError names the line that cannot be read."""
    for line in table.lines():
        try:
            mnemonic, *words = line.split()
            yield _compile_line(table, mnemonic, [*table.common.split(), *words])
        except (KeyError, ValueError, StopIteration) as error:
            raise ValueError(f"{table.family.value} table, line {line!r}: {error!r}") from error


def _compile_line(table: Table, mnemonic: str, words: list[str]) -> OpcodeDef:
    operands: list[OperandSpec] = []
    counters: list[Counter] = []
    flags: set[Flag] = set()
    reads = writes = passes = size = 0
    passes_by_target: tuple[tuple[str, int], ...] = ()
    alias = ""
    issue = table.issue
    access: Access | None = None
    space: Space | None = None
    targets = ALL_TARGETS
    encodings: frozenset[Encoding] | None = None
    branch = conditional = terminator = False
    rest = iter(words)
    for word in rest:
        if word[0] == "<":
            reads |= _units(word[1:])
        elif word[0] == ">":
            writes |= _units(word[1:])
        elif word[0] == "@":
            targets = frozenset(_target(name) for name in word[1:].split(","))
        elif word[0] == "[":
            encodings = frozenset(_FORMS[name] for name in word.strip("[]").split(","))
        elif operand := _operand(word):
            operands.append(operand)
        elif word in _ACCESSES:
            access = _ACCESSES[word]
            size = 0 if access is Access.FENCE else int(next(rest))
        elif word == "space":
            space = Space(next(rest))
        elif word == "alias":
            alias = next(rest)
        elif word == "passes":
            passes, passes_by_target = _passes(next(rest))
        elif word in ("jump", "conditional"):
            branch = terminator = True
            conditional = word == "conditional"
            issue = IssueClass.BRANCH
        elif word in _COUNTERS:
            counters.append(_COUNTERS[word])
        elif word in _FLAGS:
            flags.add(_FLAGS[word])
        else:
            issue = _ISSUES[word]
            terminator = terminator or issue is IssueClass.END
    return OpcodeDef(
        mnemonic=mnemonic,
        family=table.family,
        operands=tuple(operands),
        issue=issue,
        implicit_reads=reads,
        implicit_writes=writes,
        counters=tuple(counters),
        space=space,
        access=access,
        memory_bytes=size,
        passes=passes,
        passes_by_target=passes_by_target,
        flags=frozenset(flags),
        is_branch=branch,
        is_conditional=conditional,
        is_terminator=terminator,
        targets=targets,
        alias=alias,
        encodings=_usual_encodings(table.family, operands) if encodings is None else encodings,
    )


def _usual_encodings(family: Family, operands: list[OperandSpec]) -> frozenset[Encoding]:
    usual = _ENCODINGS.get(family)
    if usual is None:
        return frozenset({Encoding.ONLY})
    # SDWA selects parts of one register; a lane mask is no vector operand.
    wide = any(o.bits == _WIDE_BITS and not (o.name == "sdst" or o.takes == "mask") for o in operands)
    return usual - {Encoding.SDWA} if wide else usual


def _operand(word: str) -> OperandSpec | None:
    for sign, role in _ROLES.items():
        name, found, rest = word.partition(sign)
        if found:
            bits, _, takes = rest.partition("/")
            return OperandSpec(name, role, int(bits), takes)
    return None


def _passes(text: str) -> tuple[int, tuple[tuple[str, int], ...]]:
    usual, *others = text.split(",")
    pairs = (other.partition("=") for other in others)
    return int(usual), tuple((_target(target), int(passes)) for target, _, passes in pairs)


def _target(name: str) -> str:
    if name not in ALL_TARGETS:
        raise ValueError(f"no target is called {name!r}")
    return name


def _units(names: str) -> int:
    mask = 0
    for name in names.split(","):
        mask |= RegisterRange(*SPECIAL_NAMES[name]).mask
    return mask
