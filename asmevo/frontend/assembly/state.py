"""What a source says, statement by statement: symbols, labels, sections, code, descriptors and metadata as they are read.

Owns the meaning of each statement after macros are gone. Cutting the code into kernels is the business of `module`.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, field

from asmevo.frontend.assembly.code import ALIGNMENTS, Code
from asmevo.frontend.assembly.data import DATA
from asmevo.frontend.assembly.expander import Statement
from asmevo.frontend.assembly.lines import Line, unquoted
from asmevo.frontend.assembly.symbols import SymbolTable
from asmevo.frontend.llvm import TARGETS

_WORD = re.compile(r"[A-Za-z_.$][\w.$]*")
_ASSIGNMENT = re.compile(r'([A-Za-z_.$][\w.$@]*|"(?:[^"\\]|\\.)*")\s*==?(?!=)\s*')
_SETTERS = frozenset((".set", ".equ", ".equiv", ".eqv"))
_TARGET_ID = re.compile(r'"?amd(?:gcn|gpu[\d.]*)-amd-amdhsa-[^"\s]*?-(gfx[0-9a-f]+)((?::[a-z]+[+-])*)"?\s*\Z')
_FEATURE = re.compile(r":([a-z]+)([+-])")
_SECTIONS = frozenset(
    (".text", ".data", ".bss", ".rodata", ".section", ".pushsection", ".popsection", ".previous", ".subsection")
)
_BLOCKS = {".amdhsa_kernel": ".end_amdhsa_kernel", ".amdgpu_metadata": ".end_amdgpu_metadata"}
_UNREAD = frozenset(
    (
        *(".uleb128", ".sleb128", ".float", ".double", ".single", ".octa", ".incbin", ".org", ".reloc"),
        *(f".{kind}{size}" for kind in ("dc", "dcb", "ds") for size in ("", ".b", ".d", ".l", ".p", ".s", ".w", ".x", ".a")),
        *(".bundle_align_mode", ".bundle_lock", ".bundle_unlock"),
    )
)
"""What places bytes, or moves them, and is not read: refused in the code, of no interest outside it."""

_IGNORED = frozenset(
    (
        *(".type", ".size", ".ident", ".file", ".line", ".loc", ".weak", ".hidden", ".protected", ".internal", ".local"),
        *(".comm", ".lcomm", ".addrsig", ".addrsig_sym", ".version", ".symver", ".cg_profile", ".lto_discard", ".stabs"),
        *(".amdgpu_lds", ".amdhsa_code_object_version", ".pal_metadata", ".amdgpu_info", ".end_amdgpu_info"),
        *(".amdgpu_num_vgpr", ".amdgpu_num_agpr", ".amdgpu_num_sgpr", ".amdgpu_private_segment_size", ".amdgpu_uses_vcc"),
    )
)
"""What says nothing of the code."""


@dataclass(slots=True)
class DescriptorBlock:
    """One `.amdhsa_kernel` block: the kernel's name and each setting's line with the column of its value."""

    name: str
    opening: Line
    settings: list[tuple[str, Line, int]] = field(default_factory=list[tuple[str, Line, int]])


@dataclass(slots=True)
class SourceState:
    """The reader: give it every statement, then ask it."""

    symbols: SymbolTable
    code: Code
    features: str = ""
    globals: list[str] = field(default_factory=list[str])
    functions: list[str] = field(default_factory=list[str])
    descriptors: list[DescriptorBlock] = field(default_factory=list[DescriptorBlock])
    metadata: tuple[Line, list[Line]] | None = None
    sections: list[tuple[bool, bool]] = field(default_factory=list[tuple[bool, bool]])
    in_code: bool = True
    was_in_code: bool = True
    block: str | None = None
    opening: Line | None = None

    @property
    def target(self) -> str:
        """The chip that the source names so far."""
        return self.symbols.target

    def number(self, text: str, line: Line, start: int) -> int:
        """The value of the expression that is the rest of `text`. Raises E0130 when it has none."""
        return self.symbols.number(text, line, start)

    def is_defined(self, name: str) -> bool:
        """Whether a symbol or label of this name stands before here."""
        return self.symbols.is_defined(name)

    # ---- statements ----

    def take(self, statement: Statement) -> None:
        """Read one statement. Raises DiagnosticError E0121 to E0133 and E0145."""
        line = statement.line
        if statement.label is not None:
            self.symbols.add_label(statement.label, len(self.code.entries) if self.in_code else None, line, statement.start)
            return
        body = line.text[statement.start :]
        if match := _ASSIGNMENT.match(line.text, statement.start):
            self.symbols.assign(unquoted(match.group(1)), line, match.end(), may_change=True)
            return
        word = _WORD.match(body)
        head = word.group().lower() if word else ""
        if head.startswith("."):
            self._directive(head, line, statement.start + len(head))
        elif not self.in_code:
            line.fail("E0131", "an instruction stands outside the text section", "write .text before it", start=statement.start)
        else:
            self.code.add_instruction(body, line, statement.start)

    def take_raw(self, line: Line) -> bool:
        """Read a line inside a descriptor or metadata block; False when no block is open."""
        if self.block is None:
            return False
        word = line.text.strip()
        if word.lower() == _BLOCKS[self.block]:
            self.block = None
        elif self.block == ".amdgpu_metadata":
            assert self.metadata is not None
            self.metadata[1].append(line)
        else:
            self._setting(line)
        return True

    # ---- directives ----

    def _directive(self, head: str, line: Line, start: int) -> None:
        rest = line.text[start:].strip()
        if head in DATA or head in ALIGNMENTS or head in _UNREAD:
            if self.in_code:
                self._place(head, line, start)
        elif head in _SETTERS:
            name, comma, _ = rest.partition(",")
            if not comma or not name.strip():
                line.fail("E0145", f"{head} needs a name and a value")
            self.symbols.assign(unquoted(name), line, line.text.index(",", start) + 1, may_change=head in (".set", ".equ"))
        elif head in _SECTIONS:
            self._section(head, rest, line)
        elif head in (".globl", ".global"):
            self.globals.append(unquoted(rest))
        elif head == ".amdgcn_target":
            self._target(rest, line)
        elif head in _BLOCKS:
            self._open_block(head, rest, line)
        elif head == ".type":
            name, _, kind = rest.partition(",")
            if "function" in kind:
                self.functions.append(unquoted(name))
        elif head not in _IGNORED and not head.startswith(".cfi_"):
            known = [*DATA, *_SETTERS, *_SECTIONS, *_IGNORED, *_UNREAD, *_BLOCKS, *ALIGNMENTS, ".globl", ".amdgcn_target"]
            near = difflib.get_close_matches(head, known, n=1)
            help = f"did you mean '{near[0]}'?" if near else None
            line.fail("E0131", f"unknown directive '{head}'", help, start=start - len(head), length=len(head))

    def _place(self, head: str, line: Line, start: int) -> None:
        if head in DATA:
            self.code.add_data(head, line, start)
        elif head in ALIGNMENTS:
            self.code.add_alignment(head, line, start)
        else:
            line.fail(
                "E0131",
                f"{head} in the code is not supported",
                "write .long, .byte or .fill",
                start=start - len(head),
                length=len(head),
            )

    def _section(self, head: str, rest: str, line: Line) -> None:
        if head == ".subsection" or (head in (".text", ".data") and rest):
            line.fail("E0131", "subsections are not supported", "write the parts in the order they shall have")
        here = (self.in_code, self.was_in_code)
        if head == ".popsection":
            if not self.sections:
                line.fail("E0131", ".popsection without .pushsection")
            self.in_code, self.was_in_code = self.sections.pop()
            return
        if head == ".previous":
            self.in_code, self.was_in_code = self.was_in_code, self.in_code
            return
        if head == ".pushsection":
            self.sections.append(here)
        self.was_in_code = self.in_code
        self.in_code = head == ".text" or (
            head in (".section", ".pushsection") and unquoted(rest.split(",")[0]).startswith(".text")
        )

    def _target(self, rest: str, line: Line) -> None:
        match = _TARGET_ID.match(rest)
        if match is None or match.group(1) not in TARGETS:
            line.fail("E0131", f"target {rest} is not supported", f"supported targets: {', '.join(TARGETS)}")
        self.symbols.target = match.group(1)
        self.features = ",".join(f"{sign}{name}" for name, sign in _FEATURE.findall(match.group(2)))

    def _open_block(self, head: str, rest: str, line: Line) -> None:
        self.block, self.opening = head, line
        if head == ".amdgpu_metadata":
            self.metadata = (line, [])
            return
        name = unquoted(rest)
        if not name:
            line.fail("E0146", ".amdhsa_kernel needs a name")
        if any(block.name == name for block in self.descriptors):
            line.fail("E0146", f"kernel '{name}' has two descriptors")
        self.descriptors.append(DescriptorBlock(name, line))

    def _setting(self, line: Line) -> None:
        match = re.match(r"\s*(\.amdhsa_\w+)(?=\s)", line.text)
        if match is None:
            line.fail("E0146", "a descriptor block holds .amdhsa_ settings, each with a value")
        self.descriptors[-1].settings.append((match.group(1), line, match.end()))

    def unfinished(self) -> None:
        """Raise E0136 when the source ends inside a block."""
        if self.block is not None:
            assert self.opening is not None
            self.opening.fail("E0136", f"the file ends before {_BLOCKS[self.block]}")
