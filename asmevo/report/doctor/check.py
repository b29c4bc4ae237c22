"""A check of the machine, and the machine that is looked at.

Owns the form. Tests look at machines of their own making: what is read from files or the environment goes through `Machine`.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that commands use.

    `needed`: without it AsmEvo does not work; else `serves` says what is lost. `remedy` is what to do, empty when it works.
    """

    name: str
    works: bool
    state: str
    remedy: str = ""
    needed: bool = True
    serves: str = ""


@dataclass(frozen=True, slots=True)
class Machine:
    """Where files are looked for, and the environment."""

    root: Path = Path("/")
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))

    @property
    def home(self) -> Path:
        """The user's folder."""
        return Path(self.environment.get("HOME") or Path.home())

    @property
    def rocm(self) -> Path:
        """Where ROCm is, if it is there; ROCM_PATH says so to ROCm's own tools."""
        return Path(self.environment.get("ROCM_PATH") or self.root / "opt" / "rocm")

    def tool(self, *names: str) -> Path | None:
        """The first program of these names in ROCm's folders or on the path."""
        folders = [str(self.rocm / "llvm" / "bin"), str(self.rocm / "bin"), self.environment.get("PATH", "")]
        for name in names:
            if found := shutil.which(name, path=os.pathsep.join(folders)):
                return Path(found)
        return None


def first_line(path: Path) -> str:
    """The first line of a small file, empty when it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(4096).decode("utf-8", "replace").partition("\n")[0].strip()
    except OSError:
        # Not there for this driver or user: then nothing is said of it.
        return ""
