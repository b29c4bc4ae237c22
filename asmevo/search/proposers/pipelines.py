"""Pass pipelines, ready-made ones and ones with other options, over the whole kernel."""

from __future__ import annotations

import itertools
import random
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from asmevo.passes.base import KernelPass, OptionInfo, options_of
from asmevo.passes.manager import PassManager, PipelineResult
from asmevo.passes.pipeline import parse_pipeline, pipeline_text
from asmevo.passes.registry import available_passes
from asmevo.search.digests import kernel_digest
from asmevo.search.planning import PRESET, START
from asmevo.search.profile import Profile
from asmevo.search.proposal import Proposal, Situation
from asmevo.search.records import Attempt
from asmevo.search.state import ISLANDS

PIPELINES = (
    "O3",
    "O3,nop-trim{physical=true}",
    "dce,O3",
    "O2",
    "dce,O3,resource-trim",
)
_LONGEST = 5
_TUNED = 2


@dataclass(frozen=True, slots=True)
class PipelineProposer:
    """Runs each pipeline over the whole kernel.

    The seed says with which it begins: islands begin with different ones, once the first, the best preset, was judged.
    """

    pipelines: Sequence[str] = PIPELINES
    name: str = START
    is_dialogue: bool = False

    def propose(self, situation: Situation) -> Generator[Proposal, Attempt | None, None]:
        """By the errand's seed the preset alone, a share of the others to each island, or later some, on other parents."""
        if situation.seed == PRESET:
            chosen = list(self.pipelines[:1])
        elif situation.seed <= ISLANDS:
            chosen = list(self.pipelines[situation.seed :: ISLANDS])
        else:
            first = situation.seed % len(self.pipelines)
            chosen = [*self.pipelines[first:], *self.pipelines[:first]][:2]
        yield from _fresh(((text, parse_pipeline(text)) for text in chosen), self.name, situation)


@dataclass(frozen=True, slots=True)
class TunedProposer:
    """Random pipelines of the installed passes with random options within their bounds, and neighbours of the presets."""

    name: str = "tuned-pipeline"
    is_dialogue: bool = False

    def propose(self, situation: Situation) -> Generator[Proposal, Attempt | None, None]:
        """Two candidates: a pipeline over a large kernel takes seconds. Twice as many are run at most to find them."""
        source = random.Random(f"{self.name} {situation.seed}")
        drawn = ((pipeline_text(passes), passes) for passes in (_pipeline(source) for _ in range(2 * _TUNED)))
        yield from itertools.islice(_fresh(drawn, self.name, situation), _TUNED)


def _pipeline(source: random.Random) -> list[KernelPass]:
    """Some passes in any order; or those of the best preset, some of them tuned, one or two left out."""
    known = available_passes()
    if source.random() < 0.5:
        names = sorted(known)
        return [_tuned(known[source.choice(names)], source) for _ in range(source.randint(1, _LONGEST))]
    preset = parse_pipeline(PIPELINES[0])
    left_out = set(source.sample(range(len(preset)), source.randint(0, 2)))
    return [_tuned(type(item), source) if source.random() < 0.5 else item for n, item in enumerate(preset) if n not in left_out]


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


def _fresh(pipelines: Iterable[tuple[str, Sequence[KernelPass]]], name: str, situation: Situation) -> Iterator[Proposal]:
    """What the pipelines make of the parent, without what they leave as it is and what an earlier one made too."""
    profile = situation.profile
    seen = {kernel_digest(kernel) for kernel in (situation.original, situation.parent, *situation.elites)}
    for text, passes in pipelines:
        manager = PassManager(tuple(passes), executions=profile.executions, waves_per_simd=profile.waves_per_simd)
        result = manager.run(situation.parent)
        digest = kernel_digest(result.kernel)
        if digest in seen:
            continue
        seen.add(digest)
        yield Proposal(name, text, result.kernel, counts=_forecast(profile, result))


def _forecast(profile: Profile, result: PipelineResult) -> dict[str, int]:
    """What the passes say of blocks that they made run more or less often; of one made anew they know nothing."""
    return {label: count for label, count in profile.differing(result.kernel, result.executions).items() if count}
