"""Broken kernels must be refused by the static checks and the proof alone, without running anything.

The quick tests take the shipped kernels; the slow one over 200 production objects and 5,000 mutants.
"""

import os
import random
from pathlib import Path

import pytest

from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from asmevo.verify.judge import static_verdict
from support import EXAMPLES, SHIPPED
from tools.static_mutants.mutants import KINDS, MOVED, TOO_MUCH_LDS, mutants
from tools.static_mutants.run import MUTANTS, OBJECTS, SEED, SHARES, Judged, caught_by, chosen, judge_all, table, work

CORPUS = os.environ.get("ASMEVO_CORPUS")


@pytest.mark.parametrize("name", SHIPPED)
def test_every_mutant_of_a_shipped_kernel_is_caught(name):
    kernel = recover(load_file(EXAMPLES / "kernels" / f"{name}.co"))
    assert static_verdict(kernel, kernel).outcome.is_success
    found = chosen(kernel, 1, sum(SHARES.values()))
    assert TOO_MUCH_LDS in {mutant.kind for mutant in found}
    assert [(m.kind, m.where) for m in found if not caught_by(kernel, m)] == []


def test_the_shipped_kernels_give_mutants_of_every_kind():
    kernels = [recover(load_file(EXAMPLES / "kernels" / f"{name}.co")) for name in SHIPPED]
    for kind in KINDS:
        assert any(next(mutants(kernel, kind, random.Random(1)), None) for kernel in kernels), kind


def test_the_table_names_what_was_missed():
    shown = table([Judged("a.co", {MOVED: 3}, {MOVED: {"refuted": 2}}, ((MOVED, "b[2]"),))])
    assert f"| {MOVED} | 3 | 2 | 1 | refuted 2 |" in shown
    assert f"missed: {MOVED} in a.co at b[2]" in shown


@pytest.mark.slow
@pytest.mark.skipif(not CORPUS, reason="ASMEVO_CORPUS does not name a folder of production objects (ROCm/aiter, hsa)")
def test_mutants_of_production_objects_are_caught():
    assert CORPUS
    items = work(Path(CORPUS), OBJECTS, MUTANTS, SEED)
    results = list(judge_all(items, os.cpu_count() or 1))
    made = sum(sum(result.made.values()) for result in results)
    missed = sum(len(result.missed) for result in results)
    print(table(results))
    assert made >= 5000 or len(items) < OBJECTS
    assert missed <= made * 0.005, table(results)
