"""How many broken kernels the static checks refuse: `make mutants`, with ASMEVO_CORPUS naming the folder of objects.

Owns the experiment: which objects, how many mutants of each kind, which check has to refuse them. Nothing is executed.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from asmevo.collector import collector_paused
from asmevo.diagnostics import Severity
from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from asmevo.ir.kernel import Kernel
from asmevo.verify.equivalence.kernel import prove_kernel
from asmevo.verify.static.definedness import check_definedness
from asmevo.verify.static.hazards import new_hazard_findings
from asmevo.verify.static.resources import check_lds
from asmevo.verify.static.waits import new_wait_findings
from tools.done_log import HELP, logged, read_log
from tools.static_mutants.mutants import (
    KINDS,
    MOVED,
    NOP_REMOVED,
    TOO_MUCH_LDS,
    UNDEFINED,
    WAIT_DROPPED,
    WAIT_WEAKENED,
    Mutant,
    mutants,
)  # fmt: skip
from tools.triage import objects

OBJECTS, MUTANTS, SEED = 212, 5300, 7
"""A few more than 200 and 5,000, since some objects have too few sites."""

SHARES: Mapping[str, int] = {WAIT_DROPPED: 10, WAIT_WEAKENED: 7, NOP_REMOVED: 4, MOVED: 1, UNDEFINED: 2, TOO_MUCH_LDS: 1}
"""Mutants taken of each kind for one object, as far as it has them; dropped waits make up what is lacking."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of one object's mutants: how many were made of each kind, what refused how many, and which were missed.

    `caught` is by kind and by code or outcome; `missed` has kind and place of each.
    """

    file: str
    made: dict[str, int]
    caught: dict[str, dict[str, int]]
    missed: tuple[tuple[str, str], ...]


def caught_by(kernel: Kernel, mutant: Mutant) -> str | None:
    """What refuses the mutant: the code of a finding of the check that the kind is about; None when nothing does.

    For a moved instruction, where the registers say nothing, the outcome of the proof: it is refuted, or not proved.
    """
    if mutant.kind in (WAIT_DROPPED, WAIT_WEAKENED):
        found = new_wait_findings(kernel, mutant.kernel).findings
    elif mutant.kind == NOP_REMOVED:
        found = new_hazard_findings(kernel, mutant.kernel).findings
    elif mutant.kind == MOVED:
        outcome = prove_kernel(kernel, mutant.kernel, timeout_s=0.3).outcome
        return None if outcome.is_success else outcome.value
    else:
        check = check_definedness if mutant.kind == UNDEFINED else check_lds
        found = [finding for finding in check(mutant.kernel) if finding.severity is Severity.ERROR]
    return found[0].code if found else None


def chosen(kernel: Kernel, seed: int, most: int, shares: Mapping[str, int] = SHARES) -> list[Mutant]:
    """Some mutants of each kind, at random."""
    found: list[Mutant] = []
    for kind in (kind for kind in KINDS if kind != WAIT_DROPPED):
        found += islice(mutants(kernel, kind, random.Random(f"{seed} {kind}")), shares[kind])
    dropped = mutants(kernel, WAIT_DROPPED, random.Random(f"{seed} {WAIT_DROPPED}"))
    return [*found, *islice(dropped, max(most - len(found), 0))]


def judge(item: tuple[str, str, int, int], kinds: Sequence[str] = KINDS) -> Judged:
    """Make the mutants of one object (its name, path, seed, and how many) and ask the checks about those of `kinds`."""
    with collector_paused():
        return _judge(*item, kinds)


def _judge(name: str, path: str, seed: int, most: int, kinds: Sequence[str]) -> Judged:
    kernel = recover(load_file(path))
    made: Counter[str] = Counter()
    caught: dict[str, dict[str, int]] = {}
    missed: list[tuple[str, str]] = []
    for mutant in (mutant for mutant in chosen(kernel, seed, most) if mutant.kind in kinds):
        made[mutant.kind] += 1
        by = caught_by(kernel, mutant)
        if by is None:
            missed.append((mutant.kind, mutant.where))
        else:
            counts = caught.setdefault(mutant.kind, {})
            counts[by] = counts.get(by, 0) + 1
    return Judged(name, dict(made), caught, tuple(missed))


def work(corpus: Path, count: int, most: int, seed: int) -> list[tuple[str, str, int, int]]:
    """`count` objects of a corpus at random, with `most` mutants in all."""
    found = objects(corpus)
    random.Random(seed).shuffle(found)
    return [(name, str(path), number, most // count) for number, (name, path) in enumerate(found[:count])]


def judge_all(items: list[tuple[str, str, int, int]], jobs: int) -> Iterator[Judged]:
    """As `judge`, for each item, in order."""
    if jobs == 1:
        yield from map(judge, items)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(judge, items)


def table(results: Sequence[Judged]) -> str:
    """What was made and caught, by kind, and each mutant that was missed."""
    made: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    caught = {kind: Counter[str]() for kind in KINDS}
    for result in results:
        made.update(result.made)
        missed.update(kind for kind, _ in result.missed)
        for kind, counts in result.caught.items():
            caught[kind].update(counts)
    lines = ["| kind | made | caught | missed | by |", "|---|---|---|---|---|"]
    for kind in KINDS:
        by = ", ".join(f"{name} {count:,}" for name, count in caught[kind].most_common())
        lines.append(f"| {kind} | {made[kind]:,} | {made[kind] - missed[kind]:,} | {missed[kind]} | {by} |")
    total, lost = made.total(), missed.total()
    share = f"{100 * (total - lost) / total:.2f} %" if total else "none"
    objects_made = len({result.file for result in results})
    lines += [f"| all, {objects_made} objects | {total:,} | {total - lost:,} ({share}) | {lost} | |", ""]
    lines += [f"missed: {kind} in {result.file} at {where}" for result in results for kind, where in result.missed]
    return "\n".join(lines)


def _decode(fields: dict[str, Any]) -> Judged:
    given = dict(fields)
    given["missed"] = tuple((kind, where) for kind, where in given["missed"])
    return Judged(**given)


def _judge_with_log(items: list[tuple[str, str, int, int]], log: Path, jobs: int) -> list[Judged]:
    done = read_log(log, _decode)
    for result in logged(log, done.values(), judge_all([item for item in items if item[0] not in done], jobs)):
        done[result.file] = result
    return [done[item[0]] for item in items]


def main(arguments: list[str]) -> int:
    """Make and judge the mutants, print the table. 1 when more than one in 200 is missed, 2 when there is no corpus."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--corpus", default=os.environ.get("ASMEVO_CORPUS"), help="folder of objects [ASMEVO_CORPUS]")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--objects", type=int, default=OBJECTS)
    parser.add_argument("--mutants", type=int, default=MUTANTS)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--log", type=Path, help=HELP)
    options = parser.parse_args(arguments)
    if not options.corpus or not Path(options.corpus).is_dir():
        print("error: set ASMEVO_CORPUS to a folder of production objects (ROCm/aiter, hsa)", file=sys.stderr)
        return 2
    items = work(Path(options.corpus), options.objects, options.mutants, options.seed)
    results = _judge_with_log(items, options.log, options.jobs) if options.log else list(judge_all(items, options.jobs))
    print(table(results))
    made = sum(sum(result.made.values()) for result in results)
    return int(sum(len(result.missed) for result in results) > made * 0.005)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
