"""Makes the containers that the tests open, from sources of this repository, with the tools that users have.

    python tests/data/containers/make.py

Needs clang, lld, clang-offload-bundler, clang-offload-packager and llvm-ar of LLVM 19 (`--llvm`), clang-offload-bundler of
LLVM 22 for compressed bundles of version 3 (`--bundler`), ar, and Triton in another Python (`--triton`).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parents[2] / "examples"
HISTOGRAM = EXAMPLES / "kernels" / "histogram.co"
OPENCL = ("-x", "cl", "-cl-std=CL2.0", "--target=amdgcn-amd-amdhsa", "-mcpu=gfx942", "-nogpulib")
HIP = ("-x", "hip", "-nogpuinc", "-nogpulib", "-O2", "-fPIC", "-c")
TARGETS = "-targets=host-x86_64-unknown-linux-gnu-,hipv4-amdgcn-amd-amdhsa--gfx942"


def run(*command: object, cwd: Path = HERE) -> None:
    """Runs a command in the data folder, so that no path of this machine gets into a file."""
    subprocess.run([str(part) for part in command], check=True, cwd=cwd)


def main() -> None:
    """Makes every file anew."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--llvm", type=Path, default=Path("/usr/lib/llvm-19/bin"), help="folder of LLVM 19's tools")
    parser.add_argument("--bundler", type=Path, help="clang-offload-bundler of LLVM 22")
    parser.add_argument("--triton", type=Path, help="a Python that has Triton")
    options = parser.parse_args()
    relocatables(options.llvm)
    host_files(options.llvm)
    bundles(options.llvm, options.bundler)
    archives(options.llvm)
    if options.triton:
        triton_cache(options.triton)


def relocatables(llvm: Path) -> None:
    """Relocatable objects, and what lld makes of them."""
    clang = llvm / "clang"
    shutil.copy(EXAMPLES / "sources" / "histogram.cl", HERE / "histogram.cl")
    run(clang, *OPENCL, "-O3", "-c", "-o", "histogram.o", "histogram.cl")
    (HERE / "histogram.cl").unlink()
    run(clang, *OPENCL, "-O2", "-g", "-fdebug-compilation-dir=.", "-c", "-o", "program.o", "program.cl")
    run(llvm / "ld.lld", "-shared", "--no-undefined", "-o", "program.co", "program.o")
    run(clang, *OPENCL, "-O2", "-emit-llvm", "-c", "-o", "program.bc", "program.cl")


def host_files(llvm: Path) -> None:
    """A host library with two source files' fat binaries, and host objects of the other kinds."""
    clang = llvm / "clang"
    chips = [f"--offload-arch={chip}" for chip in ("gfx90a", "gfx942", "gfx1100")]
    for number in (1, 2):
        names = (f"-DKERNEL=fill_{number}", f"-DVALUE={number}")
        run(clang, *HIP, *chips, *names, f"-cuid={number}", "-o", f"fat{number}.o", "fat.hip")
    run(llvm / "ld.lld", "-shared", "--unresolved-symbols=ignore-all", "-s", "-o", "libfat.so", "fat1.o", "fat2.o")
    for number in (1, 2):
        (HERE / f"fat{number}.o").unlink()
    names = ("--offload-arch=gfx942", "-DKERNEL=fill", "-DVALUE=3", "-cuid=3")
    run(clang, *HIP, *names, "--offload-compress", "-o", "compressed.o", "fat.hip")
    run(clang, *HIP, *names, "-fgpu-rdc", "-o", "bitcode.o", "fat.hip")
    image = "--image=file=program.co,triple=amdgcn-amd-amdhsa,arch=gfx942,kind=openmp"
    run(llvm / "clang-offload-packager", image, "-o", "packaged.bin")


def bundles(llvm: Path, newer: Path | None) -> None:
    """Bundles of the shipped histogram: plain, and compressed in each version that a tool writes."""
    common = ("-type=o", "-bundle-align=4096", TARGETS, "-input=/dev/null", f"-input={os.path.relpath(HISTOGRAM, HERE)}")
    bundler = llvm / "clang-offload-bundler"
    run(bundler, *common, "-output=plain.hipfb")
    run(bundler, *common, "-compress", "-output=zstd_v2.hipfb")
    if newer:
        run(newer, *common, "-compress", "-output=zstd_v3.hipfb")
    # No packaged bundler writes zlib when it has zstd: what this package writes must be what the tool reads.
    from asmevo.frontend.containers.compressed import ZLIB, Header, compress

    plain = (HERE / "plain.hipfb").read_bytes()
    (HERE / "zlib_v2.hipfb").write_bytes(compress(plain, Header(2, ZLIB, None, 0, 0, 0)))
    with tempfile.TemporaryDirectory() as folder:
        taken = Path(folder) / "taken.co"
        target = TARGETS.rsplit(",", 1)[1]
        run(bundler, "-type=o", "-unbundle", f"-targets={target}", "-input=zlib_v2.hipfb", f"-output={taken}")
        if taken.read_bytes() != HISTOGRAM.read_bytes():
            sys.exit("clang-offload-bundler does not read the zlib bundle")


def archives(llvm: Path) -> None:
    """Archives of GNU and BSD form, with a name that needs the table of long names."""
    long_name = "a_member_with_a_long_name.o"
    shutil.copy(HERE / "histogram.o", HERE / long_name)
    for name in ("gnu.a", "bsd.a", "thin.a"):
        (HERE / name).unlink(missing_ok=True)
    run("ar", "rcD", "gnu.a", long_name, "program.co")
    run(llvm / "llvm-ar", "--format=bsd", "rcD", "bsd.a", long_name, "program.co")
    run("ar", "rcDT", "thin.a", "program.co")
    (HERE / long_name).unlink()


def triton_cache(python: Path) -> None:
    """The cache entry that Triton leaves for the shipped softmax, with the intermediate texts and local paths taken out."""
    shutil.rmtree(HERE / "triton", ignore_errors=True)
    script = (
        "import sys, os; sys.path.insert(0, sys.argv[1]); import build; os.environ.update(build.TRITON_ENVIRONMENT)\n"
        "build.compile_triton(build.HERE / 'sources' / 'softmax.py')"
    )
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "TRITON_CACHE_DIR": folder}
        subprocess.run([python, "-c", script, str(EXAMPLES)], check=True, env=environment)
        (found,) = Path(folder).rglob("softmax.hsaco")
        target = HERE / "triton" / found.parent.name
        target.mkdir(parents=True)
        shutil.copy(found, target)
        metadata = json.loads(found.with_suffix(".json").read_text())
        del metadata["extern_libs"]
        (target / "softmax.json").write_text(json.dumps(metadata, indent=1) + "\n")


if __name__ == "__main__":
    main()
