"""The benchmark suite: modelled gains of 34 kernels, verified, beside LLVM's alternatives, as Markdown, CSV and SVG.

    python -m bench.suite                                    # presets O1, O2 and O3
    python -m bench.suite --search 30 --rivals build/rivals  # and a search of 30 s a kernel; bench.suite.build made the folder
    python -m bench.suite --aiter aiter/hsa/gfx942           # AITER's four kernels, from a folder of yours, presets only

Nothing is measured on a device. A run goes on where an earlier one with the same choices ended (`suite.jsonl` in --out).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from asmevo.cli.common import Exit, guarded
from bench.suite.entries import KERNELS, LAUNCHES, Entry, entries

if TYPE_CHECKING:
    from bench.suite.measure import Row

RESULTS = Path(__file__).resolve().parents[2] / "docs" / "results"
AITER = (
    "fmoe/silu/fmoe_bf16_blockscaleFp8_g1u1_vs_silu_1tg_32x256.co",
    "fmha_v3_fwd/MI300/fwd_hd128_fp8_causal.co",
    "fmha_v3_fwd/MI300/fwd_hd192x128_bf16_causal_rtna.co",
    "fmha_v3_bwd/bwd_hd128_bf16_causal_a32_rtne.co",
)
"""The four kinds of AITER kernel that the method's paper names, below hsa/gfx942."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the suite. 0 when every kernel was measured, whether or not something was found."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.suite", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="*", default=(), help="kernels by name; all without any")
    parser.add_argument("--pass", dest="passes", default="O1,O2,O3", help="presets, with commas between")
    parser.add_argument("--search", type=float, default=0.0, metavar="SECONDS", help="search each kernel for so long; 0: not")
    parser.add_argument("--attempts", type=int, default=400, help="most attempts of one search")
    parser.add_argument("--seed", type=int, default=0, help="of the search")
    parser.add_argument("--rivals", type=Path, help="folder made by python -m bench.suite.build --rivals")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for suite.jsonl, suite.md, suite.csv and suite.svg")
    parser.add_argument(
        "--aiter", type=Path, help="AITER's hsa/gfx942: its four kernels instead of the suite, to standard output"
    )
    options = parser.parse_args(arguments)
    return guarded(lambda: _aiter(options.aiter, options.passes) if options.aiter else _suite(options))


def _suite(options: argparse.Namespace) -> int:
    from asmevo.atomic import check_writable
    from asmevo.diagnostics import fail
    from bench.suite.measure import Plan, measure
    from bench.suite.store import Store, key

    shipped = entries()
    unknown = [name for name in options.only if name not in shipped]
    if unknown:
        fail("E0208", f"the suite has no kernel '{unknown[0]}'", help=f"its kernels are {', '.join(shipped)}")
    options.out.mkdir(parents=True, exist_ok=True)
    store_path = options.out / "suite.jsonl"
    check_writable(store_path)
    store = Store(store_path)
    plan = Plan(tuple(options.passes.split(",")), options.search, options.attempts, options.seed)
    rows: list[Row] = []
    for name, entry in shipped.items():
        if options.only and name not in options.only:
            continue
        launch, rivals = LAUNCHES / f"{name}.toml", _rivals(options.rivals, name)
        made_from = key(plan, launch, {"shipped": KERNELS / f"{name}.co", **rivals})
        row = store.find(name, made_from)
        if row is None:

            def progress(what: str, name: str = name) -> None:
                print(f"{name}: {what}", file=sys.stderr, flush=True)

            row = measure(KERNELS / f"{name}.co", launch, entry.level, _built_by(entry), plan, rivals=rivals, progress=progress)
            store.keep(row, made_from)
        rows.append(row)
    _write(options, shipped, plan.methods, rows)
    return Exit.DONE


def _rivals(folder: Path | None, name: str) -> dict[str, Path]:
    if folder is None:
        return {}
    from bench.suite.build import RIVALS

    return {rival: folder / rival / f"{name}.co" for rival in RIVALS if (folder / rival / f"{name}.co").exists()}


def _built_by(entry: Entry) -> str:
    return "Triton" if entry.source.endswith(".py") else "clang -O3"


def _write(options: argparse.Namespace, shipped: dict[str, Entry], methods: Sequence[str], rows: Sequence[Row]) -> None:
    from asmevo.atomic import write_atomically
    from bench.suite.plot import picture
    from bench.suite.tables import comma_separated, heading, markdown

    command = f"python -m bench.suite --pass {options.passes}"
    if options.search:
        command += f" --search {options.search:g} --attempts {options.attempts} --seed {options.seed}"
    if options.rivals:
        command = f"python -m bench.suite.build --rivals build/rivals\n    {command} --rivals build/rivals"
    if options.only:
        command += f" --only {' '.join(options.only)}"
    compilers = sorted({entry.compiler for entry in shipped.values()})
    text = markdown(rows, methods, heading(command, compilers, methods[-1]))
    write_atomically(options.out / "suite.md", text.encode())
    write_atomically(options.out / "suite.csv", comma_separated(rows, methods).encode())
    write_atomically(options.out / "suite.svg", picture(rows, methods[-1]).encode())
    print(text, end="")


def _aiter(folder: Path, passes: str) -> int:
    from bench.passes import markdown, row

    pipelines = passes.split(",")
    rows = [row(Path(path).parts[0], folder / path, pipelines, "smt") for path in AITER]
    print("\n".join(markdown(rows, pipelines)))
    return Exit.DONE


if __name__ == "__main__":
    sys.exit(main())
