"""Times the equivalence proof: legal edits and refutations of windows cut from kernels, in process CPU time.

Prints what it ran on. With ASMEVO_CORPUS set, windows of production kernels are used too. Every legal edit reorders the whole
window; every wrong one is a mutant. Handlers of the emulator are compiled before anything is timed, as they are in any process
but the first.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from asmevo.ir.instruction import Instruction
from asmevo.verify.equivalence.window import ALL_UNITS, prove_window, semantics
from asmevo.verify.verdict import Outcome
from tools.equivalence.edits import reordered
from tools.equivalence.mutants import mutant
from tools.equivalence.windows import CutWindow, cut, objects

LIMITS_MS = {"legal 64 median": 20.0, "legal 128 p95": 100.0, "refuted 64 p95": 60.0, "refuted 128 p95": 60.0}
BUDGET_S = 5.0
MUTANTS = 12


def quantiles(seconds: list[float]) -> dict[str, float]:
    ordered = sorted(seconds)
    at = {"median": 0.5, "p95": 0.95, "worst": 1.0}
    return {name: round(1e3 * ordered[min(len(ordered) - 1, int(q * len(ordered)))], 2) for name, q in at.items()}


def timed(window: CutWindow, edited: tuple[Instruction, ...], live_out: int) -> tuple[Outcome, float]:
    programs = semantics(window.target)
    started = time.process_time()
    verdict = prove_window(window.instructions, edited, live_out, timeout_s=BUDGET_S, programs=programs, target=window.target)
    return verdict.outcome, time.process_time() - started


def measure(size: int, windows: int, seed: int) -> dict[str, object]:
    source = random.Random(seed)
    legal: list[float] = []
    wrong: dict[str, list[float]] = {}
    unproved = 0
    for window in cut(objects(), windows, seed, size, size):
        after = reordered(window, source, 4 * size)
        if [id(i) for i in after] != [id(i) for i in window.instructions]:
            timed(window, after, ALL_UNITS)  # compiles handlers
            outcome, seconds = timed(window, after, ALL_UNITS)
            legal.append(seconds)
            unproved += not outcome.is_success
        for _ in range(MUTANTS):
            found = mutant(window, source)
            if found is not None:
                timed(window, found.window, window.live_out)  # compiles handlers
                outcome, seconds = timed(window, found.window, window.live_out)
                wrong.setdefault(outcome.value, []).append(seconds)
    everything = [*legal, *(spent for found in wrong.values() for spent in found)]
    return {
        "size": size,
        "over the budget": sum(spent > BUDGET_S for spent in everything),
        "legal": {"count": len(legal), "unproved": unproved, "ms": quantiles(legal)} if legal else {},
        "mutants": {name: {"count": len(found), "ms": quantiles(found)} for name, found in sorted(wrong.items())},
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--windows", type=int, default=60, help="windows of each size")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(f"{platform.machine()}, Python {platform.python_version()}; limits in ms: {LIMITS_MS}")
    for size in (64, 128):
        print(json.dumps(measure(size, options.windows, options.seed)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
