"""PC samples of rocprofv3, as CSV and as JSON.

Source: ROCprofiler-SDK, "Using PC sampling". CSV: Sample_Timestamp, Exec_Mask, Dispatch_Id, Instruction, Instruction_Comment,
Correlation_Id; stochastic sampling adds Wave_Issued_Instruction, Instruction_Type, Stall_Reason and Wave_Count. JSON: arrays
pc_sample_host_trap or pc_sample_stochastic of {record: {pc: {code_object_id, code_object_offset}, dispatch_id, wave_issued,
snapshot: {stall_reason}}, inst_index}, with the text at inst_index of strings.pc_sample_instructions.

Owns these two forms. Columns and keys that it does not know are passed over. A file may be large: neither is read as one tree.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, TextIO, cast

from asmevo.diagnostics import Span, fail
from asmevo.frontend.profiles.counts import Counts, Method, Profile, Tally, mapping, whole

CSV_MARK = "Sample_Timestamp"
"""A column that no other of rocprofv3's tables with instructions has."""
_ISSUED = "Wave_Issued_Instruction"
_REASON = "ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_"
_ARRAY = re.compile(r'"pc_sample_(host_trap|stochastic)"\s*:\s*\[')
_TEXTS = re.compile(r'"pc_sample_instructions"\s*:\s*(?=\[)')
_SPACE = re.compile(r"[\s,]*")
_METHODS = {"host_trap": Method.HOST_TRAP, "stochastic": Method.STOCHASTIC}
_UNKNOWN = "unknown"
_MAX_REASON = 64


def read_csv(stream: TextIO, file: str) -> Profile:
    """The samples of a table. Raises E0165 for what is none."""
    tally = Tally(file)
    reader = csv.DictReader(stream)
    columns: set[str] = set()
    try:
        columns = set(reader.fieldnames or ())
        if "Instruction" not in columns:
            fail("E0165", "the table of samples has no column 'Instruction'", Span(file, 1, 1))
        for row in reader:
            # The reader has None where a line is short.
            values = cast("Mapping[str, str | None]", row)
            text = (values.get("Instruction") or "").strip()
            group = whole((values.get("Dispatch_Id") or "0").strip())
            if not text or group is None:
                tally.undecoded += 1
                continue
            tally.add(group, None, text, _one(values.get(_ISSUED), values.get("Stall_Reason")))
    except csv.Error as error:
        fail("E0165", f"not a table: {error}", Span(file, reader.line_num, 1))
    return tally.profile(Method.STOCHASTIC if _ISSUED in columns else Method.HOST_TRAP)


def _one(issued: object, reason: object) -> Counts:
    """The counts of one sample."""
    if str(issued).strip().lower() not in ("0", "false"):
        return Counts(samples=1)
    text = str(reason or "").strip().removeprefix(_REASON).lower().replace("_", " ")[:_MAX_REASON]
    return Counts(samples=1, stalled=1, reasons={text or _UNKNOWN: 1})


def has_samples(text: str) -> bool:
    """Whether a JSON text has an array of samples, be it an empty one."""
    return _ARRAY.search(text) is not None


def read_json(text: str, file: str) -> Profile:
    """The samples in a JSON text. Raises E0165 for what is none; where both methods left samples, the stochastic ones."""
    tallies: dict[str, Tally] = {}
    arrays = list(_ARRAY.finditer(text))
    texts = [_strings(text, match.end(), file) for match in _TEXTS.finditer(text)]
    for match in arrays:
        tally = tallies.setdefault(match[1], Tally(file))
        # Each process has its own texts; where it is unclear whose they are, addresses will have to do.
        process = sum(1 for other in arrays if other[1] == match[1] and other.start() < match.start())
        one_each = len(texts) == sum(1 for other in arrays if other[1] == match[1])
        known = texts[process] if one_each else []
        for entry in _elements(text, match.end(), file):
            _add(tally, entry, known)
    for name in ("stochastic", "host_trap"):
        if name in tallies and (tallies[name].holds_any or len(tallies) == 1):
            return tallies[name].profile(_METHODS[name])
    fail("E0165", "the arrays of samples are empty", Span(file))


def _elements(text: str, at: int, file: str) -> Iterator[object]:
    """The elements of the array that begins before `at`, one by one."""
    decoder = json.JSONDecoder()
    while True:
        at = _end(_SPACE, text, at)
        if at >= len(text):
            fail("E0165", "not valid JSON: an array has no end", Span(file))
        if text[at] == "]":
            return
        element, at = _decoded(decoder, text, at, file)
        yield element


def _decoded(decoder: json.JSONDecoder, text: str, at: int, file: str) -> tuple[Any, int]:
    try:
        return decoder.raw_decode(text, at)
    except RecursionError:
        fail("E0165", "not valid JSON: it nests too deep", Span(file))
    except ValueError as error:
        fail("E0165", f"not valid JSON: {error}", Span(file))


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at


def _strings(text: str, at: int, file: str) -> list[str]:
    found, _ = _decoded(json.JSONDecoder(), text, at, file)
    entries = cast("list[object]", found)
    return [entry if isinstance(entry, str) else "" for entry in entries]


def _add(tally: Tally, entry: object, texts: list[str]) -> None:
    sample = mapping(entry)
    record = mapping(sample.get("record"))
    pc = mapping(record.get("pc"))
    group, address = whole(pc.get("code_object_id")), whole(pc.get("code_object_offset"))
    if not group or address is None:
        tally.undecoded += 1  # Object 0 is what the profiler did not see loaded.
        return
    index = whole(sample.get("inst_index"))
    text = texts[index].strip() if index is not None and index < len(texts) else ""
    # Host traps say nothing of it: the sample counts as one that may have issued.
    tally.add(group, address, text, _one(record.get("wave_issued", 1), mapping(record.get("snapshot")).get("stall_reason")))
