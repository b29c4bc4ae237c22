"""The launch file's form: TOML text to a checked tree, with a caret at what is wrong.

Owns the schema and positions in the text. It must not know kernels or metadata: `verify.launch.dispatches` matches the two.

    version = 1
    workgroup = [256, 1, 1]
    args = [
      { buffer = ["rows", "columns"], dtype = "f32", fill = "normal", seed = 1 },
      { buffer = ["rows", "columns"], dtype = "f32", role = "out" },
      { scalar = "columns", dtype = "i32" },
    ]

    [[case]]
    name = "ragged"
    grid = ["rows", 1, 1]
    values = { rows = 3, columns = 100 }

A text where a number is expected names one of `values`. Each case takes what it does not say itself from the top level.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, NoReturn

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from asmevo import toml_text
from asmevo.diagnostics import Span, fail

Key = tuple[str | int, ...]
Number = int | float | str
Whole = int | str
MAX_CASES = 1000


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Tolerance(_Strict):
    """How far two results of a float buffer may lie apart: it is enough to keep one of the bounds that are given."""

    ulps: int | None = Field(None, ge=0, description="numbers of the element type between them")
    absolute: float | None = Field(None, ge=0, allow_inf_nan=False, description="their difference")
    relative: float | None = Field(None, ge=0, allow_inf_nan=False, description="their difference, as a part of the expected")


class Link(_Strict):
    """Eight bytes of a buffer that hold the address of a buffer."""

    at: int = Field(ge=0, description="byte offset of the pointer in its buffer")
    to: str = Field(description="name of the buffer pointed into")
    offset: int = Field(0, ge=0, description="bytes from that buffer's start")


class Argument(_Strict):
    """One kernel argument: exactly one of buffer (its shape), scalar, pointer (a buffer's name) and bytes (hexadecimal)."""

    name: str | None = Field(None, description="the argument's name in metadata, and a buffer's name")
    at: int | None = Field(None, ge=0, le=65528, description="byte offset in the kernarg segment, instead of name or position")
    buffer: list[Whole] | None = Field(None, description="shape in elements")
    scalar: Number | None = Field(None, description="value")
    pointer: str | None = Field(None, description="name of the buffer pointed into")
    bytes: str | None = Field(None, description="raw bytes, hexadecimal")
    dtype: str | None = Field(None, description="element type of a buffer or scalar")
    role: Literal["in", "out", "inout"] = Field("in", description="whether the kernel reads or writes the buffer")
    fill: str | None = Field(None, description="how the contents are made")
    seed: int | None = Field(None, ge=0, description="seed of the fill; by default the argument's position")
    low: Number | None = Field(None, description="least value of uniform, integers, indices and pages, least step of offsets")
    high: Number | None = Field(None, description="end of uniform, integers, indices and pages, exclusive; last of offsets")
    value: Number | None = Field(None, description="the constant, the mean of normal and special, the start of arange")
    scale: Number | None = Field(None, description="deviation of normal and special, step of arange")
    share: Number | None = Field(None, description="how much is special or sprinkled, above 0 to 1")
    sprinkle: list[str] | None = Field(None, description="classes of edge numbers that take the place of some contents")
    data: list[Number] | None = Field(None, min_length=1, max_length=65536, description="the numbers of list")
    file: str | None = Field(None, min_length=1, max_length=4096, description="the file of contents, by its way from this one")
    links: list[Link] | None = Field(None, min_length=1, max_length=65536, description="pointers among the contents of a file")
    to: list[str] | None = Field(None, min_length=1, max_length=4096, description="the buffers that pointers lead to")
    compare: Literal["exact"] | Tolerance | None = Field(None, description="how results are compared where exactness is waived")
    offset: Whole = Field(0, description="bytes from the buffer's start, for a pointer")


Triple = Annotated[list[Whole], Field(min_length=1, max_length=3)]


class Case(_Strict):
    """One launch; None is taken from the top level."""

    name: str | None = Field(None, min_length=1, max_length=200)
    grid: Triple | None = Field(None, description="workgroups in x, y, z")
    workgroup: Triple | None = Field(None, description="work-items in x, y, z")
    dynamic_lds_bytes: Whole | None = Field(None, description="LDS on top of what the kernel declares")
    args: list[Argument] | None = None
    buffers: list[Argument] | None = Field(None, description="buffers that no argument holds, for pointers in other buffers")
    seed: int = Field(0, ge=0, description="added to the seeds of all fills")
    sweep: dict[str, list[int | float]] = Field(default_factory=dict, description="numbers by name, one launch for each choice")
    values: dict[str, int | float] = Field(default_factory=dict, description="numbers by name")
    rest: Literal["refuse", "zero"] | None = Field(None, description="what arguments that are not given get")


class LaunchTree(Case):
    """The whole file."""

    version: Literal[1] = Field(description="version of this form")
    kernel: str | None = Field(None, description="the kernel meant; refused for another")
    case: list[Case] = Field(default_factory=lambda: [], max_length=MAX_CASES)


@dataclass(frozen=True, slots=True)
class LaunchFile:
    """A checked tree with its text, so that later checks can point into it."""

    tree: LaunchTree
    text: str
    path: Path

    def span(self, *key: str | int) -> Span:
        """Where a key such as ("case", 1, "args", 2, "dtype") stands; the nearest thing around it that can be found."""
        return locate(self.text, str(self.path), key)


def read_launch_file(path: Path) -> LaunchFile:
    """Raises E0220 (unreadable), E0221 (not TOML) or E0222 (unknown key, wrong type or value)."""
    try:
        with path.open("rb") as file:
            raw = file.read(toml_text.MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        fail("E0220", f"cannot read launch file {str(path)!r}: {reason}", Span(str(path)))
    return parse_launch_file(toml_text.decoded(raw, str(path), "E0220"), path)


def parse_launch_file(text: str, path: Path) -> LaunchFile:
    """The tree of a text; `path` is what messages call it. Raises E0221 or E0222."""
    tree = toml_text.parsed(text, str(path), "E0221")
    try:
        return LaunchFile(LaunchTree.model_validate(tree), text, path)
    except ValidationError as error:
        _explain(error, text, str(path))


_ALTERNATIVE = re.compile(r"int|float|str|Tolerance|literal\[.*")
"""How the checker names the alternatives of a value."""


def _explain(error: ValidationError, text: str, file: str) -> NoReturn:
    first = min(error.errors(), key=lambda item: (item["type"] != "extra_forbidden", len(item["loc"])))
    key = tuple(part for part in first["loc"] if not (isinstance(part, str) and _ALTERNATIVE.fullmatch(part)))
    shown = ".".join(str(part) for part in key)
    span = locate(text, file, key)
    if first["type"] == "missing":
        fail("E0222", f"'{shown}' is missing", span, "write 'version = 1' at the top" if shown == "version" else None)
    if first["type"] != "extra_forbidden":
        fail("E0222", f"'{shown}': {first['msg'][:1].lower()}{first['msg'][1:]}, not {first['input']!r}", span)
    model = (
        Tolerance
        if "compare" in key
        else Link
        if "links" in key
        else Argument
        if {"args", "buffers"} & set(key)
        else Case
        if key[0] == "case"
        else LaunchTree
    )
    near = difflib.get_close_matches(str(key[-1]), list(model.model_fields), n=1)
    known = f"known here: {', '.join(model.model_fields)}"
    fail("E0222", f"unknown key '{shown}'", span, f"did you mean '{near[0]}'? {known}" if near else known)


def locate(text: str, file: str, key: Key) -> Span:
    """The span of a key's value in TOML text, found by structure because the TOML reader keeps no positions."""
    start, end = _section(text, key)
    names = key[2:] if key[:1] == ("case",) and len(key) > 1 else key
    found = (start, start)
    if names[:1] in (("args",), ("buffers",)):
        start, end = _argument(text, start, end, names)
        found = (start, start + 1)
        names = names[2:]
    if names and isinstance(names[0], str):
        match = re.compile(rf"(?<![\w.-]){re.escape(names[0])}\s*=\s*([^\n,}}\]]*[\]}}]?)").search(text, start, end)
        if match:
            found = (match.start(1), match.end(1))
    if found == (0, 0):
        return toml_text.first_place(text, file)
    line = text.count("\n", 0, found[0]) + 1
    begin = text.rfind("\n", 0, found[0]) + 1
    source = text[begin:].split("\n", 1)[0]
    length = max(len(text[found[0] : found[1]].split("\n")[0].rstrip()), 1)
    return Span(file, line, found[0] - begin + 1, length, source=source)


def _section(text: str, key: Key) -> tuple[int, int]:
    heads = [match.start() for match in re.finditer(r"^[ \t]*\[\[case\]\]", text, re.MULTILINE)]
    if key[:1] == ("case",) and len(key) > 1 and isinstance(key[1], int) and key[1] < len(heads):
        after = heads[key[1] + 1] if key[1] + 1 < len(heads) else len(text)
        return heads[key[1]], after
    return 0, heads[0] if heads else len(text)


def _argument(text: str, start: int, end: int, names: Key) -> tuple[int, int]:
    """The text of argument names[1] within a section: the nth inline table of `args = [...]`, or the nth `[[args]]`.

    The same for `buffers`.
    """
    if len(names) < 2 or not isinstance(names[1], int):
        return start, end
    tables = [m.start() for m in re.compile(rf"^[ \t]*\[\[(case\.)?{names[0]}\]\]", re.MULTILINE).finditer(text, start, end)]
    if tables:
        bounds = [*tables, end]
        return (bounds[names[1]], bounds[names[1] + 1]) if names[1] < len(tables) else (start, end)
    head = re.compile(rf"^[ \t]*{names[0]}\s*=\s*\[", re.MULTILINE).search(text, start, end)
    for number, span in enumerate(_inline_tables(text, head.end(), end) if head else ()):
        if number == names[1]:
            return span
    return start, end


_TOKEN = re.compile(r"""#[^\n]*|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[{}\]\[]""")


def _inline_tables(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The outermost inline tables of an array whose text begins behind its bracket; strings and comments are passed over."""
    depth, begin = 0, 0
    for match in _TOKEN.finditer(text, start, end):
        token = match[0]
        if token in "{[":
            begin = match.start() if not depth else begin
            depth += 1
        elif token in "}]":
            depth -= 1
            if depth < 0:
                return
            if not depth and token == "}":
                yield begin, match.end()
