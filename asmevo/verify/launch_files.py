"""Contents of buffers that stand in files beside a launch file.

Owns which files a launch file may name: those in its own folder and below it, so that a file from elsewhere cannot make a run
read what its user did not mean to give.
"""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

import numpy as np

from asmevo.backend.launch import Bytes
from asmevo.verify.launch.file import Key
from asmevo.verify.launch.scope import Scope


def read_contents(scope: Scope, place: Key, name: str, size_bytes: int) -> Bytes:
    """The bytes of a file named by its way from the launch file's folder. Shape (size_bytes,) uint8.

    Raises E0225 at `place` for a way that leads out of the folder, what is no readable file, and any other size.
    """
    relative = PurePosixPath(name)
    if relative.is_absolute() or ".." in relative.parts or "\\" in name or "\0" in name:
        scope.refuse(
            "E0225", "file leads out of the launch file's folder", place, "name a file below it, with / between folders"
        )
    folder = os.path.realpath(scope.file.path.parent)
    path = Path(os.path.realpath(os.path.join(folder, relative)))
    if not path.is_relative_to(folder):
        scope.refuse("E0225", "file is a link that leads out of the launch file's folder", place)
    try:
        # A device or a pipe need not end, and may wait for ever.
        if not path.is_file():
            scope.refuse("E0225", f"no file '{name}' is there", place)
        with path.open("rb") as file:
            data = file.read(size_bytes + 1)
    except OSError as error:
        scope.refuse("E0225", f"cannot read '{name}': {error.strerror or error}", place)
    if len(data) != size_bytes:
        found = f"more than {size_bytes}" if len(data) > size_bytes else str(len(data))
        scope.refuse("E0225", f"'{name}' has {found} bytes, the buffer {size_bytes}", place)
    return np.frombuffer(data, np.uint8)
