"""`make isa-check`: compares the instruction tables with every outside source at hand; each difference needs a reason.

Exit code 0: every difference is settled in disagreements.toml and every entry there still speaks of one. 1: not so.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from asmevo.frontend.llvm import TARGETS, version
from tools.isa import descriptors, llvm_shapes, rocroller, tinygrad_tables
from tools.isa.differences import Difference, Settlement, load_entries, settle

_SHOWN = 40


@dataclass(frozen=True, slots=True)
class Source:
    """An outside source: why it cannot be asked here (empty when it can), and its differences from the tables."""

    name: str
    unavailable: Callable[[], str]
    differences: Callable[[], Iterable[Difference]]


def _on_every_target(of_target: Callable[[str], Iterator[Difference]]) -> Callable[[], Iterator[Difference]]:
    def differences() -> Iterator[Difference]:
        for target in TARGETS:
            yield from of_target(target)

    return differences


def _always() -> str:
    return ""


SOURCES = (
    Source(llvm_shapes.SOURCE, _always, _on_every_target(llvm_shapes.differences)),
    Source(descriptors.SOURCE, _always, _on_every_target(descriptors.differences)),
    Source(tinygrad_tables.SOURCE, tinygrad_tables.unavailable, tinygrad_tables.differences),
    Source(rocroller.SOURCE, rocroller.unavailable, _on_every_target(rocroller.differences)),
)


def compare(names: Iterable[str]) -> tuple[Settlement, dict[str, str]]:
    """Compare with the named sources: what came of it, and those left out with the reason."""
    wanted = set(names)
    skipped: dict[str, str] = {}
    found: list[Difference] = []
    for source in SOURCES:
        if source.name in wanted:
            if reason := source.unavailable():
                skipped[source.name] = reason
            else:
                found += source.differences()
    return settle(found, load_entries(), wanted - set(skipped)), skipped


def main(arguments: list[str] | None = None) -> int:
    """Run the comparison and print what is open, stale and settled."""
    parser = argparse.ArgumentParser(prog="python -m tools.isa.crosscheck", description=__doc__)
    names = [source.name for source in SOURCES]
    parser.add_argument("--source", action="append", choices=names, help="only this one; may be given several times")
    chosen = parser.parse_args(arguments).source or names
    result, skipped = compare(chosen)
    for name, reason in skipped.items():
        print(f"skipped {name}: {reason}")
    for difference in result.open[:_SHOWN]:
        print(f"open    {difference}")
    if len(result.open) > _SHOWN:
        print(f"open    ... and {len(result.open) - _SHOWN} more")
    for entry in result.stale:
        print(f"stale   entry '{entry.name}' settles nothing any more")
    settled = sum(result.settled.values())
    print(
        f"LLVM {version()}: {len(result.open)} open, {len(result.stale)} stale, "
        f"{settled} differences settled by {len(result.settled)} entries"
    )
    return 1 if result.open or result.stale else 0


if __name__ == "__main__":
    sys.exit(main())
