"""Objects exchanged inside a folder that programs load from, and put back.

Owns the order of the steps. Every file is looked at before it is touched and changed by one rename, both versions are kept
first, and the manifest says what was meant: wherever it is cut off, the same command goes on, and rollback undoes it.
"""

from __future__ import annotations

import contextlib
import enum
import fcntl
import os
import shutil
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from asmevo import __version__
from asmevo.atomic import write_atomically
from asmevo.deploy.manifest import KEPT, Entry, Manifest, file_digest, manifest_path, read_manifest, write_manifest
from asmevo.deploy.replacement import Replacement, check_distinct
from asmevo.diagnostics import Span, fail, printable

_ELF = b"\x7fELF"


class State(enum.Enum):
    """What a file of a manifest is now."""

    DEPLOYED = "deployed"
    ORIGINAL = "original"
    CHANGED = "changed"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Status:
    """A file of a manifest and what it is; `kept` tells whether both versions are still kept unharmed."""

    entry: Entry
    state: State
    kept: bool


def matching(folder: Path, replacements: Sequence[Replacement]) -> list[tuple[Path, Replacement]]:
    """The files under `folder` that are the originals of replacements, by hash alone. E0902 for one that is not there."""
    check_distinct(replacements)
    wanted = {item.original: item for item in replacements}
    found: list[tuple[Path, Replacement]] = []
    for path in _objects(folder):
        digest = file_digest(path)
        if digest in wanted:
            found.append((path, wanted[digest]))
    for missing in wanted.keys() - {item.original for _, item in found}:
        what = f"no file in '{printable(str(folder))}' is the original of the new {printable(wanted[missing].kernel)}"
        fail("E0902", f"{what} (SHA-256 {missing[:12]}...)", Span(str(folder)), "the original must be there unchanged")
    return found


def _objects(folder: Path) -> Iterator[Path]:
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != KEPT)
        for name in sorted(names):
            path = Path(root) / name
            if path.is_file() and not path.is_symlink() and _is_elf(path):
                yield path


