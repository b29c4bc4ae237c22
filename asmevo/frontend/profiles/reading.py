"""From a path to a profile, whatever form it has. Owns telling the forms apart, by what is in a file and not by its name."""

from __future__ import annotations

import csv
from pathlib import Path

from asmevo.diagnostics import Span, fail
from asmevo.frontend.profiles import pc_sampling, thread_trace
from asmevo.frontend.profiles.counts import Profile
from asmevo.json_text import parsed, read_bounded

_CODE = "code.json"
_MAX_TABLE_BYTES = 1 << 30
_MAX_SAMPLES_BYTES = 1 << 29
_MAX_TREE_BYTES = 1 << 26
"""A tree takes ten times its text and more; an object of 100,000 instructions has 20 MB."""
_HEAD = 1 << 16


def read_profile(path: Path) -> Profile:
    """Read PC samples (CSV, JSON) or a decoded thread trace (its folder, code.json, statistics as CSV) of rocprofv3.

    Raises E0165 for what is none of these, cannot be read, is too large or is broken.
    """
    if path.is_dir():
        path = _in_folder(path)
    head = _head(path).lstrip()
    return _read_json(path) if head[:1] in ("{", "[") else _read_table(path)


def _in_folder(folder: Path) -> Path:
    """The code.json in a folder, or in the only folder of a trace in it."""
    if (folder / _CODE).is_file():
        return folder / _CODE
    found = sorted(folder.glob(f"ui_output*/{_CODE}"))
    if len(found) != 1:
        told = f"the folder has {len(found)} traces" if found else f"no {_CODE} is in the folder"
        names = ", ".join(path.parent.name for path in found[:4])
        fail("E0165", told, Span(str(folder)), f"name one: {names}" if found else "name a ui_output folder, or a file")
    return found[0]


def _head(path: Path) -> str:
    """The first characters of a file."""
    try:
        # A device or a pipe need not end, and may wait for ever.
        if not path.is_file():
            fail("E0165", "no regular file" if path.exists() else "no such file", Span(str(path)))
        if path.stat().st_size > _MAX_TABLE_BYTES:
            fail("E0165", f"more than {_MAX_TABLE_BYTES} bytes", Span(str(path)))
        with path.open("rb") as file:
            return file.read(_HEAD).decode("utf-8-sig", "replace")
    except (OSError, ValueError) as error:
        fail("E0165", f"cannot be read: {(error.strerror if isinstance(error, OSError) else None) or error}", Span(str(path)))


def _read_json(path: Path) -> Profile:
    raw = read_bounded(path, "E0165", _MAX_SAMPLES_BYTES)
    text = raw.decode("utf-8-sig", "replace")
    if pc_sampling.has_samples(text):
        return pc_sampling.read_json(text, str(path))
    if len(raw) > _MAX_TREE_BYTES:
        fail("E0165", f"no PC samples, and more than the {_MAX_TREE_BYTES} bytes of a trace that are read", Span(str(path)))
    return thread_trace.read_tree(parsed(text, str(path), "E0165"), str(path))


def _read_table(path: Path) -> Profile:
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
            # Of a file without line ends only so much.
            line = stream.readline(_HEAD)
            stream.seek(0)
            columns = next(csv.reader([line]), list[str]())
            if pc_sampling.CSV_MARK in columns:
                return pc_sampling.read_csv(stream, str(path))
            if thread_trace.is_table(columns):
                return thread_trace.read_csv(stream, str(path))
    except OSError as error:
        fail("E0165", f"cannot be read: {error.strerror or error}", Span(str(path)))
    except csv.Error as error:
        fail("E0165", f"not a table: {error}", Span(str(path), 1, 1))
    help = "rocprofv3 writes them with --pc-sampling-beta-enabled, or --att, and --output-format csv or json"
    fail("E0165", "neither PC samples nor a decoded thread trace", Span(str(path)), help)
