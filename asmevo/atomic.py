"""Writing a file so that it is there whole or not at all."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

from asmevo.diagnostics import Span, fail


def check_writable(path: Path) -> None:
    """Raises E0108 when a file could not be put there, so that long work need not end with that news."""
    reason = None
    if path.is_dir():
        reason = os.strerror(errno.EISDIR)
    elif not path.parent.is_dir():
        reason = os.strerror(errno.ENOENT)
    elif not os.access(path.parent, os.W_OK | os.X_OK):
        reason = os.strerror(errno.EACCES)
    if reason:
        fail("E0108", f"cannot write '{path}': {reason}", Span(str(path)))


def write_atomically(path: Path, data: bytes) -> None:
    """Writes `data` beside `path` and renames it into place. Raises E0108 when the folder cannot be written."""
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        fail("E0108", f"cannot write '{path}': {error.strerror}", Span(str(path)))
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError as error:
        Path(temporary).unlink(missing_ok=True)
        fail("E0108", f"cannot write '{path}': {error.strerror}", Span(str(path)))
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
