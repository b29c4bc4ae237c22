"""Broken kernels must be refused by the static checks and the proof alone, without running anything.

The quick test takes the shipped kernels; the slow one 200 production objects and 5,000 mutants.
"""

import os
import random
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from asmevo.verify.equivalence.kernel import prove_kernel
from asmevo.verify.judge import static_verdict
from static_mutants import KINDS, MOVED, NOP_REMOVED, TOO_MUCH_LDS, UNDEFINED, WAIT_DROPPED, WAIT_WEAKENED, mutants
from support import EXAMPLES, SHIPPED

CORPUS = os.environ.get("ASMEVO_CORPUS")
OBJECTS, MUTANTS, LARGEST = 200, 5000, 8000
SHARES = {WAIT_DROPPED: 8, WAIT_WEAKENED: 6, NOP_REMOVED: 4, MOVED: 4, UNDEFINED: 2, TOO_MUCH_LDS: 1}
"""Mutants taken of each kind for one object, as far as it has them; what one kind lacks is made up by the others."""


def is_caught(kernel, mutant):
    static = static_verdict(kernel, mutant.kernel)
    if not static.outcome.is_success:
        return True
    return mutant.kind == MOVED and not prove_kernel(kernel, mutant.kernel, timeout_s=2.0).outcome.is_success


def chosen(kernel, shares, seed, most):
    """Some mutants of each kind, at random."""
    by_kind = defaultdict(list)
    for mutant in mutants(kernel):
        by_kind[mutant.kind].append(mutant)
    pick = random.Random(seed)
    taken, rest = [], []
    for kind in KINDS:
        pick.shuffle(by_kind[kind])
        taken += by_kind[kind][: shares[kind]]
        rest += by_kind[kind][shares[kind] :]
    pick.shuffle(rest)
    return [*taken, *rest][:most]


def of_object(item):
    """How many mutants of each kind one object gave, and those that were missed."""
    path, seed, most = item
    kernel = recover(load_file(path))
    if sum(1 for _ in kernel.instructions()) > LARGEST:
        return Counter(), []
    made = Counter()
    missed = []
    for mutant in chosen(kernel, SHARES, seed, most):
        made[mutant.kind] += 1
        if not is_caught(kernel, mutant):
            missed.append((mutant.kind, Path(path).name, mutant.where))
    return made, missed


@pytest.mark.parametrize("name", SHIPPED)
def test_every_mutant_of_a_shipped_kernel_is_caught(name):
    kernel = recover(load_file(EXAMPLES / "kernels" / f"{name}.co"))
    assert static_verdict(kernel, kernel).outcome.is_success
    found = chosen(kernel, SHARES, 1, sum(SHARES.values()))
    assert len(found) >= 3
    assert [(m.kind, m.where) for m in found if not is_caught(kernel, m)] == []


def test_the_shipped_kernels_give_mutants_of_every_kind():
    kernels = [recover(load_file(EXAMPLES / "kernels" / f"{name}.co")) for name in SHIPPED]
    assert {mutant.kind for kernel in kernels for mutant in mutants(kernel)} == set(KINDS)


@pytest.mark.slow
@pytest.mark.skipif(not CORPUS, reason="ASMEVO_CORPUS does not name a folder of production objects (ROCm/aiter, hsa)")
def test_mutants_of_production_objects_are_caught():
    assert CORPUS
    files = sorted(str(path) for path in Path(CORPUS).rglob("*.co"))
    random.Random(7).shuffle(files)
    made, missed, objects = Counter(), [], 0
    with ProcessPoolExecutor() as pool:
        for found, lost in pool.map(of_object, [(f, seed, MUTANTS // OBJECTS) for seed, f in enumerate(files[: 2 * OBJECTS])]):
            if found and objects < OBJECTS:
                objects += 1
                made += found
                missed += lost
    print(f"{made.total()} mutants of {objects} objects:", dict(made), "missed:", missed)
    assert objects == min(OBJECTS, len(files))
    assert made.total() >= MUTANTS or objects < OBJECTS
    assert len(missed) <= made.total() * 0.005, missed
