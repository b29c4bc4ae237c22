"""Pass pipelines, ready-made ones and ones with other options, over the whole kernel."""

from __future__ import annotations

import random
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from asmevo.passes.base import KernelPass, OptionInfo, options_of
from asmevo.passes.manager import PassManager
from asmevo.passes.pipeline import parse_pipeline, pipeline_text
from asmevo.passes.registry import available_passes
from asmevo.search.planning import START
from asmevo.search.proposal import Proposal, Situation
from asmevo.search.records import Attempt

PIPELINES = (
    "O3",
    "waitcnt-relax,nop-trim{physical=true}",
    "O1",
    "list-schedule,waitcnt-relax,nop-trim",
    "O2",
    "dce,O3",
    "resource-trim",
    "dce,waitcnt-relax,nop-trim,resource-trim",
)
_LONGEST = 5


@dataclass(frozen=True, slots=True)
class PipelineProposer:
    """Runs each pipeline over the whole kernel. The seed says with which it begins: islands begin with different ones."""

    pipelines: Sequence[str] = PIPELINES
    name: str = START
    is_dialogue: bool = False

    def propose(self, situation: Situation) -> Generator[Proposal, Attempt | None, None]:
        """A share of the pipelines to each of four islands at first; later all of them, on other parents."""
        if situation.parent is situation.original and not situation.effort and situation.seed < _ISLANDS:
            chosen = list(self.pipelines[situation.seed :: _ISLANDS])
        else:
            first = situation.seed % len(self.pipelines)
            chosen = [*self.pipelines[first:], *self.pipelines[:first]][:2]
        for text in chosen:
            yield _ran(self.name, parse_pipeline(text), text, situation)


_ISLANDS = 4


@dataclass(frozen=True, slots=True)
class TunedProposer:
    """Random pipelines of the installed passes with random options within their bounds, and neighbours of the presets."""

    name: str = "tuned-pipeline"
    is_dialogue: bool = False

    def propose(self, situation: Situation) -> Generator[Proposal, Attempt | None, None]:
        """Two candidates: a pipeline over a large kernel takes seconds."""
        source = random.Random(f"{self.name} {situation.seed}")
        known = [available_passes()[name] for name in sorted(available_passes())]
        for _ in range(min(2, situation.limit)):
            passes = [_tuned(source.choice(known), source) for _ in range(source.randint(1, _LONGEST))]
            yield _ran(self.name, passes, pipeline_text(passes), situation)


def _tuned(pass_type: type[Any], source: random.Random) -> KernelPass:
    values = {
        info.name.replace("-", "_"): _drawn(info, source)
        for info in options_of(pass_type)
        if info.kind is not str and source.random() < 0.5
    }
    return replace(pass_type(), **values)


def _drawn(info: OptionInfo, source: random.Random) -> int | float | bool:
    if info.kind is bool:
        return source.random() < 0.5
    default = float(info.default)
    low = default / 4 if info.ge is None else max(info.ge, default / 4)
    high = max(default * 4, 1.0) if info.le is None else min(info.le, max(default * 4, 1.0))
    drawn = source.uniform(low, max(low, high))
    return round(drawn) if info.kind is int else round(drawn, 3)


def _ran(name: str, passes: Sequence[KernelPass], text: str, situation: Situation) -> Proposal:
    profile = situation.profile
    manager = PassManager(tuple(passes), executions=profile.executions, waves_per_simd=profile.waves_per_simd)
    return Proposal(name, text, manager.run(situation.parent).kernel)
