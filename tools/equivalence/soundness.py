"""What the proof says of legal edits and of mutants, and whether anything can contradict it: `make soundness`.

Owns the runs: which windows, in which of several processes, and the file that they append to, so that a run can be stopped and
taken up again. The file has a line a window, made of the seed and the window's number alone.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator

from tools.equivalence.experiment import Amounts, examine
from tools.equivalence.records import Record, add_options, append, read_all
from tools.equivalence.summary import summary, table
from tools.equivalence.windows import objects, window_number


def run(
    windows: range,
    seed: int,
    amounts: Amounts,
    *,
    corpus: bool,
    budget_s: float = float("inf"),
    done: frozenset[int] = frozenset(),
) -> Iterator[Record]:
    """Yield the records of the windows that are not `done`, until `budget_s` of wall time are over."""
    deadline = time.monotonic() + budget_s
    paths = objects(corpus)
    for index in windows:
        if index in done:
            continue
        if time.monotonic() > deadline:
            return
        yield examine(window_number(paths, index, seed), index, seed, amounts)


def main(arguments: list[str]) -> int:
    """Run what is missing, save each window, print the summary. 1 when the proof was contradicted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--windows", type=int, default=300)
    parser.add_argument("--edits", type=int, default=7, help="legal edits of each window")
    parser.add_argument("--mutants", type=int, default=67, help="mutants of each window")
    parser.add_argument("--states", type=int, default=10_000, help="emulator states for each proved mutant")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget-s", type=float, default=float("inf"), help="begin no window after so many seconds")
    add_options(parser)
    options = parser.parse_args(arguments)
    records = read_all(options.output)
    if not options.report_only:
        first, step = options.shard
        amounts = Amounts(options.edits, options.mutants, options.states)
        done = frozenset(record["index"] for record in records)
        windows = range(first, options.windows, step)
        for record in run(windows, options.seed, amounts, corpus=True, budget_s=options.budget_s, done=done):
            records.append(record)
            if options.output:
                append(options.output[0], record)
    found = summary(records)
    print(json.dumps(found, indent=1))
    print(table(records))
    return 1 if found["soundness errors"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
