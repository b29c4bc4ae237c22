"""Candidates made to do harm: none is accepted, nothing crashes, memory is bounded."""

import random
import resource
from collections import Counter
from functools import lru_cache

import pytest

from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from asmevo.search.lineage import edits
from asmevo.search.profile import profile_kernel
from asmevo.search.proposal import Proposal
from asmevo.search.records import Status
from asmevo.search.shop import Judging, Outfit, Shop
from asmevo.verify.judge import Judge, Level
from asmevo.verify.launch.dispatches import load_launches
from hostile import KINDS
from support import EXAMPLES

MEMORY = 2 << 20
"""Kilobytes: far less than what the candidates would need."""


@lru_cache(maxsize=1)
def shop():
    code_object = load_file(EXAMPLES / "kernels" / "softmax.co")
    kernel = recover(code_object)
    dispatches = load_launches(EXAMPLES / "launches" / "softmax.toml", kernel)[:1]
    judge = Judge(Level.EMULATE, dispatches, timeout_s=1.0, seeds=(0,))
    return Shop(Outfit(kernel, profile_kernel(kernel, dispatches), dispatches, judge, (), None, code_object))


def ended(kind, seed):
    """The status of one candidate, with what it was when it got through."""
    kernel = shop().outfit.original
    change = kind(kernel, random.Random(f"{kind.__name__} {seed}"))
    draft = shop().draft(Proposal("hostile", kind.__name__, change), kernel, float("inf"))
    if draft.status is not None:
        return draft.status
    result = shop().do(Judging(edits.encoded(kernel, edits.applied(kernel, draft.edit))))
    assert result.status is not Status.ACCEPTED, (kind.__name__, seed, draft.edit, result.verdict)
    assert result.status is not Status.FAILED, (kind.__name__, seed, result.reason)
    return result.status


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_none_is_accepted(kind):
    statuses = Counter(ended(kind, seed) for seed in range(8))
    assert sum(statuses.values()) == 8


@pytest.mark.slow
def test_ten_thousand(capsys):
    statuses = Counter((kind.__name__, ended(kind, 1000 + seed).value) for seed in range(910) for kind in KINDS)
    with capsys.disabled():
        print("\n", dict(statuses))
    assert sum(statuses.values()) == 910 * len(KINDS) >= 10_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < MEMORY
