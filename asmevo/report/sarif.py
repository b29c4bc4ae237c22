"""Findings as SARIF 2.1.0, for code scanning services and editors.

Owns the mapping. A code object has no lines: a place is a byte offset in .text, given as an address and as a fully qualified
name; for an assembly source it is the line. Source: OASIS SARIF 2.1.0, sections 3.13 (log) to 3.32 (address).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from asmevo import __version__
from asmevo.diagnostics import Severity, printable
from asmevo.ir.finding import Finding
from asmevo.ir.instruction import Instruction
from asmevo.ir.printer import print_instruction
from asmevo.report.explanations import hint, meanings

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}


def sarif_result(file: str, kernel: str, finding: Finding) -> dict[str, Any]:
    """Return one finding as a SARIF `result`, without its rule's index."""
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "level": _LEVELS[finding.severity],
        "message": {"text": printable(finding.message)},
        "locations": [_location(file, kernel, finding.block, finding.instruction)],
    }
    if finding.producer is not None:
        related = _location(file, kernel, "", finding.producer)
        result["relatedLocations"] = [{**related, "id": 0, "message": {"text": "the instruction that causes it"}}]
    if finding.rule:
        result["properties"] = {"rule": finding.rule}
    return result


def _location(file: str, kernel: str, block: str, instruction: Instruction) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": {"uri": _uri(file)}}
    span = instruction.span
    if span is not None and span.line:
        physical["region"] = {"startLine": span.line, "startColumn": max(span.column, 1)}
    elif instruction.offset is not None:
        physical["address"] = {"relativeAddress": instruction.offset, "kind": "instruction", "name": ".text"}
    name = f"{kernel}:{block}" if block else kernel
    logical = {"fullyQualifiedName": printable(name), "name": printable(kernel), "kind": "function"}
    text = printable(print_instruction(instruction))
    return {"physicalLocation": physical, "logicalLocations": [logical], "message": {"text": text}}


def _uri(file: str) -> str:
    return quote(Path(file).as_posix(), safe="/!")


def sarif_log(results: Iterable[Mapping[str, Any]], files: Sequence[str]) -> dict[str, Any]:
    """Return the log of one run over `files`, with a rule for each code that occurs."""
    found = [dict(result) for result in results]
    codes = sorted({str(result["ruleId"]) for result in found})
    index = {code: number for number, code in enumerate(codes)}
    for result in found:
        result["ruleIndex"] = index[str(result["ruleId"])]
    rules = [_rule(code) for code in codes]
    driver = {"name": "asmevo", "version": __version__, "rules": rules}
    run = {
        "tool": {"driver": driver},
        "artifacts": [{"location": {"uri": _uri(file)}} for file in files],
        "columnKind": "unicodeCodePoints",
        "results": found,
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(code: str) -> dict[str, Any]:
    rule: dict[str, Any] = {"id": code, "shortDescription": {"text": meanings()[code]}}
    if told := hint(code):
        rule["help"] = {"text": told}
    return rule
