"""Every pass and preset over the shipped kernels and a sample of a folder: judged, with modelled cycles before and after.

    python -m bench.passes                                  # kernels of examples/ and bench/suite: proof and strict emulation
    python -m bench.passes --corpus aiter/hsa/gfx942        # and a seeded sample of your objects: static checks and proof
    python -m bench.passes --shard 0/2 --out build/0.jsonl  # half of the kernels; `--table build/*.jsonl` puts shards together

Nothing is measured on a device. Rows go to a file of JSON lines, where a run goes on. --corpus is ASMEVO_CORPUS by default.
Exits with 1 when a result was refused, not decided, or a pass or judge raised.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

PRESETS = ("list-schedule", "O2", "O3")
"""What the tables of gains show; loops and whole dispatches are modelled for these alone."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs what is not in the file yet, and prints the tables."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.passes", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", type=Path, default=os.environ.get("ASMEVO_CORPUS"), help="folder of code objects")
    parser.add_argument("--kernels", type=int, default=300, help="how many of them are drawn")
    parser.add_argument("--seed", type=int, default=7, help="of the draw")
    parser.add_argument("--most-kilobytes", type=int, default=100, help="larger objects are not drawn, as slow to schedule")
    parser.add_argument("--no-compiled", action="store_true", help="leave out the kernels of examples/ and bench/suite")
    parser.add_argument("--presets-only", action="store_true", help="only what the tables of gains show, not every pass alone")
    parser.add_argument("--timeout-s", type=float, default=20.0, help="proof budget of one window")
    parser.add_argument("--shard", default="0/1", help="which part of the kernels, as 1/4")
    parser.add_argument("--out", type=Path, default=Path("build/passes.jsonl"), help="the file of rows")
    parser.add_argument("--table", type=Path, nargs="+", help="only print the tables of these files")
    options = parser.parse_args(arguments)
    if not options.table:
        _measure(options)
    return _print_tables(options.table or [options.out])


def _measure(options: argparse.Namespace) -> None:
    from asmevo.diagnostics import DiagnosticError
    from asmevo.passes.registry import available_passes
    from bench.passes.measure import Bench
    from bench.passes.sample import compiled, sampled
    from bench.passes.store import append, read

    subjects = [] if options.no_compiled else compiled()
    if options.corpus:
        subjects += sampled(Path(options.corpus), options.kernels, options.seed, options.most_kilobytes)
    shard, shards = map(int, options.shard.split("/"))
    pipelines = PRESETS if options.presets_only else (*PRESETS, "O1", *(n for n in available_passes() if n not in PRESETS))
    done = {(row.kernel, row.pipeline) for row in read([options.out])}
    mine = subjects[shard::shards]
    for number, subject in enumerate(mine, 1):
        left = [text for text in pipelines if (subject.name, text) not in done]
        if not left:
            continue
        try:
            bench = Bench(subject, options.timeout_s, options.out.with_suffix(".proofs"))
        except DiagnosticError as error:
            print(f"left out: {subject.name}: {error.diagnostics[0].message}", file=sys.stderr)
            continue
        for text in left:
            shown = text in PRESETS
            append(options.out, bench.row(text, again=not shown, whole=shown))
        print(f"{number}/{len(mine)} {subject.name}", file=sys.stderr, flush=True)


def _print_tables(files: Sequence[Path]) -> int:
    from bench.passes.store import read
    from bench.passes.tables import dispatches, dropped, gains, is_fault, loops, verdicts

    rows = list(read(files))
    if not rows:
        print("no rows", file=sys.stderr)
        return 1
    print("Modelled cycles; no device was used.")
    for title, lines in (
        ("Verdicts", verdicts(rows)),
        ("Passes that presets left out", dropped(rows)),
        ("Gains, geometric means", gains(rows, PRESETS)),
        ("Whole dispatches", dispatches(rows, PRESETS)),
        ("Hot loops, cycles a round", loops(rows, PRESETS)),
    ):
        print("\n".join(("", f"## {title}", "", *lines)))
    return int(any(map(is_fault, rows)))


if __name__ == "__main__":
    sys.exit(main())
