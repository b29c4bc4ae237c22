"""The paths on which an operation is still pending where its registers are touched.

Owns the search along the blocks from the operation on, path by path, shortest first. It applies the same steps as the
data-flow that found the pair; whether a path can be taken is `path_feasibility`'s question.
"""

from __future__ import annotations

import enum
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Protocol

from asmevo.ir.kernel import Kernel
from asmevo.verify.static.wait_steps import Event, State, Step, advance, conflict

Path = tuple[str, ...]
"""Labels of blocks, each a successor of the one before."""

Pair = tuple[int, int]
"""The uids of the instruction that touches a register and of the operation that may be pending then."""


class Answer(enum.Enum):
    """What is known of a path."""

    POSSIBLE = "possible"
    IMPOSSIBLE = "impossible"
    UNKNOWN = "unknown"


class PathJudge(Protocol):
    """Judges paths. Whatever is impossible stays so when the path goes on."""

    def rules_out(self, path: Path) -> bool:
        """Whether a path is impossible, as far as a quick look tells: it is asked of every part of a path."""
        ...

    def judge(self, path: Path, met: Sequence[Pair]) -> Answer:
        """What can be known of a path, on which the pairs `met` meet."""
        ...


class _Collector:
    """Notes every path it is asked about, and rules out none."""

    def __init__(self) -> None:
        self.paths: defaultdict[Pair, set[Path]] = defaultdict(set)

    def rules_out(self, path: Path) -> bool:
        return False

    def judge(self, path: Path, met: Sequence[Pair]) -> Answer:
        for pair in met:
            self.paths[pair].add(path)
        return Answer.UNKNOWN


class WaitPaths:
    """Walks one kernel. `most` bounds how many blocks are walked through for the operations of one block, `in_all` for all."""

    def __init__(
        self,
        kernel: Kernel,
        events: Sequence[Event],
        steps: Mapping[str, Sequence[Step]],
        *,
        most: int = 256,
        in_all: int = 20_000,
    ) -> None:
        self._successors = {block.label: block.successors for block in kernel.blocks}
        self._blocks = {i.uid: block.label for block in kernel.blocks for i in block.instructions}
        self._events = events
        self._steps = steps
        self._most = most
        self._left = in_all

    def decide(self, pairs: Iterable[Pair], judge: PathJudge) -> dict[Pair, tuple[Answer, Path]]:
        """What `judge` says of the paths of each pair: POSSIBLE with one of them, or IMPOSSIBLE of all, or UNKNOWN.

        A path begins with the whole block of the operation and ends with the block of the instruction. UNKNOWN also where
        there are more paths than are walked.
        """
        answers: dict[Pair, tuple[Answer, Path]] = {}
        for label, wanted in self._by_block(pairs).items():
            found, complete = self._walk(label, wanted, judge)
            for pair in wanted:
                answers[pair] = found.get(pair, (Answer.IMPOSSIBLE if complete else Answer.UNKNOWN, (label,)))
        return answers

    def all(self, pairs: Iterable[Pair]) -> dict[Pair, frozenset[Path] | None]:
        """Every path of each pair; None when there are more than are walked."""
        found: dict[Pair, frozenset[Path] | None] = {}
        for label, wanted in self._by_block(pairs).items():
            collector = _Collector()
            _, complete = self._walk(label, wanted, collector)
            for pair in wanted:
                found[pair] = frozenset(collector.paths[pair]) if complete else None
        return found

    def _by_block(self, pairs: Iterable[Pair]) -> dict[str, set[Pair]]:
        by_block: dict[str, set[Pair]] = {}
        for pair in pairs:
            by_block.setdefault(self._blocks[pair[1]], set()).add(pair)
        return by_block

    def _walk(self, label: str, pairs: Iterable[Pair], judge: PathJudge) -> tuple[dict[Pair, tuple[Answer, Path]], bool]:
        """Return the answers other than IMPOSSIBLE, and whether every path that matters was walked to its end."""
        found: dict[Pair, tuple[Answer, Path]] = {}
        wanted = set(pairs)
        operations = {pair[1] for pair in wanted}
        numbers = {n for n, event in enumerate(self._events) if event.producer.uid in operations}
        users = {pair[0] for pair in wanted}
        relevant: dict[str, list[Step]] = {}
        work: deque[tuple[Path, State]] = deque([((label,), {})])
        walked = 0
        while work and wanted:
            path, state = work.popleft()
            here = path[-1]
            walked += 1
            self._left -= 1
            if walked > self._most or self._left < 0:
                return found, False
            if len(path) > 1 and judge.rules_out(path):
                continue
            steps = relevant.get(here)
            if steps is None:
                steps = [s for s in self._steps[here] if s.queues or s.waits or s.instruction.uid in users]
                relevant[here] = steps
            met = self._through(steps, state, numbers if len(path) == 1 else frozenset(), wanted)
            answer = judge.judge(path, met) if met else Answer.UNKNOWN
            if answer is Answer.IMPOSSIBLE:
                continue
            for pair in met:
                if answer is Answer.POSSIBLE:
                    found[pair] = (answer, path)
                    wanted.discard(pair)
                else:
                    found.setdefault(pair, (answer, path))
            still = {pair[1] for pair in wanted}
            alive = {n: age for n, age in state.items() if self._events[n].producer.uid in still}
            if alive:
                work.extend(((*path, following), dict(alive)) for following in dict.fromkeys(self._successors[here]))
        return found, True

    def _through(self, steps: Sequence[Step], state: State, starting: Set[int], wanted: Set[Pair]) -> list[Pair]:
        """Apply a block's steps to what is pending, where only `starting` may start; return the pairs met.

        An operation that runs again is dropped: the rest of that path is a path of its own, and less is asked of it.
        """
        met: dict[Pair, None] = {}
        for step in steps:
            for n in state:
                pair = (step.instruction.uid, self._events[n].producer.uid)
                if pair in wanted and conflict(self._events[n], step):
                    met[pair] = None
            if step.queues or step.waits:
                advance(state, step, self._events)
                for n in step.events:
                    if n not in starting:
                        state.pop(n, None)
        return list(met)
