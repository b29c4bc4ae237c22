"""Attempts to contradict a proof: random states in the emulator, and a second solver on what was proved.

Owns what is tried, not what is made of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from asmevo.ir.instruction import Instruction
from asmevo.verify.equivalence.certificates import ask, certify
from asmevo.verify.equivalence.execute import Executor
from asmevo.verify.equivalence.facts import NO_FACTS
from asmevo.verify.equivalence.machine import AddressUse, Machine
from asmevo.verify.equivalence.normal import Normaliser
from asmevo.verify.equivalence.replay import Replay, touched
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


def told_apart(window: CutWindow, edited: Sequence[Instruction], live_out: int, states: int) -> Runs:
    """Run both windows on `states` random states and compare every register that counts and both memories."""
    both = (window.instructions, edited)
    uses = [use for part in both for use in _uses(part, window.target)]
    replay = Replay(both, live_out, uses, semantics(window.target), NO_FACTS, window.target)
    if replay.problem is not None:
        return Runs(0, None)
    entry = EntryStates(uses, NO_FACTS, touched(both)[0])
    ran = number = faults = 0
    pointers = False
    while ran < states and faults < _GIVE_UP:
        places = replay.places(entry.state(number, None, pointers))
        if places:
            return Runs(ran + 1, number)
        if places is None:
            faults += 1
            pointers = not pointers
        else:
            ran, faults = ran + 1, 0
        number += 1
    return Runs(ran, None)


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
