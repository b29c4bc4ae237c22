"""The short form in which an agent writes an edit, written out.

`#UID` alone stands for the instruction as it is, so that a new order costs few tokens. Owns that form only; what the text
means, and whether it may be, is decided by `search.drafting`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from asmevo.ir.instruction import Instruction
from asmevo.ir.printer import print_instruction
from asmevo.search.llm.names import Names
from asmevo.search.proposal import WindowText

_MARK = re.compile(r"#(\d{1,9})(?:\s+(.*))?\Z")


def written_out(label: str, start: int, text: str, window: Sequence[Instruction], names: Names) -> WindowText:
    """The edit of `window`, which begins at `start` of block `label`, with kept instructions as the kernel spells them.

    A line that repeats what was shown of an instruction counts as keeping it. What is kept at both ends is left out, so that
    the edit covers only what changes. Lines that name no instruction of the window stay as they are, for the gates to refuse.
    """
    lines = [line.strip() for line in text.splitlines()]
    lines = [line for line in lines if line]
    known = {str(instruction.uid): instruction for instruction in window}
    kept: list[int | None] = []
    written: list[str] = []
    for line in lines:
        match = _MARK.match(line)
        instruction = known.get(match[1]) if match else None
        if match is None or instruction is None:
            # A mark alone needs a text, or the refusal would be about that and not about the mark.
            written.append(f"{line} s_nop 0" if match and not match[2] else line)
            kept.append(None)
            continue
        said = (match[2] or "").strip()
        is_kept = not said or said == names.instruction(instruction)
        kept.append(instruction.uid if is_kept else None)
        written.append(f"#{instruction.uid} {print_instruction(instruction) if is_kept else said}")
    head = 0
    while head < min(len(kept), len(window)) and kept[head] == window[head].uid:
        head += 1
    tail = 0
    while tail < min(len(kept), len(window)) - head and kept[-1 - tail] == window[-1 - tail].uid:
        tail += 1
    changed = written[head : len(written) - tail]
    return WindowText(label, start + head, start + len(window) - tail, "\n".join(changed))
