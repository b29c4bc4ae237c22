"""The README's ten minutes, by the clock: from `git clone` to an optimised object of one's own Triton kernel.

    python -m tools.docs.ten_minutes REPOSITORY --triton PYTHON

A kernel is compiled by the Triton of another Python, as a reader's program would have done it. Then every line of README's
section is typed into a shell, in an empty folder with a home of its own; only the repository's address is put in. Ends with 1
when a line fails. Needs a package index, as a reader does.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SECTION = re.compile(r"^## Ten minutes.*?^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)
ADDRESS = re.compile(r"git clone \S+")
ROOT = Path(__file__).resolve().parents[2]
COMPILE = """
import sys
sys.path.insert(0, {sources!r})
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
import softmax as source
signature = {{**source.SIGNATURE, **{{name: "constexpr" for name in source.CONSTANTS}}}}
triton.compile(ASTSource(source.KERNEL, signature, source.CONSTANTS), target=GPUTarget("hip", "gfx942", 64))
"""
"""A reader's program, as far as its kernel is compiled. Source of the calls: triton/compiler/compiler.py of Triton 3.9."""


def lines(readme: str) -> list[str]:
    """The section's commands. Raises ValueError when README has no such section."""
    found = SECTION.search(readme)
    if found is None:
        raise ValueError("README has no section 'Ten minutes' with commands")
    return [line[2:] for line in found[1].splitlines() if line.startswith("$ ")]


def main(arguments: list[str] | None = None) -> int:
    """Type the section's lines, and print what each took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", help="address or folder to clone")
    parser.add_argument("--triton", required=True, type=Path, help="a Python that has Triton")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="asmevo-ten-minutes-") as name:
        folder = Path(name)
        environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")} | {"HOME": name}
        program = COMPILE.format(sources=str(ROOT / "examples" / "sources"))
        (folder / "program.py").write_text(program)
        subprocess.run([options.triton, "program.py"], cwd=folder, env=environment, check=True)
        return _typed(lines((ROOT / "README.md").read_text(encoding="utf-8")), options.repository, folder, environment)


def _typed(commands: list[str], repository: str, folder: Path, environment: dict[str, str]) -> int:
    """All lines go to one shell, so that folders and variables last; each says when it is done."""
    whole = time.monotonic()
    script = ["set -e"]
    for command in commands:
        typed = ADDRESS.sub(f"git clone -q {shlex.quote(repository)} asmevo", command)
        script += [f"echo {shlex.quote('$ ' + typed)}", typed, 'echo "  $SECONDS s so far"']
    done = subprocess.run(["bash", "-c", "\n".join(script)], cwd=folder, env=environment, check=False)
    print(f"{'all done' if done.returncode == 0 else 'FAILED'} after {time.monotonic() - whole:.0f} s")
    return 0 if done.returncode == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
