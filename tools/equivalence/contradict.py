"""Attempts to contradict a proof: random states in the emulator, and a second solver on what was proved.

Owns what is tried, not what is made of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from asmevo.ir.instruction import Instruction
from asmevo.verify.equivalence.certificates import ask, certify
from asmevo.verify.equivalence.concrete import WaveState, WindowRunner
from asmevo.verify.equivalence.execute import Executor
from asmevo.verify.equivalence.facts import NO_FACTS
from asmevo.verify.equivalence.machine import AddressUse, Machine
from asmevo.verify.equivalence.normal import Normaliser
from asmevo.verify.equivalence.replay import Comparison, touched
from asmevo.verify.equivalence.states import EntryStates
from asmevo.verify.equivalence.window import semantics
from tools.equivalence.windows import CutWindow

_GIVE_UP = 200
"""Faults in a row after which no further state is tried."""


@dataclass(frozen=True, slots=True)
class Runs:
    """How many states could be run, and the first that ended different (None: none did)."""

    ran: int
    differs: int | None


def told_apart(window: CutWindow, edits: Sequence[Sequence[Instruction]], live_out: int, states: int) -> list[Runs]:
    """Run the window and each edit of it on `states` random states; compare every register that counts and both memories.

    An edit is run until it is told apart. A state on which the window or the edit faults does not count.
    """
    parts = (window.instructions, *edits)
    uses = [use for part in parts for use in _uses(part, window.target)]
    original = WindowRunner(window.instructions, window.target)
    attacks = [_Attack(window, edit, live_out, original.stores) for edit in edits]
    going = [attack for attack in attacks if original.problem is None and attack.runner.problem is None]
    entry = EntryStates(uses, NO_FACTS, touched(parts)[0])
    number = faults = 0
    pointers = False
    while going and faults < _GIVE_UP:
        state = entry.state(number, None, pointers)
        before = original.run(state)
        if before is None:
            faults += 1
            pointers = not pointers
        else:
            faults = 0
            going = [attack for attack in going if attack.goes_on(before, state, number, states)]
        number += 1
    return [Runs(attack.ran, attack.differs) for attack in attacks]


class _Attack:
    """One edit under attack."""

    def __init__(self, window: CutWindow, edit: Sequence[Instruction], live_out: int, stores: bool) -> None:
        self.runner = WindowRunner(edit, window.target)
        written = touched((window.instructions, edit))[1]
        self._comparison = Comparison(live_out, written, stores or self.runner.stores)
        self._faults = 0
        self.ran = 0
        self.differs: int | None = None

    def goes_on(self, before: WaveState, state: WaveState, number: int, states: int) -> bool:
        """Run the edit on `state`, on which the window ended with `before`. False when that was the last."""
        after = self.runner.run(state)
        if after is None:
            self._faults += 1
            return self._faults < _GIVE_UP
        self._faults = 0
        self.ran += 1
        if next(self._comparison.places(before, after), None) is not None:
            self.differs = number
        return self.differs is None and self.ran < states


def _uses(window: Sequence[Instruction], target: str) -> list[AddressUse]:
    machine = Machine(Normaliser())
    executor = Executor(machine, semantics(target))
    for i in window:
        executor.run(i)
    return machine.uses


@dataclass(frozen=True, slots=True)
class SecondOpinion:
    """What a second solver says of a proof. `form` tells which terms it was about: "plain" ones or those in normal form.

    `answers` are those to the queries: none where both sides are the same terms.
    """

    form: str
    answers: tuple[str, ...]

    @property
    def contradicts(self) -> bool:
        """True when a query of the proof has a model."""
        return "sat" in self.answers


def second_opinion(window: CutWindow, edited: Sequence[Instruction], live_out: int, timeout_s: float = 10.0) -> SecondOpinion:
    """Prove the edit again, of terms that nothing rewrote where that succeeds, and ask cvc5 each query."""
    certificate = certify(str(window), window.instructions, edited, live_out, timeout_s=timeout_s, target=window.target)
    if certificate is None:
        return SecondOpinion("none", ())
    return SecondOpinion(certificate.form, tuple(ask("cvc5", certificate.text, timeout_s)))
