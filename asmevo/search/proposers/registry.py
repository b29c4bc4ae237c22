"""Which proposers there are: the ones shipped here and those of installed packages (entry-point group `asmevo.proposers`)."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any, cast

from asmevo.diagnostics import fail
from asmevo.search.proposal import Proposer
from asmevo.search.proposers.composing import ComposingProposer
from asmevo.search.proposers.learned import LearnedProposer
from asmevo.search.proposers.pipelines import PipelineProposer, TunedProposer
from asmevo.search.proposers.reorder import ReorderProposer
from asmevo.search.proposers.stochastic import RenamingProposer, StochasticProposer

ENTRY_POINT_GROUP = "asmevo.proposers"


def shipped_proposers() -> tuple[Proposer, ...]:
    """Those that need nothing from outside and repeat exactly."""
    return (
        PipelineProposer(),
        ReorderProposer(),
        StochasticProposer(),
        RenamingProposer(),
        TunedProposer(),
        ComposingProposer(),
        LearnedProposer(),
    )


def available_proposers() -> tuple[Proposer, ...]:
    """Shipped ones first, then plugins by name. Raises E0212 when one takes a name that is not its own or does not load."""
    found = list(shipped_proposers())
    for point in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda p: p.name):
        try:
            plugin: Any = point.load()()
            is_proposer = callable(plugin.propose) and isinstance(plugin.is_dialogue, bool)
        except Exception as error:
            # A plugin is someone else's code: whatever stops it from loading is theirs to mend, and not our bug.
            fail(
                "E0212", f"proposer plugin '{point.name}' from '{point.value}' cannot be used: {type(error).__name__}: {error}"
            )
        if not is_proposer or plugin.name != point.name or point.name in {proposer.name for proposer in found}:
            fail("E0212", f"proposer plugin '{point.name}' from '{point.value}' takes a name that is not its own")
        found.append(cast("Proposer", plugin))
    return tuple(found)
