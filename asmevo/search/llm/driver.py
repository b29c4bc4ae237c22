"""A language model as a proposer: one long conversation a hot window, with tools, until nothing more is gained there.

Owns the course of a conversation: what is asked next, when it ends, and what the lineage is told. It judges nothing: an edit
that the model wants judged is yielded as a proposal, and what came of it is the answer to the model's call.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any, NoReturn

from asmevo.diagnostics import fail, printable
from asmevo.ir.kernel import Kernel
from asmevo.search.evaluation import Evaluator
from asmevo.search.llm import toolbox
from asmevo.search.llm.bench import Sketch, ToolSession
from asmevo.search.llm.conversation import Conversation
from asmevo.search.llm.prompting import Prompt, message, system_prompt
from asmevo.search.llm.retrying import Asker
from asmevo.search.llm.spending import CHARACTERS_A_TOKEN
from asmevo.search.llm.toolbox import Answer, Submission
from asmevo.search.llm.variants import Variants, reward_of
from asmevo.search.llm.view import WindowView
from asmevo.search.llm.wire import Reply, Request, ToolCall, WireError
from asmevo.search.proposal import Proposal, Situation
from asmevo.search.records import Attempt, Status
from asmevo.verify.verdict import Outcome, Verdict

_LEAST_REPLY_TOKENS = 256
"""With less than that left a reply could hold no edit."""
_NUDGES = 2
"""Replies in a row without any tool call, after which the window is left."""
_SAME_ENDINGS = 3
"""Edits in a row that ended the same way, after which the model is told to try something else."""
_FAILURES = 2
"""Conversations in a row that a server or the model broke off, after which it is not asked again."""


@dataclass(frozen=True, slots=True)
class Manners:
    """How a conversation is led: the model's name, and bounds for one visit at a window and for one request."""

    model: str
    replies: int = 24
    reply_tokens: int = 8192
    context_tokens: int = 64_000
    temperature: float | None = None
    seed: int | None = None


@dataclass(slots=True)
class _Thread:
    """What is kept of a window between visits."""

    prompt: Prompt
    conversation: Conversation
    cycles: float


@dataclass(slots=True)
class _Visit:
    """One call of `propose`: the tools' session, and how it goes."""

    session: ToolSession
    deadline: float | None = None
    is_return: bool = False
    nudges: int = 0
    calls: int = 0
    judged: int = 0
    gain: float = 0.0
    cycles: float | None = None
    """Of the kernel with the edit that was accepted."""
    replies: int = 0
    endings: list[str] = field(default_factory=list[str])
    is_over: bool = False


