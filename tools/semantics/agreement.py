"""Compares the interpreters on every opcode and keeps the counts in agreement.tsv, which the coverage page tells of.

`python -m tools.semantics.agreement` runs all that the file has no row for, one row at a time, so that it can be stopped and
taken up again; `--again` forgets the rows first. gfx942 is compared in full, other targets where an opcode is new or means
something else. It takes hours on one core.
"""

from __future__ import annotations

import argparse
import importlib
import re
import sys
from collections.abc import Iterable, Iterator
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
HEAD = "# mnemonic, family, target, inputs to NumPy and native, of them to z3 too, equal to the last place only, problems\n"


def chosen() -> Iterator[tuple[OpcodeDef, str]]:
    """What is compared, matrix opcodes last: they take the longest."""
    found = [
        (definition, target)
        for target in ("gfx942", *(t for t in TARGETS if t != "gfx942"))
        for group in definitions().values()
        for definition in group
        if target in definition.targets and _is_own(definition, target)
    ]
    yield from sorted(found, key=lambda item: item[0].family is Family.MATRIX)


def _is_own(definition: OpcodeDef, target: str) -> bool:
    i = parse_line(next(iter(forms(definition, target))).line())
    program = program_of(i, target)
    if program is None or program.domain is Domain.CONTROL:
        return False
    return target == "gfx942" or "gfx942" not in definition.targets or program_of(i, "gfx942") != program


def rows() -> list[list[str]]:
    """The rows of the results file."""
    text = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else ""
    return [line.split("\t") for line in text.splitlines() if line and not line.startswith("#")]


def main(arguments: Iterable[str] | None = None) -> int:
    """Compares and records; 1 when interpreters disagree somewhere."""
    parser = argparse.ArgumentParser(description=__doc__, epilog="example: python -m tools.semantics.agreement --only 'v_add_'")
    parser.add_argument("--inputs", type=int, default=10_000, help="random inputs of each opcode (default 10000)")
    parser.add_argument("--z3", type=int, default=1_000, help="of them also evaluated by z3 (default 1000)")
    parser.add_argument("--only", default="", help="a regular expression that mnemonics must match")
    parser.add_argument("--again", action="store_true", help="forget what the results file has")
    given = parser.parse_args(None if arguments is None else list(arguments))
    sys.path.insert(0, str(ROOT / "tests"))
    compare: Any = importlib.import_module("agreement").compare
    done = [] if given.again else rows()
    known = {(row[0], row[2]) for row in done}
    failed = 0
    for definition, target in chosen():
        if (definition.mnemonic, target) in known or not re.search(given.only, definition.mnemonic):
            continue
        outcome: Any = compare(definition, target, given.inputs, given.z3)
        for problem in outcome.problems:
            print(problem, file=sys.stderr, flush=True)
        failed += bool(outcome.problems)
        numbers = (outcome.inputs, outcome.z3, int(outcome.last_place), len(outcome.problems))
        done.append([definition.mnemonic, definition.family.value, target, *map(str, numbers)])
        known.add((definition.mnemonic, target))
        write_atomically(RESULTS, (HEAD + "".join("\t".join(row) + "\n" for row in sorted(done))).encode())
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
