"""Which kernels the passes are run over: those shipped with launches, and a seeded sample of a folder of code objects."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHIPPED, SUITE = "shipped", "suite"


@dataclass(frozen=True, slots=True)
class Subject:
    """A code object to run passes over, its family, and its launch file where there is one."""

    family: str
    path: Path
    launch: Path | None = None

    @property
    def is_compiled(self) -> bool:
        """Whether it is one of ours, made by clang or Triton."""
        return self.family in (SHIPPED, SUITE)

    @property
    def name(self) -> str:
        """The object's name; kernels of the suite may be called as shipped ones are."""
        return f"{self.family}/{self.path.stem}"


def compiled() -> list[Subject]:
    """The kernels of examples/ and of the benchmark suite, with their launches, smallest objects first."""
    found = [
        Subject(family, path, launch)
        for family, folder in ((SHIPPED, ROOT / "examples"), (SUITE, ROOT / "bench" / "suite"))
        for path in (folder / "kernels").glob("*.co")
        if (launch := folder / "launches" / f"{path.stem}.toml").exists()
    ]
    return sorted(found, key=lambda s: (s.path.stat().st_size, s.name))


def sampled(folder: Path, count: int, seed: int, most_kilobytes: int) -> Iterator[Subject]:
    """Up to `count` objects of `folder`, drawn at random from its families in turn.

    Ordered so that any beginning has all families: the smallest drawn of each, then the next of each.
    """
    families: defaultdict[str, list[Path]] = defaultdict(list)
    for path in sorted(folder.rglob("*.co")):
        if path.stat().st_size <= most_kilobytes * 1024:
            families[family_of(path.relative_to(folder))].append(path)
    dice = random.Random(seed)
    for paths in families.values():
        dice.shuffle(paths)
    drawn: defaultdict[str, list[Path]] = defaultdict(list)
    for depth in range(max(map(len, families.values()), default=0)):
        for family, paths in sorted(families.items()):
            if depth < len(paths) and sum(map(len, drawn.values())) < count:
                drawn[family].append(paths[depth])
    for paths in drawn.values():
        paths.sort(key=lambda p: (p.stat().st_size, p.name))
    for depth in range(max(map(len, drawn.values()), default=0)):
        yield from (Subject(family, paths[depth]) for family, paths in sorted(drawn.items()) if depth < len(paths))


def family_of(path: Path) -> str:
    """The family of an object by its path below the folder: the first folder, or the name up to its first underscore."""
    return path.parts[0] if len(path.parts) > 1 else path.stem.split("_")[0]
