"""A second opinion on the listed errors: `python -m tools.triage_second`, with ASMEVO_CORPUS naming the folder of objects.

Owns the question to the analyses that passes use, which share no code with the checks: do they miss the same wait, the same
wait states, find no definition either? What they do not agree with is printed.
"""

from __future__ import annotations

import os
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from asmevo.ir.analysis.dataflow.defuse import DefUse
from asmevo.ir.analysis.dataflow.facts import EffectsTable
from asmevo.ir.analysis.hazards.needed import HazardState
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.analysis.waits.needed import WaitState
from asmevo.ir.kernel import Kernel
from asmevo.ir.registers import units
from tools.triage import objects
from tools.triage_rows import Row, read

Site = tuple[str, int]
_BEFORE_THE_KERNEL = frozenset({("", -1)})


def disagreements(kernel: Kernel, rows: Iterable[Row]) -> Iterator[tuple[Row, tuple[int, int]]]:
    """The pairs of one kernel's rows that the analyses have nothing against."""
    manager = AnalysisManager(kernel)
    sites = {i.offset: (block.label, at) for block in kernel.blocks for at, i in enumerate(block.instructions)}
    ask = {"E0501": _misses_a_wait, "E0502": _misses_states, "E0509": _is_undefined}
    for row in rows:
        for pair in row.pairs:
            if row.code in ask and not ask[row.code](manager, sites[pair[0]], sites.get(pair[1], ("", -1)), row.rule):
                yield row, pair


def _misses_a_wait(manager: AnalysisManager, site: Site, producer: Site, rule: str) -> bool:
    del producer, rule
    needed = manager.get(WaitState).required_before(*site)
    return needed.vmcnt is not None or needed.lgkmcnt is not None


def _misses_states(manager: AnalysisManager, site: Site, producer: Site, rule: str) -> bool:
    found = manager.get(HazardState).report(site[0])[site[1]]
    return any(h.producer == producer and h.rule.name == rule and h.missing_llvm and h.missing_physical for h in found)


def _is_undefined(manager: AnalysisManager, site: Site, producer: Site, rule: str) -> bool:
    del producer, rule
    label, index = site
    read = manager.get(EffectsTable).by_block[label][index].reads
    return any(manager.get(DefUse).definitions(label, index, unit) == _BEFORE_THE_KERNEL for unit in units(read))


def main() -> int:
    """Ask about every listed error of the corpus. 1 when the analyses do not agree, 2 when there is no corpus."""
    corpus = os.environ.get("ASMEVO_CORPUS")
    if not corpus or not Path(corpus).is_dir():
        print("error: set ASMEVO_CORPUS to a folder of production objects (ROCm/aiter, hsa)", file=sys.stderr)
        return 2
    rows: defaultdict[str, list[Row]] = defaultdict(list)
    for row in read():
        rows[row.file].append(row)
    asked: Counter[str] = Counter()
    refused = 0
    for name, path in objects(Path(corpus)):
        if name in rows:
            loaded = load_file(str(path))
            asked.update({row.code: 0 for row in rows[name]})
            for row in rows[name]:
                asked[row.code] += len(row.pairs)
            for row, pair in disagreements(recover(loaded), rows[name]):
                refused += 1
                kind = f"{row.code} {row.rule} {row.instruction} <- {row.producer}"
                print(f"{row.file}: {kind} at {pair}: only the check says so")
    print(f"{asked.total()} errors asked about ({dict(asked)}), {refused} not agreed with")
    return int(refused > 0)


if __name__ == "__main__":
    sys.exit(main())
