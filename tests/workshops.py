"""Workshops for tests of executors: importable by workers, with tasks that misbehave."""

import os
import signal
import time
from pathlib import Path


class Misbehaving:
    """Does what a task says."""

    def __init__(self, folder):
        self.folder = Path(folder)

    def do(self, task):
        kind, value = task
        if kind == "square":
            return value * value
        if kind == "pid":
            return os.getpid()
        if kind == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if kind == "die-once":
            marker = self.folder / str(value)
            if not marker.exists():
                marker.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return value
        if kind == "sleep":
            time.sleep(value)
            return value
        if kind == "memory":
            return len(bytearray(value))
        raise ValueError(value)
