"""Compares the tables with rocRoller's architecture files (MIT): names, wait counters, branches, matrix passes, scalar flags.

The files lie in GPUArchitectureGenerator/pregenerated of rocRoller's sources; `ASMEVO_ROCROLLER` names that folder.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from asmevo.ir.isa import lookup, variants
from asmevo.ir.isa.model import Counter, IssueClass, OpcodeDef
from asmevo.ir.registers import EXEC_MASK, SCC, VCC_MASK
from tools.isa.differences import Difference

SOURCE = "rocroller"
FOLDER = "ASMEVO_ROCROLLER"
_QUEUES = {
    "LoadQueue": Counter.VMCNT,
    "StoreQueue": Counter.VMCNT,
    "SMemQueue": Counter.LGKMCNT,
    "DSQueue": Counter.LGKMCNT,
    "SendMsgQueue": Counter.LGKMCNT,
}
_NOT_SAID = -1
_NAMES = {"v_accvgpr_read": "v_accvgpr_read_b32", "v_accvgpr_write": "v_accvgpr_write_b32"}


def unavailable() -> str:
    """Why the comparison cannot be made here; empty when it can."""
    folder = os.environ.get(FOLDER)
    if not folder:
        return f"{FOLDER} does not name rocRoller's GPUArchitectureGenerator/pregenerated"
    if importlib.util.find_spec("yaml") is None:
        return "PyYAML is not installed (pip install pyyaml)"
    return "" if Path(folder).is_dir() else f"{folder} is no folder"


def differences(target: str) -> Iterator[Difference]:
    """All differences on one target."""
    path = Path(os.environ[FOLDER]) / f"GPUArchitecture_def_{target}.yaml"
    yaml: Any = importlib.import_module("yaml")
    infos: Mapping[str, Mapping[str, Any]] = yaml.safe_load(path.read_text(encoding="utf-8"))["Architectures"][target][
        "InstructionInfos"
    ]
    for name, info in sorted(infos.items()):
        found = [d for d in variants(_NAMES.get(name, name)) if target in d.targets]
        if not found:
            yield Difference(SOURCE, target, name, "exists", "no", "yes")
            continue
        yield from _compare(target, name, found[0], info)


def _compare(target: str, name: str, ours: OpcodeDef, info: Mapping[str, Any]) -> Iterator[Difference]:
    if info["IsBranch"] != ours.is_branch:
        yield Difference(SOURCE, target, name, "branch", str(ours.is_branch), str(info["IsBranch"]))
    if info["WaitCount"] != _NOT_SAID and ours.issue is not IssueClass.WAIT:
        mine = "+".join(sorted(counter.value for counter in ours.counters))
        queues = {_QUEUES[queue].value for queue in info["WaitQueues"]}
        theirs = "+".join(sorted(queues))
        if mine != theirs:
            yield Difference(SOURCE, target, name, "counters", mine, theirs)
    if ours.issue is IssueClass.MATRIX and info["Latency"] > 0 and info["Latency"] != ours.passes_on(target):
        yield Difference(SOURCE, target, name, "passes", str(ours.passes_on(target)), str(info["Latency"]))
    flags = bool(ours.implicit_reads & (1 << SCC | VCC_MASK | EXEC_MASK)) and name.startswith("s_")
    if flags != info["ImplicitAccess"] and lookup(name) is ours:
        yield Difference(SOURCE, target, name, "implicit read", str(flags), str(info["ImplicitAccess"]))
