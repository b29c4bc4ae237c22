"""A folder for Triton with some of its kernels exchanged: a cache (TRITON_CACHE_DIR) or overrides (TRITON_OVERRIDE_DIR).

Owns the layout of those folders. Source: Triton, `triton/runtime/cache.py` and `triton/compiler/compiler.py`: one folder a key;
in a cache `__grp__NAME.json` lists a kernel's files by absolute path; an override folder has only files that replace a stage's.
Triton's keys are hashes of source, compiler and options: they are kept as they are, so only the same Triton finds the kernels.
"""

from __future__ import annotations

import enum
import json
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from asmevo.atomic import write_atomically
from asmevo.deploy.files import entry_of, matching, new_manifest
from asmevo.deploy.manifest import KEPT, Entry, write_manifest
from asmevo.deploy.replacement import Replacement
from asmevo.diagnostics import Span, fail, printable

_GROUP = "__grp__"
_OBJECT = ".hsaco"


class Kind(enum.Enum):
    """What Triton reads the folder as, and by which variables."""

    CACHE = "cache"
    OVERRIDE = "override"

    def variables(self, folder: Path) -> dict[str, str]:
        """Environment variables that make Triton use the folder."""
        if self is Kind.CACHE:
            return {"TRITON_CACHE_DIR": str(folder)}
        return {"TRITON_KERNEL_OVERRIDE": "1", "TRITON_OVERRIDE_DIR": str(folder)}


@dataclass(frozen=True, slots=True)
class Written:
    """The folder that was written, what it is, and the kernels in it."""

    folder: Path
    kind: Kind
    entries: list[Entry]


def write_folder(source: Path, out: Path, replacements: Sequence[Replacement]) -> Written:
    """Write `out` for the kernels of Triton's cache or dump folder `source` that are the replacements' originals.

    It appears whole or not at all. A cache folder gives a cache, a dump folder (TRITON_KERNEL_DUMP) gives overrides: the two
    have different keys. E0902 when an original is not there, E0906 when `source` is neither or both, E0108 when `out` is there.
    """
    out = out.resolve()
    if out.exists():
        fail("E0108", f"'{printable(str(out))}' is already there", Span(str(out)), "give a folder that is not there yet")
    found = [(path, item) for path, item in matching(source, replacements) if path.suffix == _OBJECT]
    if not found:
        fail("E0906", f"'{printable(str(source))}' has no {_OBJECT} of a kernel to exchange", Span(str(source)))
    kinds = {_kind(path) for path, _ in found}
    if len(kinds) > 1 or any(path.parent.parent != source for path, _ in found):
        fail(
            "E0906", "the folder is neither a cache nor a dump of Triton's", Span(str(source)), "give ~/.triton/cache or /dump"
        )
    kind = kinds.pop()
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".asmevo-", dir=out.parent) as name:
        made = Path(name) / "made"
        for path, item in found:
            target = made / path.parent.name
            target.mkdir(parents=True, exist_ok=True)
            if kind is Kind.CACHE:
                _copy_group(path, target, out / path.parent.name)
            write_atomically(target / path.name, item.data)
        entries = [entry_of(source, path, item) for path, item in found]
        (made / KEPT).mkdir()
        write_manifest(made, new_manifest("triton", "done", entries))
        made.rename(out)
    return Written(out, kind, entries)


def _kind(path: Path) -> Kind:
    return Kind.CACHE if (path.parent / f"{_GROUP}{path.stem}.json").is_file() else Kind.OVERRIDE


def _copy_group(path: Path, target: Path, final: Path) -> None:
    """Copy what Triton lists as one kernel's files, and the list with the places where they will be."""
    listing = path.parent / f"{_GROUP}{path.stem}.json"
    try:
        tree = cast("dict[str, Any]", json.loads(listing.read_text()))
        names = [str(name) for name in tree["child_paths"]]
    except (OSError, ValueError, KeyError, TypeError):
        fail("E0906", "the list of a kernel's files cannot be read", Span(str(listing)))
    for name in names:
        if Path(name).name != name:
            fail("E0906", f"the list names a file elsewhere: {printable(name)}", Span(str(listing)))
        try:
            shutil.copyfile(path.parent / name, target / name)
        except OSError as error:
            fail("E0906", f"'{printable(name)}' of the list: {error.strerror}", Span(str(listing)))
    placed = {name: str(final / name) for name in names}
    write_atomically(target / listing.name, json.dumps({**tree, "child_paths": placed}).encode())
