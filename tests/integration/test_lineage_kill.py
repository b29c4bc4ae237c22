"""A search that is killed at random moments, or a worker of it, loses nothing accepted, and ends as one that was not."""

import contextlib
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from asmevo.search.lineage import Lineage
from support import EXAMPLES

OBJECT, LAUNCH = EXAMPLES / "kernels" / "softmax.co", EXAMPLES / "launches" / "softmax.toml"
ATTEMPTS = 24


def words(folder: Path, *more: str) -> list[str]:
    command = [sys.executable, "-m", "asmevo", "optimize", str(OBJECT), "--launch", str(LAUNCH), "--attempts", str(ATTEMPTS)]
    return [*command, "--budget", "3000", "--jobs", "2", "--lineage", str(folder), "--quiet", "--format", "concise", *more]


def best(folder: Path) -> tuple[float, int]:
    """Cycles of the last run's best, after checking that everything named is there."""
    with sqlite3.connect(folder / "lineage.sqlite") as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert database.execute("PRAGMA foreign_key_check").fetchall() == []
    database.close()
    with Lineage.opened(folder) as lineage:
        for node in lineage.nodes():
            lineage.artifacts.get(node.artifact)
        run = lineage.runs()[-1]
        found = lineage.best(run.id)
        return (found.cycles if found else run.cycles), len(lineage.attempts(run.id))


def kill_a_worker(parent: int, rng: random.Random) -> None:
    """Ends one of the search's processes, if it has any by now."""
    children = Path(f"/proc/{parent}/task/{parent}/children")
    found = children.read_text().split() if children.exists() else []
    if found:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(rng.choice(found)), signal.SIGKILL)


def killed_searches(folder: Path, kills: int, seed: int) -> None:
    rng = random.Random(seed)
    whole = folder / "whole"
    started = time.monotonic()
    subprocess.run(words(whole), check=True, capture_output=True)
    duration = time.monotonic() - started
    expected = best(whole)
    cut = folder / "cut"
    nodes = 0
    for number in range(kills):
        with subprocess.Popen(words(cut, *(["--resume"] if number else [])), stdout=subprocess.DEVNULL, stderr=-1) as running:
            time.sleep(rng.uniform(0, duration / 3))
            if rng.random() < 0.3:
                kill_a_worker(running.pid, rng)
                time.sleep(rng.uniform(0, duration / 3))
            running.send_signal(signal.SIGKILL)
        if not (cut / "lineage.sqlite").exists():
            continue
        with Lineage.opened(cut) as lineage:
            if not lineage.runs():
                shutil.rmtree(cut)
                continue
            now = len(lineage.nodes())
            assert now >= nodes, "an accepted node is gone"
            nodes = now
        best(cut)
    resume = ["--resume"] if (cut / "lineage.sqlite").exists() else []
    assert subprocess.run(words(cut, *resume), capture_output=True).returncode == 0
    assert best(cut) == expected


def test_killed_a_few_times(tmp_path: Path) -> None:
    killed_searches(tmp_path, 4, 1)


@pytest.mark.slow
def test_killed_a_hundred_times(tmp_path: Path) -> None:
    for seed in range(10):
        folder = tmp_path / str(seed)
        folder.mkdir()
        killed_searches(folder, 10, seed)
