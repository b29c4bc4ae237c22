"""What the proof says of legal edits and of mutants, and whether the emulator can contradict it: `make soundness`.

Owns the experiment. A proved mutant that some emulator state tells from the original is a soundness error; the run then fails.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from asmevo.atomic import write_atomically
from asmevo.ir.instruction import Instruction
from asmevo.ir.printer import print_instruction
from asmevo.ir.registers import MODE, VGPR0, units
from asmevo.verify.equivalence.concrete import WindowRunner
from asmevo.verify.equivalence.execute import Executor, UnmodelledError
from asmevo.verify.equivalence.machine import AddressUse, Machine
from asmevo.verify.equivalence.normal import Normaliser
from asmevo.verify.equivalence.states import entry_state
from asmevo.verify.equivalence.window import ALL_UNITS, prove_window, semantics
from asmevo.verify.verdict import Outcome
from tools.equivalence.edits import renamed, reordered
from tools.equivalence.mutants import mutant
from tools.equivalence.windows import CutWindow, cut, objects

BUDGET_S = 5.0


@dataclass(slots=True)
class Tally:
    """Outcomes and process seconds of one kind of edit."""

    outcomes: Counter[str] = field(default_factory=Counter[str])
    seconds: list[float] = field(default_factory=list[float])

    def add(self, outcome: Outcome, seconds: float) -> None:
        """Count one check."""
        self.outcomes[outcome.value] += 1
        self.seconds.append(seconds)

    def row(self) -> dict[str, object]:
        """As data: counts, and milliseconds at the median, the 95th percentile and the worst."""
        ordered = sorted(self.seconds)
        at = {"median": 0.5, "p95": 0.95, "worst": 1.0}
        times = {name: round(1e3 * ordered[min(len(ordered) - 1, int(q * len(ordered)))], 1) for name, q in at.items()}
        return {**self.outcomes, "ms": times} if ordered else {}


def judged(window: CutWindow, edited: Sequence[Instruction], live_out: int, tally: Tally) -> Outcome:
    """The outcome on one edit, counted."""
    started = time.process_time()
    verdict = prove_window(window.instructions, edited, live_out, timeout_s=BUDGET_S, target=window.target)
    tally.add(verdict.outcome, time.process_time() - started)
    return verdict.outcome


def told_apart(window: CutWindow, edited: Sequence[Instruction], live_out: int, states: int) -> tuple[int | None, int]:
    """The first of `states` random states on which the emulator ends different, and how many could be run."""
    runners = [WindowRunner(part, window.target) for part in (window.instructions, edited)]
    if any(runner.problem for runner in runners):
        return None, 0
    uses = (*_uses(window.instructions, window.target), *_uses(edited, window.target))
    compared = [u for u in units(live_out) if u != MODE]
    scalars = np.array([u for u in compared if u < VGPR0], np.intp)
    vectors = np.array([u - VGPR0 for u in compared if u >= VGPR0], np.intp)
    ran = 0
    for number in range(states):
        state = entry_state(uses, number)
        one, other = (runner.run(state) for runner in runners)
        if one is None or other is None:
            continue
        ran += 1
        same = (
            np.array_equal(one.scalar[scalars], other.scalar[scalars])
            and np.array_equal(one.vector[vectors], other.vector[vectors])
            and np.array_equal(one.memory, other.memory)
            and np.array_equal(one.lds, other.lds)
        )
        if not same:
            return number, ran
    return None, ran


def _uses(window: Sequence[Instruction], target: str) -> list[AddressUse]:
    machine = Machine(Normaliser())
    executor = Executor(machine, semantics(target))
    for i in window:
        executor.run(i)
    return machine.uses


@dataclass(slots=True)
class Report:
    """Everything that one run found."""

    windows: int = 0
    edits: dict[str, Tally] = field(default_factory=lambda: defaultdict[str, Tally](Tally))
    mutants: dict[str, Tally] = field(default_factory=lambda: defaultdict[str, Tally](Tally))
    unproved: list[str] = field(default_factory=list[str])
    proved_mutants: list[dict[str, object]] = field(default_factory=list[dict[str, object]])
    errors: list[str] = field(default_factory=list[str])

    def data(self) -> dict[str, object]:
        """As JSON-ready data."""
        everything = Tally()
        for tally in self.mutants.values():
            everything.outcomes += tally.outcomes
            everything.seconds += tally.seconds
        return {
            "windows": self.windows,
            "edits": {name: tally.row() for name, tally in sorted(self.edits.items())},
            "mutants": {"all": everything.row(), **{name: tally.row() for name, tally in sorted(self.mutants.items())}},
            "unproved edits": self.unproved,
            "proved mutants": self.proved_mutants,
            "soundness errors": self.errors,
        }


def check_window(window: CutWindow, source: random.Random, report: Report, edits: int, mutants: int, states: int) -> None:
    """Judge `edits` legal edits and `mutants` mutants of one window."""
    report.windows += 1
    for _ in range(edits):
        after, live_out, name = reordered(window, source, 4 * len(window.instructions)), ALL_UNITS, "reorder"
        if source.random() < 0.3 and (found := renamed(window, source)) is not None:
            (after, live_out), name = found, "rename"
        if not judged(window, after, live_out, report.edits[name]).is_success:
            report.unproved.append(f"{window}: {name}")
    made = tried = 0
    while made < mutants and tried < 10 * mutants:
        tried += 1
        wrong = mutant(window, source)
        if wrong is None:
            continue
        try:
            outcome = judged(window, wrong.window, window.live_out, report.mutants[wrong.kind])
        except UnmodelledError as error:
            report.errors.append(f"{window}: {wrong.kind}: {error}")
            continue
        made += 1
        if outcome is Outcome.PROVED:
            number, ran = told_apart(window, wrong.window, window.live_out, states)
            old = window.instructions[wrong.place]
            row: dict[str, object] = {
                "window": str(window), "kind": wrong.kind, "place": wrong.place, "mnemonic": old.mnemonic, "states": ran,
            }  # fmt: skip
            report.proved_mutants.append(row)
            if number is not None:
                text = "; ".join(print_instruction(i) for i in wrong.window)
                report.errors.append(f"{window}: {wrong.kind} at {wrong.place} is proved, state {number} differs: {text}")


def run(windows: int, edits: int, mutants: int, states: int, seed: int, budget_s: float, corpus: bool) -> Report:
    """One experiment, ended early when `budget_s` of wall time are over."""
    report = Report()
    source = random.Random(seed)
    deadline = time.monotonic() + budget_s
    for window in cut(objects(corpus), windows, seed):
        if time.monotonic() > deadline:
            break
        check_window(window, source, report, edits, mutants, states)
    return report


def main(arguments: list[str]) -> int:
    """Run, print and save. 1 when the proof was contradicted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--windows", type=int, default=300)
    parser.add_argument("--edits", type=int, default=7, help="legal edits of each window")
    parser.add_argument("--mutants", type=int, default=67, help="mutants of each window")
    parser.add_argument("--states", type=int, default=10_000, help="emulator states for each proved mutant")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget-s", type=float, default=3600.0)
    parser.add_argument("--output", type=Path, help="write the report here, as JSON")
    options = parser.parse_args(arguments)
    report = run(options.windows, options.edits, options.mutants, options.states, options.seed, options.budget_s, True)
    data = report.data()
    if options.output:
        write_atomically(options.output, json.dumps(data, indent=1).encode())
    proved = Counter(f"{row['kind']}: {row['mnemonic']}" for row in report.proved_mutants)
    print(json.dumps({**data, "proved mutants": proved}, indent=1))
    return 1 if report.errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
