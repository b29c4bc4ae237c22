"""Compiles the family tables: one line of text an instruction, one OpcodeDef a line.

Owns the notation and nothing else; what an instruction does stands in the family files. A line is a mnemonic, its printed
operands in printed order, then facts:

    s_addc_u32    sdst=32 ssrc0:32 ssrc1:32      <scc >scc
    ds_read_b128  vdst=128 addr:32               load 16

| word                    | meaning                                                                                    |
|-------------------------|--------------------------------------------------------------------------------------------|
| `name=32`               | operand written, 32 bits; `name:32` read, `name+32` read and written; 0 bits: no register   |
| `<scc,m0` `>vcc`        | implicit reads and writes, by register name                                                |
| `vmcnt` `lgkmcnt` ...   | a counter it increments                                                                    |
| `load 16`               | memory access and bytes: `load`, `store`, `atomic`, `return` (atomic with return), `dma`, `fence` |
| `space buffer`          | the memory it touches                                                                      |
| `trans` `nop` ...       | an issue class other than the table's                                                      |
| `dot` `fixed` ...       | a flag                                                                                     |
| `passes 8`              | four-cycle passes of a matrix instruction                                                  |
| `jump` `conditional`    | a branch that always, or sometimes, is taken                                               |
| `@gfx942,gfx950`        | only on these targets                                                                      |

Widths are those of the registers as printed (a 16-bit value takes a 32-bit register). `#` starts a comment.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from asmevo.ir.isa.model import Access, Counter, Family, Flag, IssueClass, OpcodeDef, OperandSpec, Role, Space
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
    issue = table.issue
    access: Access | None = None
    space: Space | None = None
    targets = ALL_TARGETS
    branch = conditional = terminator = False
    rest = iter(words)
    for word in rest:
        if word[0] == "<":
            reads |= _units(word[1:])
        elif word[0] == ">":
            writes |= _units(word[1:])
        elif word[0] == "@":
            targets = frozenset(word[1:].split(","))
        elif operand := _operand(word):
            operands.append(operand)
        elif word in _ACCESSES:
            access = _ACCESSES[word]
            size = 0 if access is Access.FENCE else int(next(rest))
        elif word == "space":
            space = Space(next(rest))
        elif word == "passes":
            passes = int(next(rest))
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
        flags=frozenset(flags),
        is_branch=branch,
        is_conditional=conditional,
        is_terminator=terminator,
        targets=targets,
    )


def _operand(word: str) -> OperandSpec | None:
    for sign, role in _ROLES.items():
        name, found, bits = word.partition(sign)
        if found:
            return OperandSpec(name, role, int(bits))
    return None


def _units(names: str) -> int:
    mask = 0
    for name in names.split(","):
        mask |= RegisterRange(*SPECIAL_NAMES[name]).mask
    return mask