def _is_elf(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == _ELF


def entry_of(folder: Path, path: Path, item: Replacement) -> Entry:
    """What the manifest says of one exchange."""
    return Entry(
        path=path.relative_to(folder).as_posix(),
        before=item.original,
        after=item.digest,
        kernel=item.kernel,
        target=item.target,
        verdict=item.verdict,
        basis=[dict(row) for row in item.basis],
        cycles_modelled=item.cycles,
    )


def new_manifest(kind: str, state: str, entries: Sequence[Entry]) -> Manifest:
    """A manifest made now."""
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    fields = {"asmevo": __version__, "kind": kind, "state": state, "created": now, "entries": list(entries)}
    return Manifest.model_validate(fields)


def deploy(folder: Path, replacements: Sequence[Replacement]) -> Manifest:
    """Exchange every original in `folder` for its replacement and return the manifest, which is on the disk.

    A deployment that was cut off is finished, when it is asked for the same files. E0902 when an original is not there, E0903
    when a file was changed by somebody else, E0905 when another deployment is unfinished, of another kind, or holds the folder.
    """
    with _locked(folder):
        before = read_manifest(folder)
        if before is not None and before.kind != "files":
            fail("E0905", "the folder was written for Triton", Span(str(manifest_path(folder))), "give another folder")
        unfinished = before is not None and before.state == "begun"
        known = {entry.path: entry for entry in before.entries} if before else {}
        wanted = {item.original: item for item in replacements}
        # What is there already needs no original: a cut-off exchange has made some files the new ones.
        done = {e.before for e in known.values() if e.before in wanted and e.after == wanted[e.before].digest}
        if unfinished and not {entry.before for entry in known.values()} <= wanted.keys():
            fail(
                "E0905",
                "another deployment into this folder was cut off",
                Span(str(folder)),
                "`asmevo deploy rollback` undoes it",
            )
        fresh = matching(folder, [item for item in replacements if item.original not in done])
        if twice := [path for path, _ in fresh if path.relative_to(folder).as_posix() in known]:
            name = printable(twice[0].name)
            fail("E0905", f"'{name}' was exchanged before", Span(str(twice[0])), "`asmevo deploy rollback` first")
        entries = [*known.values(), *(entry_of(folder, path, item) for path, item in fresh)]
        for path, item in fresh:
            _keep(folder, item.original, path.read_bytes())
            _keep(folder, item.digest, item.data)
        write_manifest(folder, new_manifest("files", "begun", entries))
        for entry in entries:
            _exchange(folder, entry, entry.before, entry.after)
        manifest = new_manifest("files", "done", entries)
        write_manifest(folder, manifest)
        return manifest


def rollback(folder: Path) -> list[Entry]:
    """Put back every original and forget the deployment. E0903 for a file somebody else changed: nothing more is touched then.

    E0904 when there is no deployment, or a kept original is damaged.
    """
    with _locked(folder):
        manifest = _present(folder)
        if manifest.kind != "files":
            fail(
                "E0905",
                "a folder written for Triton has nothing to put back",
                Span(str(folder)),
                "unset its variable, delete it",
            )
        if changed := [s.entry.path for s in _states(folder, manifest) if s.state in (State.CHANGED, State.MISSING)]:
            fail("E0903", f"'{printable(changed[0])}' is neither the original nor what was deployed", Span(str(folder)))
        for entry in manifest.entries:
            _exchange(folder, entry, entry.after, entry.before)
        manifest_path(folder).unlink()
        shutil.rmtree(folder / KEPT / "objects")
        return manifest.entries


def status(folder: Path) -> tuple[Manifest, list[Status]]:
    """The folder's manifest, and what each file is now. E0904 when there is none."""
    manifest = _present(folder)
    return manifest, _states(folder, manifest)


def kept_object(folder: Path, digest: str) -> bytes:
    """A kept version of a file. E0904 when it is gone or damaged."""
    path = _kept(folder, digest)
    if file_digest(path) != digest:
        fail("E0904", f"the kept object {digest[:12]}... is gone or damaged", Span(str(path)))
    return path.read_bytes()


def _present(folder: Path) -> Manifest:
    manifest = read_manifest(folder)
    if manifest is None:
        fail("E0904", "nothing was deployed into this folder: it has no manifest", Span(str(manifest_path(folder))))
    return manifest


def _states(folder: Path, manifest: Manifest) -> list[Status]:
    found: list[Status] = []
    for entry in manifest.entries:
        digest = file_digest(folder / entry.path)
        state = {entry.after: State.DEPLOYED, entry.before: State.ORIGINAL, None: State.MISSING}.get(digest, State.CHANGED)
        versions = (entry.before, entry.after) if manifest.kind == "files" else ()
        kept = all(file_digest(_kept(folder, version)) == version for version in versions)
        found.append(Status(entry, state, kept))
    return found


def _exchange(folder: Path, entry: Entry, old: str, new: str) -> None:
    """Make a file the `new` version; it must be the `old` one, or the new one already."""
    path = folder / entry.path
    digest = file_digest(path)
    if digest == new:
        return
    if digest != old:
        what = "is gone" if digest is None else "was changed by somebody else"
        advice = "files exchanged before it stay exchanged; `asmevo deploy status` shows them, `rollback` undoes them"
        fail("E0903", f"'{printable(entry.path)}' {what}", Span(str(path)), advice)
    mode = path.stat().st_mode
    write_atomically(path, kept_object(folder, new))
    path.chmod(mode & 0o7777)


def _kept(folder: Path, digest: str) -> Path:
    return folder / KEPT / "objects" / digest


def _keep(folder: Path, digest: str, data: bytes) -> None:
    path = _kept(folder, digest)
    path.parent.mkdir(parents=True, exist_ok=True)
    if file_digest(path) != digest:
        write_atomically(path, data)


@contextlib.contextmanager
def _locked(folder: Path) -> Generator[None, None, None]:
    """One deployment at a time in a folder; the lock is gone with the process that holds it."""
    kept = folder / KEPT
    try:
        kept.mkdir(exist_ok=True)
        lock = (kept / "lock").open("w")
    except OSError as error:
        fail("E0108", f"cannot write to '{printable(str(folder))}': {error.strerror}", Span(str(folder)))
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            fail("E0905", "another process is deploying into this folder", Span(str(folder)), "try again when it has ended")
        yield
