"""What was deployed into a folder: each file by its hash before and after, and the evidence.

Owns the file's form. Manifests are input like any other: a path that leads out of the folder is refused.
"""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from asmevo.atomic import write_atomically
from asmevo.diagnostics import Span, fail

KEPT = ".asmevo"
"""The folder inside a deployment's folder that has the manifest and both versions of each file."""
MANIFEST = "manifest.json"
_MAX_BYTES = 1 << 26


def _inside(path: str) -> str:
    parts = PurePosixPath(path).parts
    if not parts or PurePosixPath(path).is_absolute() or ".." in parts or parts[0] == KEPT or "\0" in path:
        raise ValueError("the path leads out of the folder")
    return path


Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Entry(_Strict):
    """One file: `path` in the folder, SHA-256 before and after, and on what the exchange rests."""

    path: Annotated[str, AfterValidator(_inside)]
    before: Digest
    after: Digest
    kernel: str
    target: str
    verdict: str
    basis: list[dict[str, Any]]
    cycles_modelled: tuple[float, float] | None = None


class Manifest(_Strict):
    """A deployment. `state` is "begun" until every file was exchanged; `kind` "files" can be rolled back."""

    version: Literal[1] = 1
    asmevo: str
    kind: Literal["files", "triton"]
    state: Literal["begun", "done"]
    created: str
    entries: list[Entry]


def manifest_path(folder: Path) -> Path:
    """Where a folder's manifest is."""
    return folder / KEPT / MANIFEST


def read_manifest(folder: Path) -> Manifest | None:
    """The folder's manifest, None when it has none. Raises E0904 when it cannot be read or is none."""
    path = manifest_path(folder)
    try:
        if path.stat().st_size > _MAX_BYTES:
            fail("E0904", f"the manifest has more than {_MAX_BYTES} bytes", Span(str(path)))
        # JSON has no tuples: strictness is for what JSON can say.
        return Manifest.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        reason = error.strerror if isinstance(error, OSError) else _first(error)
        fail("E0904", f"the manifest cannot be read: {reason}", Span(str(path)))


def _first(error: ValidationError) -> str:
    told = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in told["loc"])
    return f"{place}: {told['msg']}" if place else told["msg"]


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Put the manifest there, whole or not at all."""
    text = json.dumps(manifest.model_dump(), indent=1)
    write_atomically(manifest_path(folder), text.encode())


def file_digest(path: Path) -> str | None:
    """The SHA-256 of a file, None when there is none."""
    try:
        return sha256(path.read_bytes()).hexdigest()
    except (FileNotFoundError, NotADirectoryError):
        return None
