"""Results do not depend on workers; what dies is replaced, what kills is quarantined, what lasts is ended."""

import os
import signal
import subprocess
import sys
import time

import pytest

from asmevo.search.execution import Loss
from asmevo.search.executors.inline import InlineExecutor
from asmevo.search.executors.processes import ProcessExecutor
from workshops import Misbehaving


@pytest.fixture
def two(tmp_path):
    executor = ProcessExecutor(Misbehaving, (str(tmp_path),), 2, task_seconds=20.0, memory_bytes=4 << 30)
    yield executor
    executor.close()


def test_results_come_in_the_order_of_tasks(two, tmp_path):
    tasks = [("sleep", 0.3), *[("square", n) for n in range(6)]]
    results = [done.result for done in two.run(tasks)]
    assert results == [done.result for done in InlineExecutor(Misbehaving(tmp_path)).run(tasks)]


def test_workers_are_used_again(two):
    first = {done.result for done in two.run([("pid", 0)] * 4)}
    assert {done.result for done in two.run([("pid", 0)] * 4)} <= first
    assert os.getpid() not in first


def test_a_worker_that_dies_costs_one_retry(two):
    done = list(two.run([("die-once", 7), ("square", 3)]))
    assert [d.result for d in done] == [7, 9]
    assert [d.tries for d in done] == [2, 1]


def test_what_kills_two_workers_is_lost_and_the_rest_goes_on(two):
    done = list(two.run([("square", 2), ("die", 0), ("square", 4)]))
    assert [(d.result, d.loss) for d in done] == [(4, None), (None, Loss.DIED), (16, None)]
    assert done[1].tries == 2


def test_a_task_that_lasts_too_long_is_ended(tmp_path):
    executor = ProcessExecutor(Misbehaving, (str(tmp_path),), 1, task_seconds=4.0)
    done = list(executor.run([("sleep", 600), ("square", 5)]))
    executor.close()
    assert [(d.result, d.loss) for d in done] == [(None, Loss.TIMEOUT), (25, None)]


def test_memory_is_limited(two):
    done = list(two.run([("memory", 8 << 30), ("square", 5)]))
    assert [(d.result, d.loss) for d in done] == [(None, Loss.MEMORY), (25, None)]


def test_at_the_deadline_everything_stops(two):
    started = time.monotonic()
    done = list(two.run([("sleep", 600), ("sleep", 600), ("square", 1)], deadline=started + 1.0))
    assert {d.loss for d in done} == {Loss.STOPPED}
    assert time.monotonic() - started < 60


def test_a_fault_of_the_workshop_is_told(two):
    with pytest.raises(ValueError, match="ours"):
        list(two.run([("raise", "ours")]))
    assert [done.result for done in two.run([("square", 2)])] == [4]


def test_workers_end_with_their_parent(tmp_path):
    program = (
        "import sys\n"
        "from asmevo.search.executors.processes import ProcessExecutor\n"
        "from workshops import Misbehaving\n"
        "if __name__ == '__main__':\n"
        "    executor = ProcessExecutor(Misbehaving, (sys.argv[1],), 1)\n"
        "    print(next(executor.run([('pid', 0)])).result, flush=True)\n"
        "    list(executor.run([('sleep', 600)]))\n"
    )
    script = tmp_path / "parent.py"
    script.write_text(program)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, str(script), str(tmp_path)], stdout=subprocess.PIPE, env=environment) as parent:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        time.sleep(0.5)
        parent.kill()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and os.path.exists(f"/proc/{worker}"):
        time.sleep(0.1)
    assert not os.path.exists(f"/proc/{worker}")


def test_ctrl_c_in_a_terminal_reaches_the_search_alone(tmp_path):
    executor = ProcessExecutor(Misbehaving, (str(tmp_path),), 1)
    (pid,) = [done.result for done in executor.run([("pid", 0)])]
    os.kill(pid, signal.SIGINT)
    (again,) = list(executor.run([("pid", 0)]))
    executor.close()
    assert (again.result, again.tries) == (pid, 1)
