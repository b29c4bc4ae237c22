"""Every finding at level error on production kernels, as data: `make triage`, with ASMEVO_CORPUS naming the folder of objects.

Owns the scan. What is kept are paths, offsets and mnemonics: nothing of an object's contents.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asmevo.atomic import write_atomically
from asmevo.collector import collector_paused
from asmevo.diagnostics import Severity
from asmevo.frontend.codeobject import load_file
from asmevo.frontend.llvm import TARGETS
from asmevo.frontend.recover import recover
from asmevo.ir.finding import Finding
from asmevo.ir.instruction import Instruction
from asmevo.ir.isa.hazards import rules_for
from asmevo.ir.kernel import Kernel
from asmevo.verify.static.checks import check_all
from asmevo.verify.static.hazards import MISSING_STATES
from asmevo.verify.static.waits import MISSING_WAIT
from tools.done_log import HELP, logged, read_log
from tools.triage_page import PAGE, page
from tools.triage_rows import DATA, Row, row_of, write

_MISSING = re.compile(r"s_waitcnt (\w+\(\d+\)) is missing")


@dataclass(frozen=True, slots=True)
class Scanned:
    """What one object has: the rows of its errors, how many findings of each `code severity rule`, and its instructions."""

    file: str
    rows: tuple[Row, ...]
    counts: dict[str, int]
    instructions: int


def objects(corpus: Path) -> list[tuple[str, Path]]:
    """Name and path of each object below a folder named after a supported target, or of folders so named."""
    start = corpus.parent if corpus.name in TARGETS else corpus
    found = [(path.relative_to(start).as_posix(), path) for path in sorted(corpus.rglob("*.co"))]
    return [(name, path) for name, path in found if name.split("/")[0] in TARGETS]


def scan(item: tuple[str, Path]) -> Scanned:
    """The errors of one object."""
    name, path = item
    with collector_paused():
        return _scan(name, path)


def _scan(name: str, path: Path) -> Scanned:
    loaded = load_file(str(path))
    grouped: defaultdict[tuple[str, str, str, str, str], list[tuple[int, int]]] = defaultdict(list)
    counts: Counter[str] = Counter()
    instructions = 0
    for entry in loaded.kernels:
        kernel = recover(loaded, entry.name)
        instructions += sum(len(block.instructions) for block in kernel.blocks)
        for f in check_all(kernel):
            counts[f"{f.code} {f.severity.value} {f.rule}".strip()] += 1
            if f.severity is Severity.ERROR:
                key = (f.code, f.rule, f.instruction.mnemonic, f.producer.mnemonic if f.producer else "", _lacks(f, kernel))
                grouped[key].append((_offset(f.instruction), _offset(f.producer)))
    rows = tuple(Row(name, *key, tuple(sorted(pairs))) for key, pairs in sorted(grouped.items()))
    return Scanned(name, rows, dict(counts), instructions)


def _lacks(finding: Finding, kernel: Kernel) -> str:
    if finding.code == MISSING_WAIT:
        found = _MISSING.search(finding.message)
        assert found is not None, finding.message
        return found[1]
    if finding.code == MISSING_STATES and finding.producer is not None and finding.producer.definition is not None:
        rule = next(rule for rule in rules_for(kernel.target) if rule.name == finding.rule)
        passes = finding.producer.definition.passes
        need = min(rule.documented.at(passes), rule.llvm.at(passes))
        return f"{need - finding.missing} of {need}"
    return ""


def _offset(instruction: Instruction | None) -> int:
    return -1 if instruction is None or instruction.offset is None else instruction.offset


def scan_all(found: Sequence[tuple[str, Path]], jobs: int) -> Iterator[Scanned]:
    """As `scan`, for each of `objects`, in order."""
    if jobs == 1:
        yield from map(scan, found)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(scan, found, chunksize=4)


def decode(fields: dict[str, Any]) -> Scanned:
    """What JSON says of an object."""
    given = dict(fields)
    given["rows"] = tuple(row_of(row) for row in given["rows"])
    return Scanned(**given)


def _scan_with_log(found: Sequence[tuple[str, Path]], log: Path, jobs: int) -> list[Scanned]:
    done = read_log(log, decode)
    left = [item for item in found if item[0] not in done]
    # A run that is stopped has then seen a fair share of each family.
    random.Random(1).shuffle(left)
    for scanned in logged(log, done.values(), scan_all(left, jobs)):
        done[scanned.file] = scanned
    return [done[name] for name, _ in found]


def main(arguments: list[str]) -> int:
    """Scan the corpus, write the data, print what was found. 2 when there is no corpus."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--corpus", default=os.environ.get("ASMEVO_CORPUS"), help="folder of objects [ASMEVO_CORPUS]")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--log", type=Path, help=HELP)
    options = parser.parse_args(arguments)
    if not options.corpus or not Path(options.corpus).is_dir():
        print("error: set ASMEVO_CORPUS to a folder of production objects (ROCm/aiter, hsa)", file=sys.stderr)
        return 2
    found = objects(Path(options.corpus))
    results = _scan_with_log(found, options.log, options.jobs) if options.log else list(scan_all(found, options.jobs))
    rows = [row for scanned in results for row in scanned.rows]
    write(rows, options.data)
    if options.data == DATA:
        write_atomically(PAGE, page(rows).encode())
    counts: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for scanned in results:
        counts.update(scanned.counts)
        files.update(dict.fromkeys(scanned.counts, 1))
    print(f"{len(results)} objects, {sum(scanned.instructions for scanned in results)} instructions")
    for kind, count in counts.most_common():
        print(f"{count:8} in {files[kind]:5} objects  {kind}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
