"""Certificates of a sample of windows, each checked by two solvers: `python -m tools.equivalence.certified`.

Owns the sample: windows of real kernels, reordered and rewritten. The run fails when a certificate is not confirmed. With a
file for its records it can be stopped, taken up again and split.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from asmevo.atomic import write_atomically
from asmevo.ir.instruction import Instruction
from asmevo.verify.equivalence.certificates import SOLVERS, ask, certify, holds
from asmevo.verify.equivalence.window import ALL_UNITS
from tools.equivalence.edits import reordered
from tools.equivalence.records import Record, add_options, append, read_all
from tools.equivalence.rewrites import rewritten
from tools.equivalence.windows import CutWindow, objects, window_number

REWRITES = 6


def edited(window: CutWindow, seed: int, number: int) -> tuple[Instruction, ...]:
    """The window, reordered and with some of its instructions replaced by equal ones."""
    source = random.Random(f"{seed}/{number}/certified")
    return rewritten(reordered(window, source, 2 * len(window.instructions)), source, REWRITES)


def examine(window: CutWindow, number: int, seed: int, timeout_s: float, folder: Path | None) -> Record:
    """Return the record of one window: its certificate's form, each solver's answers, and what is wrong with it.

    `timeout_s` bounds one proof, and one query of a solver.
    """
    started = time.process_time()
    record: Record = {"index": number, "window": str(window), "size": len(window.instructions), "failures": []}
    made = certify(
        str(window), window.instructions, edited(window, seed, number), ALL_UNITS, timeout_s=timeout_s, target=window.target
    )
    if made is None:
        record["failures"].append(f"{window}: not proved")
    else:
        if folder is not None:
            write_atomically(folder / f"{number:04}.smt2", made.text.encode())
        answers = {solver: ask(solver, made.text, timeout_s) for solver in SOLVERS}
        record |= {"form": made.form, "queries": len(made.queries), "answers": {k: Counter(v) for k, v in answers.items()}}
        for solver, said in answers.items():
            if not holds(said, made.text):
                record["failures"].append(f"{window}: {solver} does not confirm it: {dict(Counter(said))}")
    return record | {"seconds": round(time.process_time() - started, 1)}


def run(
    windows: range, seed: int, timeout_s: float, folder: Path | None, *, corpus: bool, done: frozenset[int] = frozenset()
) -> Iterator[Record]:
    """Yield the records of the windows that are not `done`."""
    paths = objects(corpus)
    for number in windows:
        if number not in done:
            yield examine(window_number(paths, number, seed), number, seed, timeout_s, folder)


def summary(records: Sequence[Record]) -> dict[str, Any]:
    """Return the figures as JSON-ready data."""
    made = [record for record in records if "form" in record]
    answers: Counter[str] = Counter()
    for record in made:
        for solver, said in record["answers"].items():
            answers.update({f"{solver}: {answer}": count for answer, count in said.items()})
    return {
        "windows": len(records),
        "instructions": sum(record["size"] for record in records),
        "certificates": Counter(record["form"] for record in made),
        "with queries": sum(bool(record["queries"]) for record in made),
        "answers": answers,
        "failures": [failure for record in records for failure in record["failures"]],
        "process seconds": round(sum(record["seconds"] for record in records), 1),
    }


def main(arguments: list[str]) -> int:
    """Run what is missing, save each window, print the summary. 1 when a certificate was not confirmed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--windows", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--timeout-s", type=float, default=20.0, help="of one proof, and of one query of a solver")
    parser.add_argument("--directory", type=Path, help="write the certificates there")
    add_options(parser)
    options = parser.parse_args(arguments)
    if options.directory is not None:
        options.directory.mkdir(parents=True, exist_ok=True)
    records = read_all(options.output)
    if not options.report_only:
        first, step = options.shard
        done = frozenset(record["index"] for record in records)
        windows = range(first, options.windows, step)
        for record in run(windows, options.seed, options.timeout_s, options.directory, corpus=True, done=done):
            records.append(record)
            print(f"{len(records)}/{options.windows} {record['window']}", file=sys.stderr)
            if options.output:
                append(options.output[0], record)
    found = summary(records)
    print(json.dumps(found, indent=1))
    return 1 if found["failures"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
