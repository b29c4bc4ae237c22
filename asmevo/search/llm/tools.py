"""What each tool does. Every one is a plain function of a session and its checked arguments.

Owns the tools and their descriptions. Nothing outside the session's window can be reached through them, and none of them
judges: `run_gates` hands an edit to whoever hosts the session.
"""

from __future__ import annotations

import difflib
import math
from typing import Annotated, Any

from pydantic import Field

from asmevo.diagnostics import fail
from asmevo.ir import isa
from asmevo.ir.analysis.cost.costs import result_latency_cycles, unit_busy_cycles
from asmevo.ir.isa.chips import chip_for
from asmevo.ir.isa.model import OpcodeDef
from asmevo.ir.registers import unit_name, units
from asmevo.search.drafting import drafted
from asmevo.search.llm.bench import ToolSession
from asmevo.search.llm.names import shortened
from asmevo.search.llm.shorthand import written_out
from asmevo.search.llm.toolbox import Arguments, Submission, Tool
from asmevo.search.llm.view import MAX_LINES, Topic
from asmevo.search.proposal import Proposal

_MAX_EDIT_CHARS = 48_000


class ReadWindow(Arguments):
    """Which lines are wanted."""

    first: Annotated[int, Field(ge=0, le=1_000_000, description="position of the first line wanted, from 0")] = 0
    count: Annotated[int, Field(ge=1, le=MAX_LINES, description="most lines wanted")] = MAX_LINES


class AskAnalysis(Arguments):
    """What is asked."""

    topic: Annotated[Topic, Field(description="stalls, waits, hazards, registers, surroundings")]


class LookUp(Arguments):
    """Which opcode."""

    mnemonic: Annotated[str, Field(max_length=64, description="an opcode, such as v_add_f32")]


class ProposeEdit(Arguments):
    """The new text of the window or of a part of it."""

    text: Annotated[
        str,
        Field(
            max_length=_MAX_EDIT_CHARS,
            description="the new lines, one instruction a line. `#UID` alone keeps that instruction as it is; "
            "`#UID text` changes it; a line without a mark is a new instruction",
        ),
    ]
    why: Annotated[str, Field(max_length=400, description="what it gains and why it is right, in one sentence")]
    first_uid: Annotated[int | None, Field(description="replace from this instruction on; by default the window's first")] = (
        None
    )
    last_uid: Annotated[int | None, Field(description="replace up to this one, included; by default the window's last")] = None


class RunGates(Arguments):
    """Which edit."""

    edit: Annotated[str, Field(max_length=16, description="the id that propose_edit gave")]


class ListFailures(Arguments):
    """How many."""

    count: Annotated[int, Field(ge=1, le=64, description="most attempts wanted, the latest last")] = 24


def read_window(session: ToolSession, arguments: ReadWindow) -> dict[str, Any]:
    """The window's lines with dependences, waits and stalls."""
    return session.view.read(arguments.first, arguments.count)


def ask_analysis(session: ToolSession, arguments: AskAnalysis) -> dict[str, Any]:
    """What an analysis says of the window."""
    return session.view.ask(arguments.topic)


def look_up_instruction(session: ToolSession, arguments: LookUp) -> dict[str, Any]:
    """The facts of an opcode on the window's target. Raises E0951 for one that is not known."""
    target = session.view.parent.target
    word = arguments.mnemonic.strip().lower()
    found = [definition for definition in isa.variants(word) if target in definition.targets]
    if not found:
        near = difflib.get_close_matches(isa.base_mnemonic(word), isa.definitions(), n=4)
        fail("E0951", f"{target} has no opcode {shortened(ascii(word), 80)}", help=f"near: {', '.join(near) or 'none'}")
    used = [
        i for i in session.view.block.instructions if i.definition is not None and i.definition.mnemonic == found[0].mnemonic
    ]
    told: dict[str, Any] = {"target": target, "variants": [_facts(definition, target) for definition in found]}
    if used:
        chip = chip_for(target)
        told["modelled_cycles"] = {
            "as_used_here": session.view.names.instruction(used[0]),
            "until_its_result_can_be_used": result_latency_cycles(used[0], chip),
            "its_unit_is_taken": unit_busy_cycles(used[0], chip),
        }
    return told


