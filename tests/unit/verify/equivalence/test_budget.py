import time

from asmevo.verify.equivalence import budget
from asmevo.verify.equivalence.budget import attempts


def test_the_clock_stands_while_the_thread_sleeps():
    before = budget.now()
    time.sleep(0.2)
    assert budget.now() - before < 0.1


def clocked(monkeypatch, load):
    """Clocks by which work for some wall milliseconds gets one part in `load` of the processor."""
    clock = {"wall": 100.0, "cpu": 5.0}
    monkeypatch.setattr(budget, "now", lambda: clock["cpu"])
    monkeypatch.setattr(budget, "monotonic", lambda: clock["wall"])

    def work(milliseconds):
        clock["wall"] += milliseconds / 1000
        clock["cpu"] += milliseconds / 1000 / load

    return work


def test_a_query_that_others_slowed_down_is_asked_again_for_longer(monkeypatch):
    work = clocked(monkeypatch, load=4)
    asked = []

    def ask(milliseconds):
        asked.append(milliseconds)
        work(milliseconds)
        return len(asked) == 2

    assert attempts(7.0, ask)
    assert asked == [2000, 6000]  # 0.5 s of 2 s of CPU time, then the rest at four times the wall time


def test_on_a_quiet_machine_it_is_asked_once(monkeypatch):
    work = clocked(monkeypatch, load=1)
    asked = []

    def ask(milliseconds):
        asked.append(milliseconds)
        work(milliseconds)
        return False

    assert not attempts(7.0, ask)
    assert asked == [2000]


def test_a_query_that_gave_up_early_is_not_asked_again(monkeypatch):
    work = clocked(monkeypatch, load=4)
    asked = []

    def ask(milliseconds):
        asked.append(milliseconds)
        work(10)
        return False

    assert not attempts(7.0, ask)
    assert len(asked) == 1


def test_nothing_is_asked_behind_the_deadline(monkeypatch):
    clocked(monkeypatch, load=1)
    assert not attempts(5.0, lambda milliseconds: True)
