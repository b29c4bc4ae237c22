"""Writing a file so that it is there whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from pathlib import Path

from asmevo.diagnostics import Span, fail


def check_writable(path: Path) -> None:
    """Raises E0108 when a file could not be put there, so that long work need not end with that news."""
    reason = None
    if os.path.isdir(path):
        reason = os.strerror(errno.EISDIR)
    elif not os.path.isdir(path.parent):
        reason = os.strerror(errno.ENOENT)
    elif not os.access(path if _is_special(path) else path.parent, os.W_OK):
        reason = os.strerror(errno.EACCES)
    if reason:
        fail("E0108", f"cannot write '{path}': {reason}", Span(str(path)))


def write_atomically(path: Path, data: bytes) -> None:
    """Writes `data` beside `path` and renames it into place; a link stays a link to what is written.

    A device or a pipe is written to as it is: renamed over, it would be gone. Raises E0108 when it cannot be written.
    """
    try:
        if _is_special(path):
            path.write_bytes(data)
        else:
            _replace(Path(os.path.realpath(path)), data)
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        fail("E0108", f"cannot write {str(path)!r}: {reason}", Span(str(path)))


def _is_special(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return False  # What is not there yet becomes a file, or writing it says why not.
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _replace(path: Path, data: bytes) -> None:
    descriptor, temporary = tempfile.mkstemp(prefix=".asmevo-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
