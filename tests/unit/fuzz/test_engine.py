"""The engine finds every kind of fault, says which input it was, and goes on where it ended."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from asmevo.diagnostics import Span, fail
from fuzz import engine
from fuzz.engine import Log, Target, judge, make_input, run


def target(check: Callable[[bytes], bool]) -> Target:
    return Target("t", "text", lambda rng: bytes([rng.randrange(256)]), check)


def fault(check: Callable[[bytes], bool]) -> str:
    _, found = judge(target(check), b"x")
    return "" if found is None else found.signature


def refuse(span: Span | None, message: str = "wrong", code: str = "E0102") -> Callable[[bytes], bool]:
    return lambda _: fail(code, message, span)


def test_a_refusal_with_a_place_is_no_fault():
    assert fault(refuse(Span("f", offset=4))) == ""
    assert fault(refuse(Span("f", 1, 1))) == ""
    assert fault(refuse(Span("f"), code="E0109")) == ""


@pytest.mark.parametrize(
    ("check", "words"),
    [
        (refuse(None), "no place"),
        (refuse(Span("f")), "no place"),
        (refuse(Span("f", 1, 0)), "no place"),
        (refuse(Span("f", offset=-1)), "negative"),
        (refuse(Span("f", 1, 1), code="W1"), "no code"),
        (refuse(Span("f", 1, 1), message=" "), "message is empty"),
        (lambda _: bool(1 // 0), "ZeroDivisionError"),
        (lambda _: bool(bytearray(1 << 62)), "MemoryError"),
    ],
)
def test_what_is_a_fault(check: Callable[[bytes], bool], words: str):
    assert words in fault(check)


def test_time_is_cpu_time(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(engine, "CPU_LIMIT_S", 0.2)
    before = signal.signal(signal.SIGPROF, engine.too_long)
    try:
        assert "Hang" in fault(lambda _: all(True for _ in iter(int, 1)))
    finally:
        signal.signal(signal.SIGPROF, before)


def test_the_end_of_the_process_is_a_fault_of_its_input(tmp_path: Path):
    def check(data: bytes) -> bool:
        if data == make_input(dying, 0, 3):
            os.kill(os.getpid(), signal.SIGSEGV)
        return True

    dying = target(check)
    log, lines = Log.opened(tmp_path, 0), list[str]()
    assert run([dying], log, seed=0, seconds=0.5, jobs=1, report=lines.append) >= 1
    assert (tmp_path / "t-0-3.input").read_bytes() == make_input(dying, 0, 3)
    assert any("death by signal 11" in line for line in lines)


def test_a_worker_has_a_gigabyte(tmp_path: Path):
    log = Log.opened(tmp_path, 0)
    assert run([target(lambda _: bool(bytearray(2 << 30)))], log, seed=0, seconds=0.3, jobs=1, report=lambda _: None) >= 1
    assert any("MemoryError" in signature for signature in log.signatures)


def test_a_run_goes_on_where_the_last_ended(tmp_path: Path):
    for _ in range(2):
        log = Log.opened(tmp_path, 5)
        before = log.count("t")
        first, done = before.next, before.inputs
        assert run([target(lambda data: data[0] < 128)], log, seed=5, seconds=0.3, jobs=1, report=lambda _: None) == 0
        count = log.count("t")
        assert count.next > first
        assert count.inputs > done
        assert 0 < count.accepted < count.inputs


def test_an_input_is_a_function_of_its_number():
    one = Target("one", "text", lambda rng: rng.randbytes(8), lambda _: True)
    assert make_input(one, 1, 2) == make_input(one, 1, 2)
    assert len({make_input(one, seed, number) for seed in range(3) for number in range(3)}) == 9
    assert Random("1/one/2").randbytes(8) == make_input(one, 1, 2)
