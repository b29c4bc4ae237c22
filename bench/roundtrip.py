"""Times code objects to text and back on this machine, and disassembly with parsing against `llvm-objdump -d`, in one run.

The whole path of an object is: disassemble, parse, lower, print, assemble against the original, compare. Times are CPU times,
of this process and its children, and of llvm-objdump as a process; nothing is known at the start but what importing loads.
Prints what it ran on. Without folders it takes ASMEVO_CORPUS, else the shipped kernels.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from asmevo import __version__
from asmevo.backend.build import text_roundtrip
from asmevo.frontend.codeobject import CodeObject, load_file
from asmevo.frontend.disassembler import disassemble
from asmevo.frontend.line import line_parser
from asmevo.frontend.llvm import version

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
OBJDUMPS = ("llvm-objdump", *(f"llvm-objdump-{number}" for number in range(30, 17, -1)))

KNOWN_SINCE = {"gfx90a": 13, "gfx942": 17, "gfx950": 20}
"""The LLVM version that brought each chip."""


def objects_in(folders: Sequence[Path], count: int, seed: int) -> list[Path]:
    found = sorted(path for folder in folders for path in folder.rglob("*.co"))
    return random.Random(seed).sample(found, min(count, len(found)))


def objdump_for(target: str) -> str | None:
    """An llvm-objdump new enough for the target; older ones abort on a chip they do not know."""
    for name in OBJDUMPS:
        path = shutil.which(name)
        if path is not None:
            printed = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
            number = re.search(r"LLVM version (\d+)", printed)
            if number is not None and int(number[1]) >= KNOWN_SINCE[target]:
                return path
    return None


def cpu_seconds() -> float:
    """CPU time of this process and its children: code not seen before is decoded in a child first."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def objdump_seconds(objdump: str, paths: Sequence[Path], target: str) -> float:
    started = cpu_seconds()
    for path in paths:
        subprocess.run([objdump, "-d", f"--mcpu={target}", str(path)], check=True, stdout=subprocess.DEVNULL)
    return cpu_seconds() - started


def parse_all(obj: CodeObject) -> int:
    parse = line_parser().parse
    lines = disassemble(obj.data[obj.text.offset : obj.text.offset + obj.text.size], obj.target)
    for line in lines:
        if line.text is not None:
            parse(line.text, None, allow_opaque=True)
    return len(lines)


def bench_parse(objects: Sequence[CodeObject], paths: Sequence[Path]) -> None:
    """Times disassembly and parsing of one target's objects, then llvm-objdump on the same files."""
    target = objects[0].target
    started = cpu_seconds()
    count = sum(parse_all(obj) for obj in objects)
    seconds = cpu_seconds() - started
    print(f"{target}: disassemble and parse {len(objects)} objects: {seconds:.2f} s, {count / seconds:,.0f} instructions/s")
    objdump = objdump_for(target)
    if objdump is None:
        print(f"{target}: no llvm-objdump that knows it, nothing to compare with")
        return
    rival = objdump_seconds(objdump, paths, target)
    print(f"{target}: {objdump} -d: {rival:.2f} s; asmevo takes {seconds / rival:.2f} times as long")


def bench_roundtrip(objects: Sequence[CodeObject]) -> bool:
    count = sum(obj.text.size // 4 for obj in objects)
    words = 0
    same = 0
    started = cpu_seconds()
    for obj in objects:
        same += text_roundtrip(obj) == obj.data
    seconds = cpu_seconds() - started
    for obj in objects:
        words += len(disassemble(obj.data[obj.text.offset : obj.text.offset + obj.text.size], obj.target))
    print(f"through text: {same} of {len(objects)} identical, {words:,} instructions ({count:,} words) in {seconds:.2f} s")
    print(f"through text: {words / seconds:,.0f} instructions/s a core (bar: 25,000)")
    return same == len(objects)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    corpus = os.environ.get("ASMEVO_CORPUS")
    folders = options.folders or ([Path(corpus)] if corpus else [EXAMPLES / "kernels"])
    paths = objects_in(folders, options.count, options.seed)
    if not paths:
        print("no code objects there", file=sys.stderr)
        return 2
    runs_on = f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} CPUs"
    print(f"asmevo {__version__}, LLVM {version()}, {runs_on}")
    objects = [load_file(path) for path in paths]
    is_same = bench_roundtrip(objects)
    # In fresh processes: what the first bench has learnt would help.
    sys.stdout.flush()
    for target in sorted({obj.target for obj in objects}):
        chosen = [str(path) for path, obj in zip(paths, objects, strict=True) if obj.target == target]
        subprocess.run([sys.executable, __file__, "--parse-only", *chosen], check=True)
    return 0 if is_same else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--parse-only"]:
        files = [Path(name) for name in sys.argv[2:]]
        bench_parse([load_file(path) for path in files], files)
        raise SystemExit(0)
    raise SystemExit(main())
