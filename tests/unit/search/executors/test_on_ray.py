"""On a local Ray cluster a search gives the same lineage as in processes, and a killed worker costs one retry."""

import os
import sys

import pytest

from asmevo.search.execution import Loss
from workshops import Misbehaving

ray = pytest.importorskip("ray", reason="the extra asmevo[ray] is not installed")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster():
    from asmevo.search.executors.on_ray import connect

    with pytest.MonkeyPatch.context() as patch:
        # Its workers are processes of Ray's, which know nothing of pytest's own paths.
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
        connect("local", 4)
        yield
        ray.shutdown()


def executor_of(tmp_path, workers, **options):
    from asmevo.search.executors.on_ray import RayExecutor

    return RayExecutor(Misbehaving, (str(tmp_path),), workers, **options)


def test_results_and_deaths(cluster, tmp_path):
    executor = executor_of(tmp_path, 2)
    done = list(executor.run([("square", 2), ("die-once", 7), ("die", 0), ("square", 4)]))
    executor.close()
    assert [(d.result, d.loss) for d in done] == [(4, None), (7, None), (None, Loss.DIED), (16, None)]
    assert [d.tries for d in done] == [1, 2, 2, 1]


def test_what_lasts_is_ended(cluster, tmp_path):
    executor = executor_of(tmp_path, 1, task_seconds=5.0)
    done = list(executor.run([("sleep", 600), ("square", 5)]))
    executor.close()
    assert [(d.result, d.loss) for d in done] == [(None, Loss.TIMEOUT), (25, None)]


def test_the_lineage_is_that_of_the_local_executor(cluster):
    from asmevo.search.executors.on_ray import RayExecutor
    from asmevo.search.optimise import in_processes
    from asmevo.search.shop import Shop
    from searches import told, with_executor

    expected = told(with_executor(in_processes(2)))
    for workers in (2, 4):
        assert told(with_executor(lambda outfit, workers=workers: RayExecutor(Shop, (outfit,), workers))) == expected
