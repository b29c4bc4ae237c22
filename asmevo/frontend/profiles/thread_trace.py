"""Decoded thread traces of rocprofv3: code.json of a ui_output folder, and the table stats_ui_output*.csv beside it.

Source: ROCprofiler-SDK's trace wrapper. code.json is {code: rows, header: "ISA, _, LineNumber, Source, Codeobj, Vaddr, Hit,
Latency, Stall, Idle"}; the table has CodeObj, Vaddr, Instruction, Hitcount, Latency, Stall, Idle, Source. A text that begins
with a semicolon names a kernel. Cycles are summed over all executions of the waves that were traced.

Owns these two forms. Columns are found by name, and those that it does not know are passed over.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from typing import TextIO, cast

from asmevo.diagnostics import Span, fail
from asmevo.frontend.profiles.counts import Counts, Method, Profile, Tally, mapping, whole

_HEADER = "ISA, _, LineNumber, Source, Codeobj, Vaddr, Hit, Latency, Stall, Idle"
_NAMES = {"isa": "text", "instruction": "text", "codeobj": "group", "vaddr": "address", "hit": "hits", "hitcount": "hits"}
_NEEDED = ("text", "group", "address", "hits", "latency", "stall", "idle")
_NO_CODE = "the trace has no instructions: the decoder found none in it"


def is_table(header: Sequence[str]) -> bool:
    """Whether a table's columns are those of a trace's statistics."""
    return set(_NEEDED) <= set(_columns(header))


def read_csv(stream: TextIO, file: str) -> Profile:
    """The statistics of a table. Raises E0165 for what is none."""
    tally = Tally(file)
    reader = csv.reader(stream)
    try:
        columns = _checked(_columns(next(reader, list[str]())), file)
        for row in reader:
            _add(tally, row, columns)
    except csv.Error as error:
        fail("E0165", f"not a table: {error}", Span(file, reader.line_num, 1))
    return tally.profile(Method.THREAD_TRACE)


def read_tree(tree: object, file: str) -> Profile:
    """The statistics in the tree of a code.json. Raises E0165 for what is none."""
    values = mapping(tree)
    if "code" not in values:
        fail("E0165", "neither PC samples nor a decoded thread trace", Span(file))
    rows, header = values["code"], values.get("header", _HEADER)
    if not isinstance(rows, list) or not isinstance(header, str):
        fail("E0165", _NO_CODE, Span(file), "see that the kernel ran on the compute unit that was traced (--att-target-cu)")
    columns = _checked(_columns(header.split(",")), file)
    tally = Tally(file)
    for row in cast("list[object]", rows):
        _add(tally, cast("list[object]", row) if isinstance(row, list) else [], columns)
    return tally.profile(Method.THREAD_TRACE)


def _columns(header: Sequence[str]) -> dict[str, int]:
    """The place of each column by our name for it; the first of several."""
    found: dict[str, int] = {}
    for number, name in enumerate(header):
        word = name.strip().lower()
        found.setdefault(_NAMES.get(word, word), number)
    return found


def _checked(columns: dict[str, int], file: str) -> dict[str, int]:
    lacking = [name for name in _NEEDED if name not in columns]
    if lacking:
        fail("E0165", f"the trace has no column for {', '.join(lacking)}", Span(file))
    return columns


def _add(tally: Tally, row: Sequence[object], columns: Mapping[str, int]) -> None:
    if len(row) <= max(columns[name] for name in _NEEDED):
        tally.undecoded += 1
        return
    text = row[columns["text"]]
    if isinstance(text, str) and text.lstrip().startswith(";"):
        return
    group, address, hits, latency, stall, idle = (whole(row[columns[name]]) for name in _NEEDED[1:])
    if not isinstance(text, str) or group is None or address is None:
        tally.undecoded += 1
        return
    if hits is None or latency is None or stall is None or idle is None:
        tally.undecoded += 1
        return
    counts = Counts(hits=hits, latency_cycles=latency, stall_cycles=stall, idle_cycles=idle)
    tally.add(group, address, text.strip(), counts)
