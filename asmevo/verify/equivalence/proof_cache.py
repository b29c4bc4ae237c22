"""Proofs kept on disk from one run to the next, by the canonical form of what was proved.

Owns where they lie, how many there are, and that an entry is one that this user's own runs wrote: the folder belongs to the
user alone, and each entry carries a code made with a secret that is kept beside it. Whatever is wrong with an entry, it is as
if it were not there. Only proofs are kept: a refutation names registers, and what a longer budget may decide is no result.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import stat
from pathlib import Path
from typing import Any

from asmevo.backend.emulator.cache import cache_directory
from asmevo.verify.verdict import Basis, Outcome, Verdict

METHOD = "proof cache"
"""The method of a basis that an earlier run left."""
_SECRET_BYTES = 32
_MOST_BYTES = 1 << 16
_EACH = 64
"""Entries in each of 256 folders; the oldest go first."""


def default_folder() -> Path:
    """Return this user's folder, beside that of the emulator's compiled code."""
    return cache_directory().parent / "proofs"


class ProofCache:
    """Proofs in `folder`, made when there is none. A folder that others may write to is not used."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._secret = _secret_of(folder)

    def __reduce__(self) -> tuple[object, ...]:
        """Another process reads the secret itself."""
        return ProofCache, (self.folder,)

    @property
    def is_usable(self) -> bool:
        """False where the folder cannot be made or is not this user's alone."""
        return self._secret is not None

    def get(self, key: str) -> Verdict | None:
        """Return the proof stored under `key` (hexadecimal); its basis says that it is from here."""
        raw = _read(self._path(key)) if self._secret is not None else None
        if raw is None or not hmac.compare_digest(raw[:64], self._code(key, raw[64:])):
            return None
        stored: Any = json.loads(raw[64:])
        return Verdict(
            Outcome.PROVED,
            tuple(Basis(METHOD, Outcome.PROVED, f"{detail} ({method}, in an earlier run)", tuple(assumed))
                  for method, detail, assumed in stored),
        )  # fmt: skip

    def put(self, key: str, verdict: Verdict) -> None:
        """Store a proof. Anything else, and what cannot be written, is not stored."""
        if self._secret is None or verdict.outcome is not Outcome.PROVED:
            return
        payload = json.dumps([[b.method, b.detail, b.assumptions] for b in verdict.basis]).encode()
        data = self._code(key, payload) + payload
        path = self._path(key)
        if len(data) > _MOST_BYTES:
            return
        temporary = path.with_suffix(f".{os.getpid()}.tmp")
        try:
            path.parent.mkdir(mode=0o700, exist_ok=True)
            temporary.write_bytes(data)
            os.replace(temporary, path)
            _trim(path.parent)
        except OSError:
            return  # The proof holds without being stored; only the next run makes it again.

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / key

    def _code(self, key: str, payload: bytes) -> bytes:
        assert self._secret is not None
        return hmac.new(self._secret, key.encode() + payload, hashlib.sha256).hexdigest().encode()


def _secret_of(folder: Path) -> bytes | None:
    """The folder's secret, made when there is none; None when the folder or the secret is not this user's alone."""
    path = folder / "secret"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_private(folder):
            return None
        if not path.exists():
            made = folder / f"secret.{os.getpid()}.tmp"
            descriptor = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(secrets.token_bytes(_SECRET_BYTES))
            os.link(made, path)
            made.unlink()
    except FileExistsError:
        pass  # another process made it first
    except OSError:
        return None
    secret = _read(path)
    return secret if secret is not None and len(secret) == _SECRET_BYTES and _is_private(path) else None


def _is_private(path: Path) -> bool:
    """Whether a file or folder is this user's, and nobody else may write to it."""
    found = path.lstat()
    if stat.S_ISLNK(found.st_mode):
        return False
    return not hasattr(os, "getuid") or (found.st_uid == os.getuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH))


def _read(path: Path) -> bytes | None:
    try:
        with path.open("rb") as file:
            return file.read(_MOST_BYTES)
    except OSError:
        return None


def _trim(folder: Path) -> None:
    """Remove the oldest entries beyond the limit."""
    entries = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime)
    for path in entries[: max(len(entries) - _EACH, 0)]:
        path.unlink(missing_ok=True)