@dataclass(slots=True)
class ModelProposer:
    """Proposes what a model writes. A dialogue: it keeps its conversations, and is told what came of each proposal."""

    asker: Asker
    manners: Manners
    variants: Variants
    log: Callable[[str], None] | None = None
    keep: Callable[[bytes], object] | None = None
    """Stores a system prompt where the lineage finds it by its digest."""
    name: str = "model"
    is_dialogue: bool = True
    _threads: dict[tuple[str, int], _Thread] = field(default_factory=dict[tuple[str, int], _Thread])
    _failures: int = 0

    def __reduce__(self) -> NoReturn:
        # Behind it is a connection with a key, which must not travel.
        raise TypeError("a dialogue with a model stays in its own process")

    def propose(self, situation: Situation) -> Generator[Proposal, Attempt | None, None]:
        """Edits of the chosen window, each when the model asks for its judgement.

        Raises E0952 when the budget is spent, E0953 when the server refuses or fails again and again, E0954 when the model
        declines, E0955 as a recorded session does.
        """
        if situation.window is None:
            return
        view = WindowView(situation.parent, situation.window, situation.profile)
        visit = _Visit(
            ToolSession(view, _modeller(situation), may_edit=True, history=situation.history), self._deadline(situation)
        )
        thread = self._thread(situation, visit)
        try:
            for _ in range(self.manners.replies):
                if visit.deadline is not None and self.asker.clock() >= visit.deadline:
                    break
                reply = self._ask(thread, situation, visit)
                yield from self._answered(thread, visit, reply)
                if visit.is_over or visit.judged >= situation.limit:
                    break
        finally:
            thread.cycles = situation.parent_cycles if visit.cycles is None else visit.cycles
            if visit.replies:
                self.variants.learn(thread.prompt.variant, reward_of(visit.gain, visit.judged))

    def _deadline(self, situation: Situation) -> float | None:
        seconds = situation.remaining.seconds
        return None if seconds is None else self.asker.clock() + seconds

    # ---- the conversation ----

    def _thread(self, situation: Situation, visit: _Visit) -> _Thread:
        """The window's conversation: gone on with, or begun."""
        window, view = situation.window, visit.session.view
        assert window is not None, "the caller has looked"
        # Which stretch of its block it is: positions move with every edit, this number does not.
        key = window.label, sum(other.label == window.label and other.start < window.start for other in situation.windows)
        thread = self._threads.get(key)
        if thread is not None:
            visit.is_return = True
            name = "accepted" if thread.cycles == situation.parent_cycles else "changed"
            thread.conversation.say(message(name, thread.prompt.version, cycles=f"{situation.parent_cycles:,.0f}"))
            return thread
        prompt = system_prompt(situation.parent.target, self.variants.choose())
        causes = ", ".join(
            f"{cause} {cycles:,.0f}" for cause, cycles in sorted(window.stalls.items(), key=lambda i: (-i[1], i[0]))
        )
        opening = message(
            "begin",
            block=view.names.label(window.label),
            instructions=window.stop - window.start,
            lost=f"{window.lost:,.0f}",
            causes=causes or "no stalls",
            cycles=f"{situation.parent_cycles:,.0f}",
            attempts=len(situation.history),
        )
        if self.keep is not None:
            self.keep(prompt.text.encode())
        thread = _Thread(prompt, Conversation(prompt.text, opening), situation.parent_cycles)
        self._threads[key] = thread
        return thread

    def _ask(self, thread: _Thread, situation: Situation, visit: _Visit) -> Reply:
        """The model's next reply, within the budget."""
        manners, remaining = self.manners, situation.remaining
        thread.conversation.compact(int(manners.context_tokens * CHARACTERS_A_TOKEN))
        tools = tuple((tool.name, tool.description, tool.schema()) for tool in toolbox.tools(edits=True))
        request = self._request(thread, tools, manners.reply_tokens)
        allowed = self.asker.account.affordable(request, manners.reply_tokens, remaining.tokens, remaining.money)
        if allowed < _LEAST_REPLY_TOKENS:
            told = self.asker.account.summary()
            fail("E0952", f"the model's budget is spent: {told}", help="raise --max-tokens or --max-cost")
        try:
            reply = self.asker.ask(self._request(thread, tools, allowed), visit.deadline)
        except WireError as error:
            fail("E0953", f"the model cannot be asked: {error}", help="see docs/llm.md, what a server may answer")
        visit.replies += 1
        return reply

    def _request(self, thread: _Thread, tools: tuple[tuple[str, str, dict[str, Any]], ...], reply_tokens: int) -> Request:
        manners = self.manners
        return Request(manners.model, thread.conversation.turns(), tools, reply_tokens, manners.temperature, manners.seed)

    def _answered(self, thread: _Thread, visit: _Visit, reply: Reply) -> Generator[Proposal, Attempt | None, None]:
        """What a reply asks for is done and said, in its order; edits that it wants judged are yielded."""
        conversation = thread.conversation
        if reply.refusal:
            conversation.replied(reply, ["{}"] * len(reply.calls))
            self._declined(visit, reply.refusal)
            return
        answers: list[str] = []
        try:
            for call in reply.calls:
                answers.append((yield from self._called(thread, visit, call)))
        finally:
            # Also when the engine closes the dialogue in the middle: a call without an answer would spoil the conversation.
            left = len(reply.calls) - len(answers)
            conversation.replied(reply, [*answers, *[_NOT_RUN] * left])
        self._failures = 0
        visit.calls += len(reply.calls)
        if reply.calls:
            self._redirect(conversation, visit)
        elif visit.nudges >= _NUDGES or ((visit.calls or visit.is_return) and not reply.is_cut):
            visit.is_over = True
        else:
            visit.nudges += 1
            cut = "Your reply was cut: be brief. " if reply.is_cut else ""
            conversation.say(cut + message("nudge", thread.prompt.version))

    def _called(self, thread: _Thread, visit: _Visit, call: ToolCall) -> Generator[Proposal, Attempt | None, str]:
        """A tool's answer."""
        if visit.is_over:
            return _NOT_RUN
        found = toolbox.call(visit.session, call.name, call.arguments)
        if isinstance(found, Answer):
            return found.text()
        return (yield from self._judged(thread, visit, found))

    def _judged(self, thread: _Thread, visit: _Visit, submission: Submission) -> Generator[Proposal, Attempt | None, str]:
        sketch = submission.sketch
        attempt = yield self._proposal(thread, visit, sketch)
        visit.judged += 1
        if attempt is None:
            return toolbox.refusal("not-judged", "the search did not say what came of it").text()
        visit.endings.append(attempt.status.value)
        before = visit.session.view.timing.total_cycles
        if attempt.status is Status.ACCEPTED and attempt.cycles is not None and attempt.cycles < before:
            visit.cycles, visit.gain = attempt.cycles, 1 - attempt.cycles / before
            visit.is_over = True
        return toolbox.bounded_json(visit.session.judged(sketch, attempt))

    def _proposal(self, thread: _Thread, visit: _Visit, sketch: Sketch) -> Proposal:
        notes = {"model": printable(self.manners.model), "prompt": thread.prompt.record()}
        return Proposal(
            self.name,
            printable(sketch.why) or "an edit without a reason",
            sketch.change,
            where=str(visit.session.view.window),
            # With what was asked in vain since the last proposal.
            cost=self.asker.account.new(),
            prompt=thread.prompt.sha256,
            notes=notes,
        )

    def _redirect(self, conversation: Conversation, visit: _Visit) -> None:
        """Breaks a row of edits that all end the same way."""
        last = visit.endings[-_SAME_ENDINGS:]
        if len(last) == _SAME_ENDINGS and len(set(last)) == 1:
            conversation.say(message("redirect", count=_SAME_ENDINGS, status=last[0]))
            visit.endings.clear()

    def _declined(self, visit: _Visit, told: str) -> None:
        """The model, or a filter, does not want to: the window is left, and after two in a row the model is."""
        visit.is_over = True
        self._failures += 1
        if self.log:
            self.log(f"the model declined: {printable(told)[:200]}")
        if self._failures >= _FAILURES:
            fail("E0954", f"the model declines: {printable(told)[:200]}", help="another model may not; see docs/llm.md")


def _modeller(situation: Situation) -> Evaluator:
    """What models sketches: it has no launches, so that it can judge nothing."""
    profile = situation.profile
    return Evaluator(situation.original, profile, (), _undecided, profile.waves_per_simd)


def _undecided(before: Kernel, after: Kernel) -> Verdict:
    del before, after
    return Verdict(Outcome.UNKNOWN, reason="sketches are not judged here")


_NOT_RUN = toolbox.refusal("not-run", "the window changed, or the visit ended, before this call: ask again").text()
