"""The producers within reach of the wait-state check, and how old each is, on the way through one block.

Owns that state alone: what an instruction is to the rules is in `hazard_steps`, which pairs are too close in `static_hazards`.
Ages are kept as the time at which a producer issued, so that an instruction costs no work for those before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from asmevo.verify.static.hazard_steps import HazardStep, Kind

_SLACK = 8
"""Producers past their reach that are kept before they are looked for."""


class Age(NamedTuple):
    """Least slots since a producer issued, by either count, and the scalar units surely overwritten since.

    A scalar that the SALU overwrites is the SALU's, whose results are interlocked.
    """

    compiler: int
    physical: int
    overwritten: int


State = dict[int, Age]
"""Producers still within reach, by step number."""


class _Producer:
    """One producer: when it issued, by either count, and whether in this block, behind all that came before it in `Reach`."""

    __slots__ = ("compiler", "is_here", "overwritten", "physical", "step")

    def __init__(self, step: HazardStep, compiler: int, physical: int, overwritten: int, *, is_here: bool = False) -> None:
        self.step = step
        self.is_here = is_here
        self.compiler = compiler
        self.physical = physical
        self.overwritten = overwritten


class Reach:
    """A state that instructions are issued to, one by one: each `wait`, then `met` when it is asked for, then `issue`."""

    __slots__ = ("_compiler", "_gives", "_limit", "_physical", "_producers", "_settling", "_unnamed", "_unnamed_given")

    def __init__(self, state: Mapping[int, Age], steps: Sequence[HazardStep], unnamed: int) -> None:
        """Start from `state`, whose producers are in `steps`; `unnamed` are the rules of `hazard_steps.unnamed_rules`."""
        self._compiler = self._physical = 0
        self._unnamed = unnamed
        self._producers = {n: _Producer(steps[n], -age.compiler, -age.physical, age.overwritten) for n, age in state.items()}
        self._settling = [producer for producer in self._producers.values() if producer.step.passes]
        self._tidy()

    def wait(self, step: HazardStep) -> None:
        """Let the slots pass for which the matrix unit keeps `step` from issuing.

        Behind a matrix instruction of N passes the next one cannot issue before slot N, a packed one not before N + 2 or so.
        What surely issued before that matrix instruction is then older by as much.
        """
        if step.kind is Kind.OTHER or not self._settling:
            return
        is_matrix = step.kind is Kind.MATRIX
        still: list[_Producer] = []
        for producer in reversed(self._settling):
            before = producer.step
            late = producer.physical - self._physical + (before.passes - 1 if is_matrix else before.clears)
            if late > 0:
                if producer.is_here:
                    self._grow_older(producer, late)
                producer.physical -= late
            if self._physical - producer.physical <= before.passes + 1:
                still.append(producer)
        self._settling = still[::-1]

    def _grow_older(self, last: _Producer, slots: int) -> None:
        """Make those that issued before `last`, which issued in this block, older."""
        earlier: list[_Producer] = []
        for producer in self._producers.values():
            if producer is last:
                for one in earlier:
                    one.physical -= slots
                return
            earlier.append(producer)

    def met(self, step: HazardStep) -> Iterator[tuple[int, HazardStep, Age]]:
        """Yield the producers that may share a rule and registers with `step`, and their ages as it issues."""
        takes, consumed, unnamed = step.takes, step.consumed, self._unnamed
        if not (takes & self._gives or consumed & self._unnamed_given):
            return
        for number, producer in self._producers.items():
            other = producer.step
            common = other.produced & consumed
            if common and (other.gives & takes or common & unnamed):
                ages = self._compiler - producer.compiler, self._physical - producer.physical
                if ages[0] < other.lifetime:
                    yield number, other, Age(*ages, producer.overwritten)

    def issue(self, number: int, step: HazardStep) -> None:
        """Issue one step: what came before grows older, and it becomes a producer at distance 0."""
        if step.overwrites & self._gives:
            for producer in self._producers.values():
                producer.overwritten |= step.overwrites
        self._compiler += step.slots
        self._physical += step.slots
        if not step.lifetime:
            return
        if len(self._producers) >= self._limit or number in self._producers:
            self._tidy()
            self._producers.pop(number, None)  # its place is behind all others
        producer = self._producers[number] = _Producer(step, self._compiler, self._physical, 0, is_here=True)
        self._gives |= step.gives
        self._unnamed_given |= step.produced & self._unnamed
        if step.passes:
            self._settling.append(producer)

    def state(self) -> State:
        """Return the ages of the producers still within reach."""
        self._tidy()
        return {
            n: Age(self._compiler - p.compiler, self._physical - p.physical, p.overwritten)
            for n, p in self._producers.items()
        }  # fmt: skip

    def _tidy(self) -> None:
        now = self._compiler
        self._producers = {n: p for n, p in self._producers.items() if now - p.compiler < p.step.lifetime}
        self._gives = self._unnamed_given = 0
        for producer in self._producers.values():
            self._gives |= producer.step.gives
            self._unnamed_given |= producer.step.produced & self._unnamed
        self._limit = len(self._producers) + _SLACK
