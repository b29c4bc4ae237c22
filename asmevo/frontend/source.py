"""Assembly source files (.s) to a kernel.

Owns comments, labels, directives and blocks of a source file; an instruction's own line is read by `line`. A source file
has no bytes: its instructions have no encoding and no offset. Directives that place data or describe an object are accepted
and skipped, since a kernel says nothing of them; in the code, `.long` is data and freezes its block.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from lark import Token, Tree

from asmevo.diagnostics import Span, fail
from asmevo.frontend.line import line_parser, place
from asmevo.frontend.syntax import GrammarError, parse_tree
from asmevo.ir.instruction import Instruction, Label
from asmevo.ir.kernel import Block, Kernel

DEFAULT_TARGET = "gfx942"
_LINE_LIMIT, _SIZE_LIMIT = 4096, 64 << 20

_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|/\*.*?\*/|(?:;|//|^[ \t]*#)[^\n]*', re.DOTALL | re.MULTILINE)
_PLAIN_LABEL = re.compile(r'\s*([A-Za-z_.$][\w.$@]*|"(?:[^"\\]|\\.)*")\s*:')
_TARGET = re.compile(r'"?amdgcn-amd-amdhsa-[^"\s]*?-(gfx[0-9a-f]+)[^"\s]*"?')
_METADATA = (".amdgpu_metadata", ".end_amdgpu_metadata")
_DESCRIPTOR = (".amdhsa_kernel", ".end_amdhsa_kernel")
_ROOT = re.compile(r"^[ \t]*; asmevo-root: (\S.*)$", re.MULTILINE)


@dataclass(slots=True)
class _Source:
    """What has been read so far."""

    file: str
    target: str
    names: list[str] = field(default_factory=list[str])
    labels: dict[str, int] = field(default_factory=dict[str, int])
    instructions: list[Instruction] = field(default_factory=list[Instruction])
    in_code: bool = True
    skipping_until: str | None = None


def parse_source(text: str, file: str = "<source>", *, target: str = DEFAULT_TARGET) -> Kernel:
    """The kernel a source file holds. Its target comes from `.amdgcn_target`, else from `target`.

    Its name is that of `.amdhsa_kernel`, else the first `.globl`, else the first label. The first instruction is the root
    unless comments `; asmevo-root: LABEL` name others. Descriptor and metadata are None: an assembled object has them.

    Raises: DiagnosticError, E012x as `parse_line`, E0131 (statement), E0132 (label twice), E0133 (unknown label), E0134 (no
    instructions), E0135 (file too large), E0136 (block directive without its end).
    """
    if len(text) > _SIZE_LIMIT:
        fail("E0135", f"the source has {len(text)} characters, the limit is {_SIZE_LIMIT}", Span(file))
    source = _Source(file, target)
    roots = [_unquoted(match.group(1)) for match in _ROOT.finditer(text)]
    bare = _COMMENT.sub(_blank, text)
    for number, (line, shown) in enumerate(zip(bare.split("\n"), text.split("\n"), strict=True), 1):
        if line.strip():
            if len(line) > _LINE_LIMIT:
                fail("E0135", f"the line has {len(line)} characters, the limit is {_LINE_LIMIT}", Span(file, number, 1))
            _statement(source, line.rstrip(), Span(file, number, 1, 1, source=shown.rstrip().replace("\t", " ")))
    if source.skipping_until:
        fail("E0136", f"the file ends before {source.skipping_until}", Span(file))
    if not source.instructions:
        fail("E0134", "the source holds no instructions", Span(file))
    return _kernel(source, roots)


def _blank(match: re.Match[str]) -> str:
    """Spaces for a comment, so that columns stay; strings are kept."""
    found = match.group()
    return found if found.startswith('"') else re.sub(r"[^\n]", " ", found)


def _statement(source: _Source, line: str, span: Span) -> None:
    if source.skipping_until:
        if line.strip() == source.skipping_until:
            source.skipping_until = None
        return
    position = 0
    while match := _PLAIN_LABEL.match(line, position):
        _label(source, _unquoted(match.group(1)), replace(span, column=match.start(1) + 1, length=len(match.group(1))))
        position = match.end()
    rest = line[position:]
    body = rest.strip()
    if not body:
        return
    column = position + len(rest) - len(rest.lstrip()) + 1
    at = replace(span, column=column, length=len(body))
    if body.startswith(".") and not (body.startswith((".long ", ".long\t")) and source.in_code):
        _directive(source, body, at)
    elif not source.in_code:
        fail("E0131", "an instruction stands outside the text section", at, "write .text before it")
    else:
        parts = line_parser().parse(body, at)
        source.instructions.append(Instruction(*parts, uid=len(source.instructions), span=at))


def _label(source: _Source, name: str, span: Span) -> None:
    if name in source.labels:
        fail("E0132", f"label '{name}' stands twice", span)
    if source.in_code:
        source.labels[name] = len(source.instructions)


def _directive(source: _Source, body: str, span: Span) -> None:
    try:
        tree = parse_tree(body, "statement")
    except GrammarError as error:
        fail("E0131", error.message, place(body, span, error.start, error.length), error.help)
    words = cast("list[Token]", cast("Tree[Token]", tree.children[0]).children)
    name, rest = str(words[0]), str(words[1]).strip() if len(words) > 1 else ""
    if name == ".text":
        source.in_code = True
    elif name in (".section", ".pushsection"):
        source.in_code = rest.startswith(".text")
    elif name in (".data", ".rodata", ".bss"):
        source.in_code = False
    elif name == ".popsection":
        source.in_code = True
    elif name == ".amdgcn_target":
        if found := _TARGET.search(rest):
            source.target = found.group(1)
    elif name in (".globl", ".global"):
        source.names.append(_unquoted(rest))
    elif name == _DESCRIPTOR[0]:
        source.names.insert(0, _unquoted(rest))
        source.skipping_until = _DESCRIPTOR[1]
    elif name == _METADATA[0]:
        source.skipping_until = _METADATA[1]


def _unquoted(text: str) -> str:
    text = text.strip()
    if len(text) >= 2 and text[0] == text[-1] == '"':
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return text


def _kernel(source: _Source, named_roots: Sequence[str]) -> Kernel:
    instructions = source.instructions
    count = len(instructions)
    name = source.names[0] if source.names else next(iter(source.labels), "kernel")
    for root in named_roots:
        if root not in source.labels:
            fail("E0133", f"unknown label '{root}'", Span(source.file))
    starts = {0, *(index for index in source.labels.values() if index < count)}
    for index, instruction in enumerate(instructions):
        definition = instruction.definition
        if definition is not None and (definition.is_branch or definition.is_terminator) and index + 1 < count:
            starts.add(index + 1)
    leaders = sorted(starts)
    labels = _block_labels(source, leaders)
    blocks = tuple(
        _block(source, labels, start, leaders[position + 1] if position + 1 < len(leaders) else count)
        for position, start in enumerate(leaders)
    )
    roots = tuple(labels[source.labels[root]] for root in named_roots) or (labels[0],)
    return Kernel(name, source.target, blocks, roots)


def _block_labels(source: _Source, leaders: list[int]) -> dict[int, str]:
    """Instruction index to block label: the last label written before it, or a new one."""
    labels = {index: name for name, index in source.labels.items()}
    taken = set(source.labels)
    for index in leaders:
        if index not in labels:
            name = f"B_{index}"
            while name in taken:
                name = f"{name}_"
            labels[index] = name
            taken.add(name)
    return labels


def _block(source: _Source, labels: dict[int, str], start: int, end: int) -> Block:
    members = list(source.instructions[start:end])
    last = members[-1]
    definition = last.definition
    successors: tuple[str, ...] = ()
    if definition is not None and definition.is_branch and last.operands and isinstance(last.operands[-1], Label):
        target = last.operands[-1].name
        index = source.labels.get(target)
        if index is None or index not in labels or index >= len(source.instructions):
            fail("E0133", f"unknown label '{target}'", last.span)
        successors = (labels[index],)
        # A place with two names is one block: branches use the name it has.
        members[-1] = replace(last, operands=(*last.operands[:-1], Label(labels[index])))
    if end < len(source.instructions) and (definition is None or not definition.is_terminator or definition.is_conditional):
        successors = (*successors, labels[end])
    frozen = any(member.definition is None for member in members)
    return Block(labels[start], tuple(members), successors, frozen)
