"""What the edited side loads that the original does not: memory that nobody may read could lie there.

Owns that comparison of the loads of two sides, from everything but LDS, by address and lanes. A load that is made in lanes in
which the original makes none from that address is a difference, even where its data are never used. Loads may be dropped.
"""

from __future__ import annotations

from collections.abc import Hashable

from asmevo.verify.equivalence.compare import Difference
from asmevo.verify.equivalence.machine import Load, Machine
from asmevo.verify.equivalence.terms import Term

_MOST_COMPARED = 16


def new_loads(before: Machine, after: Machine) -> list[Difference]:
    """Return a difference for each load of `after` that is not the same, by its terms, as one of `before`.

    It is one of two bits: whether this lane loads where no load of the original does, and zero.
    """
    known: dict[tuple[Hashable, tuple[Term, ...]], set[Term]] = {}
    alike: dict[Hashable, list[Load]] = {}
    for load in before.loads:
        known.setdefault((load.attr, load.inputs), set()).add(load.lanes)
        alike.setdefault(load.attr, []).append(load)
    n = after.normaliser
    none = n.const(1, 0)
    found: list[Difference] = []
    for load in dict.fromkeys(after.loads):
        if load.lanes in known.get((load.attr, load.inputs), ()):
            continue
        covered = none
        for other in alike.get(load.attr, [])[:_MOST_COMPARED]:
            same = other.lanes
            for one, two in zip(load.inputs, other.inputs, strict=True):
                same = n.both(same, n.make("eq", 1, (one, two)))
            covered = n.make("or", 1, (covered, same))
        new = n.both(load.lanes, n.make("not", 1, (covered,)))
        if new is not none:
            found.append(Difference("the lanes of a load", -1, new, none))
    return found
