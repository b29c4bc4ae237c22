"""Certificates of a sample of windows, each checked by two solvers: `python -m tools.equivalence.certified`.

Owns the sample: windows of real kernels, reordered and rewritten. The run fails when a certificate is not confirmed.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from asmevo.atomic import write_atomically
from asmevo.ir.instruction import Instruction
from asmevo.verify.equivalence.certificates import SOLVERS, Certificate, ask, certify, holds
from asmevo.verify.equivalence.window import ALL_UNITS
from tools.equivalence.edits import reordered
from tools.equivalence.rewrites import rewritten
from tools.equivalence.windows import CutWindow, objects, window_number

REWRITES = 6


def edited(window: CutWindow, seed: int, number: int) -> tuple[Instruction, ...]:
    """The window, reordered and with some of its instructions replaced by equal ones."""
    source = random.Random(f"{seed}/{number}/certified")
    return rewritten(reordered(window, source, 2 * len(window.instructions)), source, REWRITES)


def check(certificate: Certificate, timeout_s: float, counts: Counter[str]) -> bool:
    """Ask each solver; count its answers. True when all confirm the certificate."""
    agreed = True
    for solver in SOLVERS:
        answers = ask(solver, certificate.text, timeout_s)
        counts.update(f"{solver}: {answer}" for answer in answers)
        agreed &= holds(answers, certificate.text)
    return agreed


def sample(windows: int, seed: int, timeout_s: float, folder: Path | None, *, corpus: bool = True) -> dict[str, Any]:
    """Certify `windows` windows and check every certificate."""
    counts: Counter[str] = Counter()
    forms: Counter[str] = Counter()
    failures: list[str] = []
    with_queries = instructions = 0
    started = time.process_time()
    paths = objects(corpus)
    for number in range(windows):
        window = window_number(paths, number, seed)
        instructions += len(window.instructions)
        after = edited(window, seed, number)
        made = certify(str(window), window.instructions, after, ALL_UNITS, timeout_s=timeout_s, target=window.target)
        if made is None:
            failures.append(f"{window}: not proved")
            continue
        forms[made.form] += 1
        with_queries += bool(made.queries)
        if folder is not None:
            write_atomically(folder / f"{number:04}.smt2", made.text.encode())
        if not check(made, timeout_s, counts):
            failures.append(f"{window}: not confirmed")
    return {
        "windows": windows,
        "instructions": instructions,
        "certificates": forms,
        "with queries": with_queries,
        "answers": counts,
        "failures": failures,
        "process seconds": round(time.process_time() - started, 1),
    }


def main(arguments: list[str]) -> int:
    """Run and print. 1 when a certificate was not confirmed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--windows", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--timeout-s", type=float, default=20.0, help="of one proof, and of one query of a solver")
    parser.add_argument("--directory", type=Path, help="write the certificates there")
    options = parser.parse_args(arguments)
    if options.directory is not None:
        options.directory.mkdir(parents=True, exist_ok=True)
    found = sample(options.windows, options.seed, options.timeout_s, options.directory)
    print(json.dumps(found, indent=1))
    return 1 if found["failures"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
