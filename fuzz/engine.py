"""Runs targets over numbered inputs in forked workers, and keeps what goes wrong.

Input number n of a target is a function of (seed, target, n) alone. A worker does a batch and leaves; what kills it, hangs it
or fills its memory is a fault of the input it was at. Owns processes, limits, counts and files; not targets, not the oracle.
"""

from __future__ import annotations

import faulthandler
import json
import mmap
import os
import resource
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from types import FrameType
from typing import NoReturn

from asmevo.atomic import write_atomically
from asmevo.diagnostics import DiagnosticError
from fuzz.oracle import CPU_LIMIT_S, MEMORY_LIMIT_BYTES, Fault, check_refusal, fault_of

_NUMBER, _DONE, _ACCEPTED, _SINCE = range(4)
"""Where a worker says what it is at: the input's number, inputs done, inputs accepted, when it began (monotonic seconds).

Doubles written one by one: a reader never sees half of one.
"""

_WALL_LIMIT_S = 180.0
"""Ends what uses no CPU time; far longer than CPU_LIMIT_S, or a busy machine would look like a fault."""

_POLL_S = 0.05
_BATCH_S = 20.0
_KEPT = 3
"""Inputs kept for each signature."""


@dataclass(frozen=True, slots=True)
class Target:
    """One reader under test. `make` gives an input; `check` returns whether it was accepted, raises DiagnosticError or a fault.

    `kind` is what its inputs count as: object or text. `share` is its part of the time.
    """

    name: str
    kind: str
    make: Callable[[Random], bytes]
    check: Callable[[bytes], bool]
    share: float = 1.0


@dataclass(slots=True)
class Count:
    """What was done for one target."""

    next: int = 0
    inputs: int = 0
    accepted: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Found:
    """One fault of one input."""

    target: str
    seed: int
    number: int
    fault: Fault


@dataclass(slots=True)
class Log:
    """Counts and findings in a folder, so that a run goes on where the last one ended. None: nothing is kept."""

    folder: Path | None
    counts: dict[str, Count] = field(default_factory=dict[str, Count])
    signatures: Counter[str] = field(default_factory=Counter[str])

    @classmethod
    def opened(cls, folder: Path | None, seed: int) -> Log:
        """Read what an earlier run with the same seed left in the folder."""
        log = cls(folder)
        if folder is None:
            return log
        folder.mkdir(parents=True, exist_ok=True)
        state = folder / f"state-{seed}.json"
        if state.exists():
            saved = json.loads(state.read_text())
            log.counts = {name: Count(**count) for name, count in saved["counts"].items()}
            log.signatures = Counter(saved["signatures"])
        return log

    def count(self, target: str) -> Count:
        """Return the count of a target."""
        return self.counts.setdefault(target, Count())

    def save(self, seed: int) -> None:
        """Write the state."""
        if self.folder is not None:
            state = {"counts": {n: asdict(c) for n, c in self.counts.items()}, "signatures": dict(self.signatures)}
            write_atomically(self.folder / f"state-{seed}.json", json.dumps(state, indent=1).encode())

    def add(self, found: Found, data: bytes) -> None:
        """Keep a finding, and the first inputs of each signature."""
        key = f"{found.target}: {found.fault.signature}"
        self.signatures[key] += 1
        if self.folder is not None and self.signatures[key] <= _KEPT:
            name = f"{found.target}-{found.seed}-{found.number}"
            (self.folder / f"{name}.input").write_bytes(data)
            (self.folder / f"{name}.txt").write_bytes(
                f"{found.fault.kind}\n{found.fault.signature}\n\n{found.fault.detail}\n".encode(errors="backslashreplace")
            )


def make_input(target: Target, seed: int, number: int) -> bytes:
    """Return input `number` of a target."""
    return target.make(Random(f"{seed}/{target.name}/{number}"))


def run(targets: Sequence[Target], log: Log, *, seed: int, seconds: float, jobs: int, report: Callable[[str], None]) -> int:
    """Run the targets in turn by their shares for `seconds`; return how many faulty inputs were met."""
    started, faults = time.monotonic(), 0
    spent = dict.fromkeys((t.name for t in targets), 0.0)
    running: dict[int, _Worker] = {}
    last = started
    while True:
        now = time.monotonic()
        if now - last >= 10:
            report(_line(log, targets, spent))
            last = now
        while len(running) < jobs and now - started < seconds:
            target = min(targets, key=lambda t: spent[t.name] / t.share)
            left = seconds - (now - started)
            worker = _Worker.started(
                target, seed, log.count(target.name).next, min(_BATCH_S, max(left, 0.2), max(seconds / 12, 0.5))
            )
            # Batches of one target never overlap: the next begins far behind this one until this one says where it ended.
            log.count(target.name).next = worker.limit
            spent[target.name] += worker.seconds
            running[worker.pid] = worker
        if not running:
            break
        for pid, worker in list(running.items()):
            done, found = worker.poll()
            for item in found:
                log.add(item, make_input(worker.target, seed, item.number))
                if log.signatures[f"{item.target}: {item.fault.signature}"] == 1:
                    report(f"FAULT {item.target} #{item.number}: {item.fault.signature}")
                faults += 1
            if done:
                del running[pid]
                count = log.count(worker.target.name)
                count.inputs += worker.inputs
                count.accepted += worker.accepted
                count.seconds += time.monotonic() - worker.began
                log.save(seed)
        time.sleep(_POLL_S)
    report(_line(log, targets, spent))
    return faults


