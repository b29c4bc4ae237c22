"""What the suite consists of: its folders and the manifest of its objects."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCES, KERNELS, LAUNCHES = HERE / "sources", HERE / "kernels", HERE / "launches"
TARGET = "gfx942"
LEVELS = ("level1", "level2", "serving")
ENVIRONMENT = "TRITON_DISABLE_LINE_INFO=1 TRITON_DEFAULT_FP_FUSION=1"


@dataclass(frozen=True, slots=True)
class Entry:
    """A kernel's line in MANIFEST.json: its level, its source beside `sources`, and what made the object."""

    level: str
    source: str
    compiler: str
    flags: str
    target: str
    dynamic_lds_bytes: int
    bytes: int
    sha256: str


def entries(folder: Path = KERNELS) -> dict[str, Entry]:
    """The manifest of a folder by kernel, level after level."""
    found = {name: Entry(**line) for name, line in json.loads((folder / "MANIFEST.json").read_text()).items()}
    return dict(sorted(found.items(), key=lambda item: (LEVELS.index(item[1].level), item[0])))
