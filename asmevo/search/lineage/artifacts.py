"""Content-addressed files: each stored once, named by its SHA-256, whole or not there.

Owns the folder of artifacts. It must not know what they are.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from asmevo.atomic import write_atomically
from asmevo.diagnostics import Span, fail

_DIGEST = re.compile(r"[0-9a-f]{64}")


class Artifacts:
    """A folder of artifacts. One that was put is on the disk when `put` returns, so that a database may name it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, data: bytes) -> str:
        """Store `data`; return its digest. Raises E0108 when it cannot be written."""
        digest = hashlib.sha256(data).hexdigest()
        path = self._path(digest)
        if not path.exists():
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                fail("E0108", f"cannot write {str(path)!r}: {error.strerror or error}", Span(str(path)))
            write_atomically(path, data)
            _sync(path.parent)
        return digest

    def get(self, digest: str) -> bytes:
        """Return what was put under `digest`. Raises E0802 when it is missing or is not what it was."""
        if not _DIGEST.fullmatch(digest):
            fail("E0802", f"'{digest[:80]}' is no digest of an artifact", Span(str(self._folder)))
        path = self._path(digest)
        try:
            data = path.read_bytes()
        except OSError as error:
            fail("E0802", f"artifact {digest[:12]} cannot be read: {error.strerror or error}", Span(str(path)))
        if hashlib.sha256(data).hexdigest() != digest:
            fail("E0802", f"artifact {digest[:12]} is not what was stored: its bytes changed", Span(str(path)))
        return data

    def digests(self) -> frozenset[str]:
        """Every artifact that is there."""
        return frozenset(path.name for path in self._folder.glob("??/*") if _DIGEST.fullmatch(path.name))

    def _path(self, digest: str) -> Path:
        return self._folder / digest[:2] / digest


def _sync(folder: Path) -> None:
    """The name too has to be there after a crash, or the database would name what is gone."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
