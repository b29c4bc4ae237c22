"""Every finding at level error on production kernels, as data: `make triage`, with ASMEVO_CORPUS naming the folder of objects.

Owns the scan. What is kept are paths, offsets and mnemonics: nothing of an object's contents.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from asmevo.atomic import write_atomically
from asmevo.diagnostics import Severity
from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from asmevo.verify.static_checks import check_all
from tools.triage_page import PAGE, page
from tools.triage_rows import DATA, Row, write


def objects(corpus: Path) -> list[tuple[str, Path]]:
    """Name and path of each object below a folder named after a target, or of folders so named."""
    start = corpus.parent if corpus.name.startswith("gfx") else corpus
    return [(path.relative_to(start).as_posix(), path) for path in sorted(corpus.rglob("*.co"))]


def scan(item: tuple[str, Path]) -> tuple[list[Row], dict[str, int]]:
    """The rows of one object, and how many findings it has of each `code severity rule`."""
    name, path = item
    loaded = load_file(str(path))
    grouped: defaultdict[tuple[str, str, str, str], list[tuple[int, int]]] = defaultdict(list)
    counts: Counter[str] = Counter()
    for entry in loaded.kernels:
        for f in check_all(recover(loaded, entry.name)):
            counts[f"{f.code} {f.severity.value} {f.rule}".strip()] += 1
            if f.severity is Severity.ERROR:
                key = (f.code, f.rule, f.instruction.mnemonic, f.producer.mnemonic if f.producer else "")
                grouped[key].append((_offset(f.instruction.offset), _offset(f.producer.offset) if f.producer else -1))
    return [Row(name, *key, tuple(sorted(pairs))) for key, pairs in sorted(grouped.items())], dict(counts)


def scan_all(corpus: Path, jobs: int) -> Iterator[tuple[list[Row], dict[str, int]]]:
    """As `scan`, for each object of a corpus, in order."""
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(scan, objects(corpus), chunksize=4)


def main(arguments: list[str]) -> int:
    """Scan the corpus, write the data, print what was found. 2 when there is no corpus."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--corpus", default=os.environ.get("ASMEVO_CORPUS"), help="folder of objects [ASMEVO_CORPUS]")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--data", type=Path, default=DATA)
    options = parser.parse_args(arguments)
    if not options.corpus or not Path(options.corpus).is_dir():
        print("error: set ASMEVO_CORPUS to a folder of production objects (ROCm/aiter, hsa)", file=sys.stderr)
        return 2
    rows: list[Row] = []
    counts: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for found, tally in scan_all(Path(options.corpus), options.jobs):
        rows += found
        counts.update(tally)
        files.update(dict.fromkeys(tally, 1))
    write(rows, options.data)
    if options.data == DATA:
        write_atomically(PAGE, page(rows).encode())
    for kind, count in counts.most_common():
        print(f"{count:8} in {files[kind]:5} objects  {kind}")
    return 0


def _offset(offset: int | None) -> int:
    return -1 if offset is None else offset


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
