"""Compiled handlers kept on disk: one relocatable object a file, checked before it is used.

Owns where they lie and how damage is noticed. It must not know what an object holds.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path

_MAGIC = b"asmevo-object-1\n"


def cache_directory() -> Path:
    """The directory for this user's compiled handlers: XDG_CACHE_HOME, or the platform's own place."""
    configured = os.environ.get("XDG_CACHE_HOME", "")
    if configured and Path(configured).is_absolute():
        return Path(configured) / "asmevo" / "handlers"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "asmevo" / "handlers"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "asmevo" / "handlers"
    return Path.home() / ".cache" / "asmevo" / "handlers"


def load_or_build(key: str, build: Callable[[], bytes]) -> tuple[bytes, bool]:
    """The object stored under `key` (hexadecimal), or `build()`'s, then stored; True when it was built.

    A file that is short, damaged or of another format is built anew. A cache that cannot be written is done without:
    the object is still good, only the next process builds it again.
    """
    path = cache_directory() / key[:2] / f"{key}.o"
    stored = _read(path)
    if stored is not None:
        return stored, False
    data = build()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(f".{os.getpid()}.tmp")
        temporary.write_bytes(_MAGIC + hashlib.sha256(data).digest() + data)
        os.replace(temporary, path)
    except OSError:
        return data, True
    return data, True


def _read(path: Path) -> bytes | None:
    try:
        raw = path.read_bytes()
    except OSError:
        return None
    head = len(_MAGIC)
    digest, data = raw[head : head + 32], raw[head + 32 :]
    if raw[:head] != _MAGIC or hashlib.sha256(data).digest() != digest:
        return None
    return data
