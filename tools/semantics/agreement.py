"""Compares the interpreters on every opcode and keeps the counts in agreement.tsv, which the coverage page tells of.

`python -m tools.semantics.agreement` runs all that the file has no row for and writes each row as it comes, so that it can be
stopped and taken up again; `--again` forgets the rows first. gfx942 is compared in full, other targets where an opcode is new
or means something else. It takes about an hour of processor time.
"""

from __future__ import annotations

import argparse
import importlib
import multiprocessing
import re
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from asmevo.atomic import write_atomically
from asmevo.frontend.line import parse_line
from asmevo.frontend.llvm import TARGETS
from asmevo.ir.isa import definitions
from asmevo.ir.isa.model import Family, OpcodeDef
from asmevo.ir.semantics.expr import Domain
from asmevo.ir.semantics.registry import program_of
from tools.isa.forms import forms

ROOT = Path(__file__).resolve().parents[2]
RESULTS = Path(__file__).with_name("agreement.tsv")
HEAD = (
    "# mnemonic, definition, family, target, inputs to NumPy and native, of them to z3 too, equal to the last place only, "
    "problems\n"
)
_SLOWEST = (Family.MATRIX, Family.SMEM)
EARLIER = "earlier"
"""Stands behind a row that an earlier version of the comparison made; it is run again."""
Row = tuple[list[str], list[str]]
"""A row of the file, and the problems in words."""


def chosen() -> Iterator[tuple[OpcodeDef, str]]:
    """What is compared, what takes the longest last."""
    found = [
        (definition, target)
        for target in ("gfx942", *(t for t in TARGETS if t != "gfx942"))
        for group in definitions().values()
        for definition in group
        if target in definition.targets and _is_own(definition, target)
    ]
    yield from sorted(found, key=lambda item: _SLOWEST.index(item[0].family) if item[0].family in _SLOWEST else -1)


def _is_own(definition: OpcodeDef, target: str) -> bool:
    i = parse_line(next(iter(forms(definition, target))).line())
    program = program_of(i, target)
    if program is None or program.domain is Domain.CONTROL:
        return False
    return target == "gfx942" or "gfx942" not in definition.targets or program_of(i, "gfx942") != program


def _name(definition: OpcodeDef) -> tuple[str, str]:
    """The mnemonic, and which of its definitions: an atomic with and one without a result share a mnemonic."""
    which = definitions()[definition.mnemonic].index(definition)
    return definition.mnemonic, str(which)


def rows() -> list[list[str]]:
    """The rows of the results file."""
    text = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else ""
    return [line.split("\t") for line in text.splitlines() if line and not line.startswith("#")]


def _by_key(found: list[list[str]]) -> dict[tuple[str, str, str], list[str]]:
    return {(row[0], row[1], row[3]): row for row in found}


def _write(found: dict[tuple[str, str, str], list[str]]) -> None:
    text = HEAD + "".join("\t".join(row) + "\n" for _, row in sorted(found.items()))
    write_atomically(RESULTS, text.encode())


def compared(definition: OpcodeDef, target: str, inputs: int) -> Row:
    """The row of an opcode on a target."""
    sys.path.insert(0, str(ROOT / "tests"))
    outcome: Any = importlib.import_module("agreement").compare(definition, target, inputs)
    numbers = (outcome.inputs, outcome.z3, int(outcome.last_place), len(outcome.problems))
    return [*_name(definition), definition.family.value, target, *map(str, numbers)], outcome.problems


def _all_compared(wanted: list[tuple[OpcodeDef, str]], inputs: int, jobs: int) -> Iterator[Row]:
    """Rows as they come."""
    if jobs == 1:
        yield from (compared(definition, target, inputs) for definition, target in wanted)
        return
    # New interpreters: compiled code and z3 do not survive a fork.
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        asked = [pool.submit(compared, definition, target, inputs) for definition, target in wanted]
        yield from (done.result() for done in as_completed(asked))


def main(arguments: Iterable[str] | None = None) -> int:
    """Compares and records; 1 when interpreters disagree somewhere."""
    parser = argparse.ArgumentParser(description=__doc__, epilog="example: python -m tools.semantics.agreement --only 'v_add_'")
    parser.add_argument("--inputs", type=int, default=10_000, help="random inputs of each opcode (default 10000)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default 1)")
    parser.add_argument("--only", default="", help="a regular expression that mnemonics must match")
    parser.add_argument("--again", action="store_true", help="forget what the results file has")
    given = parser.parse_args(None if arguments is None else list(arguments))
    if given.again:
        _write({})
    known = set(_by_key([row for row in rows() if row[-1] != EARLIER]))
    failed = 0
    wanted: list[tuple[OpcodeDef, str]] = []
    for definition, target in chosen():
        if (*_name(definition), target) not in known and re.search(given.only, definition.mnemonic):
            wanted.append((definition, target))
    for row, problems in _all_compared(wanted, given.inputs, given.jobs):
        for problem in problems:
            print(problem, file=sys.stderr, flush=True)
        failed += bool(problems)
        # Read again: another run may have added rows.
        _write(_by_key(rows()) | _by_key([row]))
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