def _line(log: Log, targets: Sequence[Target], spent: dict[str, float]) -> str:
    counts = [(t, log.count(t.name)) for t in targets]
    totals = Counter[str]()
    for target, count in counts:
        totals[target.kind] += count.inputs
    each = ", ".join(
        f"{t.name} {c.inputs:,} ({c.inputs / max(c.seconds, 1e-9):,.0f}/s, {c.accepted:,} accepted)"
        for t, c in counts
        if c.inputs
    )
    return f"{', '.join(f'{n:,} {kind}s' for kind, n in sorted(totals.items()))}: {each}"


class Hang(BaseException):
    """An input took more CPU time than allowed."""


_BATCH_INPUTS = 1 << 20


@dataclass(slots=True)
class _Worker:
    """A forked process at a batch: inputs `first` up to `limit`, or as many as its seconds allow."""

    target: Target
    seed: int
    first: int
    limit: int
    seconds: float
    pid: int
    slot: memoryview[float]
    pipe: int
    began: float
    inputs: int = 0
    accepted: int = 0
    output: bytes = b""

    @classmethod
    def started(cls, target: Target, seed: int, first: int, seconds: float) -> _Worker:
        slot = memoryview(mmap.mmap(-1, 4 * 8)).cast("d")
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        limit = first + _BATCH_INPUTS
        slot[_NUMBER], slot[_SINCE] = first, time.monotonic()
        pid = os.fork()
        if pid == 0:
            os.close(reading)
            _work(target, seed, first, limit, seconds, slot, writing)
        os.close(writing)
        return cls(target, seed, first, limit, seconds, pid, slot, reading, time.monotonic())

    def poll(self) -> tuple[bool, list[Found]]:
        """Return whether it has ended, and the faults it told of or died of."""
        self._read()
        number = int(self.slot[_NUMBER])
        stuck = time.monotonic() - self.slot[_SINCE] > _WALL_LIMIT_S
        doing = _doing(self.pid) if stuck else ""
        if stuck:
            os.kill(self.pid, signal.SIGKILL)
        pid, status = os.waitpid(self.pid, 0 if stuck else os.WNOHANG)
        if pid == 0:
            return False, self._told()
        self._read()
        os.close(self.pipe)
        number, self.inputs, self.accepted = (int(self.slot[i]) for i in (_NUMBER, _DONE, _ACCEPTED))
        found = self._told()
        if stuck:
            found.append(self._fault(number, "hang", f"hang: more than {_WALL_LIMIT_S:.0f} s", doing))
        elif os.WIFSIGNALED(status):
            found.append(self._fault(number, "death", f"death by signal {os.WTERMSIG(status)}"))
        return True, found

    def _fault(self, number: int, kind: str, words: str, detail: str = "") -> Found:
        return Found(self.target.name, self.seed, number, Fault(kind, words, detail or words))

    def _read(self) -> None:
        try:
            while part := os.read(self.pipe, 1 << 16):
                self.output += part
        except BlockingIOError:
            pass

    def _told(self) -> list[Found]:
        *lines, self.output = self.output.split(b"\n")
        told = (json.loads(line) for line in lines)
        return [Found(self.target.name, self.seed, item["number"], Fault(**item["fault"])) for item in told]


def _doing(pid: int) -> str:
    """What the kernel says of a process that does not come on."""
    return "\n".join(Path(f"/proc/{pid}/{name}").read_text(errors="replace") for name in ("status", "wchan", "stat"))


def _work(target: Target, seed: int, first: int, limit: int, seconds: float, slot: memoryview[float], pipe: int) -> NoReturn:
    status = 1
    try:
        faulthandler.disable()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        allowed = pages * resource.getpagesize() + MEMORY_LIMIT_BYTES
        resource.setrlimit(resource.RLIMIT_AS, (allowed, resource.RLIM_INFINITY))
        signal.signal(signal.SIGPROF, too_long)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        for number, fault in _batch(target, seed, first, limit, time.monotonic() + seconds, slot):
            os.write(pipe, json.dumps({"number": number, "fault": asdict(fault)}).encode() + b"\n")
        status = 0
    finally:
        os._exit(status)


def too_long(_: int, frame: FrameType | None) -> None:
    """Handle SIGPROF, which comes when an input has had its time."""
    raise Hang(f"more than {CPU_LIMIT_S:.0f} s of CPU time")


def _batch(
    target: Target, seed: int, first: int, limit: int, deadline: float, slot: memoryview[float]
) -> Iterator[tuple[int, Fault]]:
    accepted = 0
    for number in range(first, limit):
        now = time.monotonic()
        if now > deadline:
            return
        slot[_NUMBER], slot[_SINCE] = number, now
        data = make_input(target, seed, number)
        was_accepted, fault = judge(target, data)
        accepted += was_accepted
        slot[_DONE], slot[_ACCEPTED] = number - first + 1, accepted
        if fault is not None:
            yield number, fault


def judge(target: Target, data: bytes) -> tuple[bool, Fault | None]:
    """Return whether one input was accepted, and its fault if it met one."""
    before = _cpu_s()
    signal.setitimer(signal.ITIMER_PROF, CPU_LIMIT_S)
    try:
        try:
            accepted = target.check(data)
        except DiagnosticError as error:
            check_refusal(error)
            accepted = False
    except (Exception, Hang) as error:
        return False, fault_of(error)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    # Children have a time of their own.
    if (used := _cpu_s() - before) > CPU_LIMIT_S:
        return accepted, Fault("slow", "slow: more CPU time than allowed", f"{used:.1f} s")
    return accepted, None


def _cpu_s() -> float:
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