def _facts(definition: OpcodeDef, target: str) -> dict[str, Any]:
    told: dict[str, Any] = {
        "mnemonic": definition.mnemonic,
        "family": definition.family.value,
        "issues_as": definition.issue.value,
        "encodings": sorted(encoding.value or "only" for encoding in definition.encodings),
        "operands": [{"name": o.name, "role": o.role.value, "bits": o.bits} for o in definition.operands],
        "also_reads": [unit_name(unit) for unit in units(definition.implicit_reads)][:16],
        "also_writes": [unit_name(unit) for unit in units(definition.implicit_writes)][:16],
        "counts": [counter.value for counter in definition.counters],
        "facts": sorted(flag.value for flag in definition.flags),
    }
    if definition.access is not None:
        space = definition.space.value if definition.space is not None else ""
        told["memory"] = {"access": definition.access.value, "space": space, "bytes": definition.memory_bytes}
    if passes := definition.passes_on(target):
        told["passes_of_four_cycles"] = passes
    return told


def propose_edit(session: ToolSession, arguments: ProposeEdit) -> dict[str, Any] | Submission:
    """A sketch of an edit, checked for form and modelled, not yet judged; one that is refused at once goes to the host.

    Raises E0951 for a place outside the window.
    """
    view = session.view
    places = {instruction.uid: number for number, instruction in enumerate(view.instructions)}
    for name, uid in (("first_uid", arguments.first_uid), ("last_uid", arguments.last_uid)):
        if uid is not None and uid not in places:
            fail("E0951", f"{name} {uid} is not in the window", help="read_window shows what is")
    first = 0 if arguments.first_uid is None else places[arguments.first_uid]
    last = len(places) - 1 if arguments.last_uid is None else places[arguments.last_uid]
    if last < first:
        fail("E0951", "last_uid stands before first_uid")
    replaced = view.instructions[first : last + 1]
    change = written_out(view.window.label, view.window.start + first, arguments.text, replaced, view.names)
    draft = drafted(Proposal("agent", arguments.why, change), view.parent, session.evaluator, math.inf, view.profile.counts)
    if draft.measured is None:
        return Submission(session.sketched(change, arguments.why, None))
    cycles = draft.measured.cycles
    sketch = session.sketched(change, arguments.why, cycles)
    now = view.timing.total_cycles
    return {
        "edit": sketch.id,
        "modelled_cycles": {"now": round(now, 1), "with_the_edit": round(cycles, 1)},
        "is_faster": cycles < now,
        "next": "run_gates says whether it is right" if cycles < now else "it is not faster: better change it first",
    }


def run_gates(session: ToolSession, arguments: RunGates) -> Submission:
    """Hands a sketch to the host of the session. Raises E0951 when there is none of this id."""
    return Submission(session.sketch(arguments.edit))


def list_failures(session: ToolSession, arguments: ListFailures) -> dict[str, Any]:
    """What was tried at this window before, and why it was refused; the latest last."""
    mine = [{"edit": name, **session.told(attempt)} for name, attempt in session.attempts]
    rows = [*(session.told(attempt) for attempt in session.history), *mine]
    return {"attempts": rows[-arguments.count :], "of": len(rows)}


TOOLS = (
    Tool(
        "read_window",
        "Read the window: each line with the cycles it loses, the results it needs, how far it may move, what is outstanding.",
        ReadWindow,
        read_window,
    ),
    Tool(
        "ask_analysis",
        "Ask an analysis about the window. stalls: cycles lost by cause; waits: which s_waitcnt could be weaker; hazards: wait "
        "states; registers: pressure and free registers; surroundings: loop depth, neighbours, target.",
        AskAnalysis,
        ask_analysis,
    ),
    Tool(
        "look_up_instruction",
        "Look up an opcode: operands, implicit registers, wait counters, unit, latency, and whether the target has it.",
        LookUp,
        look_up_instruction,
    ),
    Tool(
        "list_failures",
        "List what was tried at this window before and why it was refused.",
        ListFailures,
        list_failures,
    ),
    Tool(
        "propose_edit",
        "Sketch an edit of the window as assembly text. It is checked for form and modelled; nothing is judged yet.",
        ProposeEdit,
        propose_edit,
        edits=True,
    ),
    Tool(
        "run_gates",
        "Have an edit judged: waits, wait states, registers, a proof of equivalence, emulation of all launches, then cycles. "
        "Only an edit that passes all of them is accepted.",
        RunGates,
        run_gates,
        edits=True,
    ),
)
