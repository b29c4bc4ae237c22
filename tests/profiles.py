"""Profiles in rocprofv3's forms, made up for instructions of a kernel. For tests only."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from typing import Any

from asmevo.ir.instruction import Instruction
from asmevo.ir.printer import print_instruction

HOST_TRAP = ("Sample_Timestamp", "Exec_Mask", "Dispatch_Id", "Instruction", "Instruction_Comment", "Correlation_Id")
STOCHASTIC = (*HOST_TRAP, "Wave_Issued_Instruction", "Instruction_Type", "Stall_Reason", "Wave_Count")
REASON = "ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_"
HEADER = "ISA, _, LineNumber, Source, Codeobj, Vaddr, Hit, Latency, Stall, Idle"
STATISTICS = ("CodeObj", "Vaddr", "Instruction", "Hitcount", "Latency", "Stall", "Idle", "Source")


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table as rocprofv3 writes it: texts in quotes."""
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    writer.writerows([header, *rows])
    return text.getvalue()


def sample_row(
    instruction: Instruction | str, dispatch: int = 1, reason: str | None = None, *, stochastic: bool = True
) -> list[Any]:
    """A line of a table of samples; with `reason` the wave did not issue."""
    text = instruction if isinstance(instruction, str) else print_instruction(instruction)
    row: list[Any] = [1000, (1 << 64) - 1, dispatch, text, "", dispatch]
    return [*row, int(reason is None), "TYPE", REASON + (reason or "NONE"), 4] if stochastic else row


def sample_tree(
    samples: Iterable[tuple[int, int, str | None, int]], texts: Sequence[str], key: str = "stochastic"
) -> dict[str, Any]:
    """The tree of results with samples (code object, address, reason not to issue, index of the text)."""
    records = [
        {
            "record": {
                "hw_id": {"chiplet": 0},
                "pc": {"code_object_id": group, "code_object_offset": address},
                "dispatch_id": 1,
                **({"wave_issued": int(reason is None), "snapshot": {"stall_reason": REASON + (reason or "NONE")}}
                   if key == "stochastic" else {}),
            },
            "inst_index": index,
        }
        for group, address, reason, index in samples
    ]  # fmt: skip
    other = "host_trap" if key == "stochastic" else "stochastic"
    return {
        "rocprofiler-sdk-tool": [
            {
                "metadata": {"pid": 1},
                "strings": {"pc_sample_instructions": list(texts), "pc_sample_comments": [""] * len(texts)},
                "buffer_records": {f"pc_sample_{other}": [], f"pc_sample_{key}": records},
            }
        ]
    }


def trace_rows(instructions: Sequence[Instruction], base: int, name: str = "k", group: int = 2) -> list[list[Any]]:
    """Rows of a code.json: the instruction number n ran n + 1 times, and its cycles are 10, 4 and 1 times that."""
    rows: list[list[Any]] = [[f"; {name}", 0, 0, f"{name}()", group, base, 0, 0, 0, 0]]
    for n, one in enumerate(instructions):
        assert one.offset is not None
        counts = [n + 1, 10 * (n + 1), 4 * (n + 1), n + 1]
        rows.append([print_instruction(one), 0, n + 1, "", group, base + one.offset, *counts])
    return rows


def trace_json(rows: Sequence[Sequence[Any]] | None) -> str:
    """A code.json."""
    return json.dumps({"code": rows, "version": "3.0.0", "header": HEADER})
