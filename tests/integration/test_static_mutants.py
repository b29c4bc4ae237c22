"""Broken kernels must be refused by the static checks and the proof alone, without running anything.

The quick test takes the shipped kernels; the slow one 200 production objects and 5,000 mutants.
"""

import os
import random
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from pathlib import Path

import pytest

from asmevo.diagnostics import Severity
from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from asmevo.verify.equivalence.kernel import prove_kernel
from asmevo.verify.judge import static_verdict
from asmevo.verify.static_definedness import check_definedness
from asmevo.verify.static_hazards import new_hazard_findings
from asmevo.verify.static_resources import check_lds
from asmevo.verify.static_waits import new_wait_findings
from static_mutants import KINDS, MOVED, NOP_REMOVED, TOO_MUCH_LDS, UNDEFINED, WAIT_DROPPED, WAIT_WEAKENED, mutants
from support import EXAMPLES, SHIPPED

CORPUS = os.environ.get("ASMEVO_CORPUS")
OBJECTS, MUTANTS, LARGEST_BYTES = 200, 5000, 64 * 1024
SHARES = {WAIT_DROPPED: 9, WAIT_WEAKENED: 7, NOP_REMOVED: 4, MOVED: 2, UNDEFINED: 2, TOO_MUCH_LDS: 1}
"""Mutants taken of each kind for one object, as far as it has them; dropped waits make up what is lacking."""


def is_caught(kernel, mutant):
    """Whether the check that the kind is about refuses the mutant; for a moved instruction, the proof does not accept it."""
    if mutant.kind in (WAIT_DROPPED, WAIT_WEAKENED):
        return bool(new_wait_findings(kernel, mutant.kernel).findings)
    if mutant.kind == NOP_REMOVED:
        return bool(new_hazard_findings(kernel, mutant.kernel).findings)
    if mutant.kind == MOVED:
        return not prove_kernel(kernel, mutant.kernel, timeout_s=0.3).outcome.is_success
    check = check_definedness if mutant.kind == UNDEFINED else check_lds
    return any(finding.severity is Severity.ERROR for finding in check(mutant.kernel))


def chosen(kernel, seed, most, shares=SHARES):
    """Some mutants of each kind, at random."""
    pick = random.Random(seed)
    found = []
    for kind in (kind for kind in KINDS if kind != WAIT_DROPPED):
        found += islice(mutants(kernel, kind, pick), shares[kind])
    return [*found, *islice(mutants(kernel, WAIT_DROPPED, pick), max(most - len(found), 0))]


def of_object(item):
    """How many mutants of each kind one object gave, and those that were missed."""
    path, seed, most = item
    kernel = recover(load_file(path))
    made = Counter()
    missed = []
    for mutant in chosen(kernel, seed, most):
        made[mutant.kind] += 1
        if not is_caught(kernel, mutant):
            missed.append((mutant.kind, Path(path).name, mutant.where))
    return made, missed


@pytest.mark.parametrize("name", SHIPPED)
def test_every_mutant_of_a_shipped_kernel_is_caught(name):
    kernel = recover(load_file(EXAMPLES / "kernels" / f"{name}.co"))
    assert static_verdict(kernel, kernel).outcome.is_success
    found = chosen(kernel, 1, sum(SHARES.values()), {**SHARES, MOVED: 1})  # refuting one takes seconds in a long kernel
    assert TOO_MUCH_LDS in {mutant.kind for mutant in found}
    assert [(m.kind, m.where) for m in found if not is_caught(kernel, m)] == []


def test_the_shipped_kernels_give_mutants_of_every_kind():
    kernels = [recover(load_file(EXAMPLES / "kernels" / f"{name}.co")) for name in SHIPPED]
    for kind in KINDS:
        assert any(next(mutants(kernel, kind, random.Random(1)), None) for kernel in kernels), kind


@pytest.mark.slow
@pytest.mark.skipif(not CORPUS, reason="ASMEVO_CORPUS does not name a folder of production objects (ROCm/aiter, hsa)")
def test_mutants_of_production_objects_are_caught():
    assert CORPUS
    files = sorted(str(path) for path in Path(CORPUS).rglob("*.co") if path.stat().st_size <= LARGEST_BYTES)
    random.Random(7).shuffle(files)
    made, missed = Counter(), []
    with ProcessPoolExecutor() as pool:
        for found, lost in pool.map(of_object, [(f, seed, MUTANTS // OBJECTS) for seed, f in enumerate(files[:OBJECTS])]):
            made += found
            missed += lost
    print(f"{made.total()} mutants:", dict(made), "missed:", missed)
    assert made.total() >= MUTANTS * 0.9 or len(files) < OBJECTS
    assert len(missed) <= made.total() * 0.005, missed
