"""A long conversation kept within the model's context.

Owns the turns and what is left out of them when they grow too long: first the answers of tools that can be asked again, then
whole rounds, oldest first. What is sent stays well formed: each tool call keeps its answer. Repeatable: no model is asked for a
summary.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from asmevo.search.llm.names import shortened
from asmevo.search.llm.toolbox import MAX_ARGUMENT_CHARS
from asmevo.search.llm.wire import Reply, ToolCall, Turn

_WORTH_CUTTING = 400
"""Characters; a shorter text is left as it is."""
_MOST_SAID = 20_000
"""Characters kept of what a model says beside its calls, which no tool reads."""
_FRESH_ROUNDS = 3
"""Rounds at the end that are never shortened."""


@dataclass(slots=True)
class Conversation:
    """System prompt, opening and rounds; a round is a reply with the answers to its calls, or a word of ours."""

    system: str
    opening: str
    rounds: list[tuple[Turn, ...]] = field(default_factory=list[tuple[Turn, ...]])
    left_out: int = 0
    """Rounds that were dropped."""

    def turns(self) -> tuple[Turn, ...]:
        """What is sent."""
        told = f"{self.opening}\n\n({self.left_out} earlier rounds are left out.)" if self.left_out else self.opening
        return (Turn("system", self.system), Turn("user", told), *(turn for each in self.rounds for turn in each))

    def say(self, text: str) -> None:
        """Add a word of ours."""
        self.rounds.append((Turn("user", text),))

    def replied(self, reply: Reply, answers: Sequence[str]) -> None:
        """Add a reply and the answers to its calls, in their order."""
        calls = tuple(replace(call, arguments=_bounded(call.arguments)) for call in reply.calls)
        answered = (Turn("tool", text, call=call.id) for call, text in zip(calls, answers, strict=True))
        # A turn without text and calls is no message that a server takes.
        text = shortened(reply.text or reply.refusal, _MOST_SAID) or ("" if calls else "(nothing)")
        self.rounds.append((Turn("assistant", text, calls), *answered))

    def compact(self, most: int) -> None:
        """When longer than `most` characters, cut down to half of it, so that a server's cache of the beginning lasts."""
        if self._characters() <= most:
            return
        for place in range(max(len(self.rounds) - _FRESH_ROUNDS, 0)):
            self.rounds[place] = tuple(map(_shortened, self.rounds[place]))
            if self._characters() <= most // 2:
                return
        while len(self.rounds) > 1 and self._characters() > most // 2:
            del self.rounds[0]
            self.left_out += 1

    def _characters(self) -> int:
        return sum(len(turn.text) + sum(len(call.arguments) for call in turn.calls) for turn in self.turns())


def _shortened(turn: Turn) -> Turn:
    text = turn.text
    if turn.role == "tool" and len(text) > _WORTH_CUTTING:
        text = json.dumps({"left_out": f"{len(text)} characters; ask again when you need them"})
    calls = tuple(
        ToolCall(call.id, call.name, json.dumps({"left_out": f"{len(call.arguments)} characters"}))
        if len(call.arguments) > _WORTH_CUTTING
        else call
        for call in turn.calls
    )
    return Turn(turn.role, text, calls, turn.call)


def _bounded(arguments: str) -> str:
    """Arguments as a server takes them back: an object, of the size that tools read."""
    if len(arguments) > MAX_ARGUMENT_CHARS:
        return json.dumps({"left_out": f"{len(arguments)} characters"})
    return arguments if _is_object(arguments) else "{}"


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
