"""One window's part of the soundness experiment: legal edits and mutants, judged, and every proof attacked.

Owns the record of a window, which is plain data. A proved mutant that anything tells from the original is a soundness error.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

from asmevo.ir.printer import print_instruction
from asmevo.verify.equivalence.window import ALL_UNITS, prove_window
from asmevo.verify.verdict import Outcome, Verdict
from tools.equivalence.contradict import Runs, second_opinion, told_apart
from tools.equivalence.edits import renamed, reordered
from tools.equivalence.explain import reason
from tools.equivalence.mutants import Mutant, mutant
from tools.equivalence.records import Record
from tools.equivalence.windows import CutWindow

BUDGET_S = 5.0
"""Of one check, as in the product."""


@dataclass(frozen=True, slots=True)
class Amounts:
    """How much is tried: legal edits and mutants of a window, emulator states for each proved mutant."""

    edits: int = 7
    mutants: int = 67
    states: int = 10_000


def examine(window: CutWindow, index: int, seed: int, amounts: Amounts) -> Record:
    """Return the record of one window. The same arguments give the same edits and mutants."""
    source = random.Random(f"{seed}/{index}")
    itself = _judged(window, window.instructions, window.live_out)
    return {
        "index": index,
        "window": str(window),
        "target": window.target,
        "size": len(window.instructions),
        "itself": itself[0].outcome.value,
        "edits": [_legal(window, source) for _ in range(amounts.edits)],
        "mutants": _wrong(window, _mutants(window, source, amounts.mutants), amounts.states),
    }


def _judged(window: CutWindow, edited: tuple[Any, ...], live_out: int) -> tuple[Verdict, float]:
    """The verdict, and process milliseconds."""
    started = time.process_time()
    verdict = prove_window(window.instructions, edited, live_out, timeout_s=BUDGET_S, target=window.target)
    return verdict, round(1e3 * (time.process_time() - started), 2)


def _legal(window: CutWindow, source: random.Random) -> Record:
    after, live_out, kind = reordered(window, source, 4 * len(window.instructions)), ALL_UNITS, "reorder"
    if source.random() < 0.3 and (found := renamed(window, source)) is not None:
        (after, live_out), kind = found, "rename"
    verdict, spent = _judged(window, after, live_out)
    record: Record = {"kind": kind, "outcome": verdict.outcome.value, "ms": spent}
    return record if verdict.outcome.is_success else {**record, "why": verdict.reason}


def _mutants(window: CutWindow, source: random.Random, count: int) -> list[Mutant]:
    found: list[Mutant] = []
    for _ in range(10 * count):
        if len(found) == count:
            break
        wrong = mutant(window, source)
        if wrong is not None:
            found.append(wrong)
    return found


def _wrong(window: CutWindow, mutants: list[Mutant], states: int) -> list[Record]:
    records: list[Record] = []
    proved: list[tuple[Mutant, Record]] = []
    for wrong in mutants:
        verdict, spent = _judged(window, wrong.window, window.live_out)
        record: Record = {"kind": wrong.kind, "outcome": verdict.outcome.value, "ms": spent}
        if verdict.outcome in (Outcome.UNKNOWN, Outcome.UNSUPPORTED):
            record["why"] = verdict.reason
        if verdict.outcome is Outcome.PROVED:
            proved.append((wrong, record))
        records.append(record)
    attacks = told_apart(window, [wrong.window for wrong, _ in proved], window.live_out, states)
    for (wrong, record), runs in zip(proved, attacks, strict=True):
        record |= _attacked(window, wrong, runs)
    return records


def _attacked(window: CutWindow, wrong: Mutant, runs: Runs) -> Record:
    """What came of the attempts to contradict a proof, and why the mutant is equivalent."""
    opinion = second_opinion(window, wrong.window, window.live_out)
    record: Record = {
        "mnemonic": (wrong.window if wrong.kind == "clobbered" else window.instructions)[wrong.place].mnemonic,
        "reason": reason(window, wrong.window, window.live_out),
        "states": runs.ran,
        "second": {"form": opinion.form, **Counter(opinion.answers)},
    }
    if runs.differs is not None or opinion.contradicts:
        told = f"state {runs.differs} differs" if runs.differs is not None else "cvc5 has a model"
        text = "; ".join(print_instruction(i) for i in wrong.window)
        record["error"] = f"{window}: {wrong.kind} at {wrong.place} is proved, {told}: {text}"
    return record
