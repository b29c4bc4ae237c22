"""Builds the suite's kernels for gfx942, and LLVM's alternatives to them; no GPU is needed.

    python -m bench.suite.build                          # bench/suite/kernels, kept in the repository
    python -m bench.suite.build --rivals build/rivals    # one folder a choice of LLVM's scheduler, not kept

Needs `triton` in the running Python for the Triton sources and clang with the AMDGPU target for the HIP ones (`--clang`).
A source's folder is its level. MANIFEST.json has level, source, compiler, flags, the LDS a launch must give and SHA-256.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.suite.entries import ENVIRONMENT, KERNELS, SOURCES, Entry
from examples.build import TARGET, TRITON_ENVIRONMENT, compile_triton, triton_version

CLANG_FLAGS = (
    *("-x", "hip", f"--offload-arch={TARGET}", "--offload-device-only", "--no-gpu-bundle-output"),
    *("-nogpulib", "-nogpuinc", "-fuse-cuid=none", "-std=c++17", "-O3"),
)


@dataclass(frozen=True, slots=True)
class Rival:
    """One of LLVM's alternatives: clang flags after those of the suite, and Triton's function attributes for LLVM.

    None where a compiler has no such choice.
    """

    clang: tuple[str, ...] | None
    triton: str | None


RIVALS: Mapping[str, Rival] = {
    "max-ilp": Rival(("-mllvm", "-misched=gcn-max-ilp"), "amdgpu-sched-strategy=max-ilp"),
    "max-memory-clause": Rival(None, "amdgpu-sched-strategy=max-memory-clause"),
    "iterative-ilp": Rival(("-mllvm", "-misched=gcn-iterative-ilp"), "amdgpu-sched-strategy=iterative-ilp"),
    "iterative-minreg": Rival(("-mllvm", "-misched=gcn-iterative-minreg"), "amdgpu-sched-strategy=iterative-minreg"),
    "iterative-maxocc": Rival(
        ("-mllvm", "-misched=gcn-iterative-max-occupancy-experimental"), "amdgpu-sched-strategy=iterative-maxocc"
    ),
    "O2": Rival(("-O2",), None),
}
"""clang 19 chooses the scheduler by an option, Triton's later LLVM by a function attribute. Triton always optimises with O3."""


def main() -> int:
    """Builds what was asked for; 1 when a rival could not be built, each named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=KERNELS, help="folder for the objects and the manifest")
    parser.add_argument("--rivals", type=Path, help="folder for LLVM's alternatives; the suite's own objects stay as they are")
    parser.add_argument("--clang", default="clang-19", help="clang with the AMDGPU target")
    parser.add_argument("--only", default="", help="build only kernels whose name has this; keeps the manifest's other entries")
    options = parser.parse_args()
    os.environ.update(TRITON_ENVIRONMENT)
    sources = [p for p in sorted(SOURCES.glob("*/*")) if p.suffix in (".hip", ".py") and options.only in p.stem]
    if options.rivals is None:
        build_all(sources, options.out, options.clang, None)
        return 0
    failed = 0
    for name, rival in RIVALS.items():
        failed += build_all(sources, options.rivals / name, options.clang, rival)
    return 1 if failed else 0


def build_all(sources: list[Path], folder: Path, clang: str, rival: Rival | None) -> int:
    """Builds `sources` into `folder`; how many a rival's compiler refused. Without a rival such a refusal is an error."""
    folder.mkdir(parents=True, exist_ok=True)
    record = folder / "MANIFEST.json"
    manifest = json.loads(record.read_text()) if record.exists() else {}
    failed = 0
    for source in sources:
        try:
            built = compile_source(source, clang, rival)
        except Exception as error:  # compilers end in many ways; which one did is what the user must know
            if rival is None:
                raise
            print(f"{folder.name}: {source.stem} could not be built: {error}", file=sys.stderr)
            failed += 1
            continue
        if built is None:
            continue
        data, lds, compiler, flags = built
        (folder / f"{source.stem}.co").write_bytes(data)
        digest = hashlib.sha256(data).hexdigest()
        level = source.parent.name
        entry = Entry(level, f"{level}/{source.name}", compiler, flags, TARGET, lds, len(data), digest)
        manifest[source.stem] = asdict(entry)
    record.write_text(json.dumps(dict(sorted(manifest.items())), indent=2) + "\n")
    return failed


def compile_source(source: Path, clang: str, rival: Rival | None) -> tuple[bytes, int, str, str] | None:
    """Object, LDS bytes, compiler and flags; None where the rival is no choice of this compiler."""
    if source.suffix == ".py":
        attributes = rival.triton if rival else ""
        if attributes is None:
            return None
        data, lds = compile_triton(source, {"llvm_fn_attrs": attributes} if attributes else {})
        return data, lds, _triton(), f"{ENVIRONMENT} {attributes}".strip()
    extra = rival.clang if rival else ()
    if extra is None:
        return None
    shown = subprocess.run([clang, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "out.co"
        flags = [*CLANG_FLAGS, *extra]
        subprocess.run([clang, *flags, f"-I{SOURCES}", "-o", str(output), str(source)], check=True)
        return output.read_bytes(), 0, shown, " ".join(flags)


def _triton() -> str:
    """Triton's version, and the commit of the LLVM that makes its AMD code."""
    from triton.backends.amd.compiler import get_amd_codegen_revision

    return f"{triton_version()} (LLVM {get_amd_codegen_revision()[:12]})"


if __name__ == "__main__":
    raise SystemExit(main())
