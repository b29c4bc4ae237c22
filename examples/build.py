"""Builds the shipped example kernels for gfx942; no GPU is needed.

    python examples/build.py --out examples/kernels

Needs `triton` and NumPy in the running Python for the Triton sources, and clang with the AMDGPU target for the OpenCL C ones
(`--clang`, by default clang-19). Writes NAME.co for each source and MANIFEST.json with compiler versions and SHA-256 sums.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

TARGET = "gfx942"
WAVE = 64
HERE = Path(__file__).resolve().parent
TRITON_ENVIRONMENT = {"TRITON_DISABLE_LINE_INFO": "1", "TRITON_DEFAULT_FP_FUSION": "1"}
"""No source paths in the objects, and multiply-add fusion said rather than left to the version's default."""
CLANG_FLAGS = ("-x", "cl", "-cl-std=CL2.0", "-O3", "--target=amdgcn-amd-amdhsa", f"-mcpu={TARGET}", "-nogpulib")


def main() -> None:
    """Builds every source and writes the manifest."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=HERE / "kernels", help="folder for the objects and the manifest")
    parser.add_argument("--clang", default="clang-19", help="clang with the AMDGPU target")
    options = parser.parse_args()
    os.environ.update(TRITON_ENVIRONMENT)
    options.out.mkdir(parents=True, exist_ok=True)
    triton, clang = triton_version(), clang_version(options.clang)
    manifest: dict[str, dict[str, Any]] = {}
    for source in sorted((HERE / "sources").iterdir()):
        if source.suffix == ".py":
            (data, dynamic_lds), made_by = compile_triton(source), triton
        elif source.suffix == ".cl":
            data, dynamic_lds, made_by = compile_opencl(source, options.clang, options.out), 0, clang
        else:
            continue
        target = options.out / f"{source.stem}.co"
        target.write_bytes(data)
        target.chmod(0o644)
        digest = hashlib.sha256(data).hexdigest()
        manifest[source.stem] = {
            "source": source.name,
            "compiler": made_by,
            "target": TARGET,
            "dynamic_lds_bytes": dynamic_lds,
            "bytes": len(data),
            "sha256": digest,
        }
    (options.out / "MANIFEST.json").write_text(json.dumps(manifest, indent=2) + "\n")


def triton_version() -> str:
    """Name and version of the Triton that compiles."""
    import triton

    return f"triton {triton.__version__}"


def clang_version(clang: str) -> str:
    """Clang's first version line and the flags used."""
    shown = subprocess.run([clang, "--version"], capture_output=True, text=True, check=True)
    return f"{shown.stdout.splitlines()[0]}; {' '.join(CLANG_FLAGS)}"


def compile_triton(path: Path, options: Mapping[str, Any] | None = None) -> tuple[bytes, int]:
    """The code object of a Triton source and the LDS bytes that a launch must give it.

    The source is a module with KERNEL, SIGNATURE, CONSTANTS, ALIGNED and OPTIONS, to which `options` are added.
    """
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    module = _load(path)
    names = module.KERNEL.arg_names
    signature = {name: module.SIGNATURE.get(name, "constexpr") for name in names}
    attributes = {(names.index(name),): [["tt.divisibility", 16]] for name in module.ALIGNED}
    source = ASTSource(module.KERNEL, signature, dict(module.CONSTANTS), attributes)
    built = triton.compile(source, target=GPUTarget("hip", TARGET, WAVE), options={**module.OPTIONS, **(options or {})})
    return built.asm["hsaco"], built.metadata.shared


def compile_opencl(path: Path, clang: str, folder: Path) -> bytes:
    """The code object of an OpenCL C source."""
    output = folder / f"{path.stem}.co"
    subprocess.run([clang, *CLANG_FLAGS, "-o", str(output), str(path)], check=True)
    return output.read_bytes()


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python source")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    main()
