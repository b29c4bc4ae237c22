"""Compares the cycle model with published measurements and writes docs/timing_validation.md.

    python -m bench.timing --write            # the tables that need nothing but the model
    python -m bench.timing --write --corpus /path/to/aiter/hsa   # and the production kernels, some minutes

What the corpus gives is kept in docs/timing_kernels.json, so that the page can be made anew without it. No figure of the model
was fitted to a kernel; rows that are off stay in the table.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from asmevo.atomic import write_atomically
from asmevo.backend.timing import chip, waves_per_simd
from asmevo.backend.timing.addresses import bank_costs
from asmevo.backend.timing.simulate import Assumptions, Recorded, Way, simulate
from asmevo.frontend.source import parse_source
from asmevo.ir.abi import KernelDescriptor
from asmevo.ir.kernel import Kernel
from bench.timing_kernels import LEAST_US, SHAPES, measured_kernels, spearman

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE, KERNELS = DOCS / "timing_validation.md", DOCS / "timing_kernels.json"
CHAIN, LDS = 5.0, 0.0
"""Bars in percent: chains of matrix and vector instructions; LDS conflicts, exact."""


@dataclass(frozen=True, slots=True)
class Row:
    """One figure: published and modelled, in `unit`; `bar` is the error allowed, in percent, None: shown only."""

    what: str
    published: float
    modelled: float
    unit: str
    bar: float | None
    source: str

    @property
    def error(self) -> float:
        """The model's error in percent of the published figure; of 1 where that is 0."""
        return 100 * (self.modelled - self.published) / (self.published or 1.0)

    @property
    def verdict(self) -> str:
        """yes, no, or empty where there is no bar."""
        # Cycles of extra cost near zero are compared as cycles: half a cycle is nothing.
        if self.bar is None:
            return ""
        close = abs(self.modelled - self.published) <= 0.5 and self.bar > 0
        return "yes" if close or abs(self.error) <= self.bar + 1e-9 else "no"


def kernel(lines: Iterable[str], target: str = "gfx942") -> Kernel:
    """A kernel of these lines."""
    return parse_source(
        f'.amdgcn_target "amdgcn-amd-amdhsa--{target}"\nprobe:\n' + "\n".join(lines) + "\n s_endpgm\n", "probe.s"
    )


def cycles_each(lines: Sequence[str], *, target: str = "gfx942", waves: int = 1, fetch: bool = False, shift: int = 0) -> float:
    """Cycles of a SIMD for each repetition of `lines` by each of its `waves` waves, in the steady state."""

    def cycles(repeats: int) -> int:
        probe = kernel(["s_nop 0"] * shift + list(lines) * repeats, target)
        return simulate(probe, Assumptions(group_waves=1, fetch=fetch), waves=waves).cycles

    return (cycles(192) - cycles(64)) / 128 / waves


def side_by_side(first: Sequence[str], second: Sequence[str], *, shift: int = 0) -> float:
    """Cycles of a SIMD for `first` and `second` once, when one wave runs the first and another the second over and over.

    With a `shift` the code of the second begins so many times four bytes off, and fetch is modelled.
    """

    def cycles(repeats: int) -> int:
        lines = [*list(first) * repeats, "s_branch second", "s_nop 0", "second:", *["s_nop 0"] * shift, *list(second) * repeats]
        probe = kernel(lines)
        last = len(probe.blocks) - 1
        ways = tuple(Way(np.array([block], np.int64)) for block in [0] * 4 + [last] * 4)
        return simulate(probe, Recorded(ways, 1, "l2", fetch=shift > 0), places=8).cycles

    return (cycles(192) - cycles(64)) / 128


MFMA = "v_mfma_f32_16x16x16_bf16 a[{0}:{1}], v[0:1], v[2:3], a[{0}:{1}]"
COISSUE = "PYHIP, mfma-valu-coissue (MI308X)"


def issue_rates() -> list[Row]:
    """Instructions of one kind, one wave."""
    rows = [
        ("v_add_f32", ["v_add_f32_e32 v4, v5, v6"], 4.012),
        ("v_fma_f32", ["v_fma_f32 v4, v5, v6, v7"], 4.016),
        ("v_cndmask_b32", ["v_cndmask_b32_e32 v4, v5, v6, vcc"], 4.008),
        ("v_pk_mul_f32", ["v_pk_mul_f32 v[4:5], v[6:7], v[8:9]"], 4.008),
        ("v_exp_f32", ["v_exp_f32_e32 v4, v5"], 16.0),
    ]
    found = [Row(f"`{name}`", published, cycles_each(lines), "cycles", CHAIN, COISSUE) for name, lines, published in rows]
    four = [MFMA.format(n, n + 3) for n in (0, 4, 8, 12)]
    mfma = "`v_mfma_f32_16x16x16_bf16`, 4 accumulators"
    found.append(Row(mfma, 16.026, cycles_each(four) / 4, "cycles", CHAIN, COISSUE))
    found.append(Row("`v_add_f32` that needs the one before", 4, cycles_each(["v_add_f32_e32 v4, v4, v6"]), "cycles", CHAIN,
                     "TGSQ (gfx950 trace, median)"))  # fmt: skip
    meta = "META (gfx950; ticks of 2.183 GHz at 2.2 GHz)"
    wide = "v_mfma_f32_16x16x32_f16 v[{0}:{1}], v[40:43], v[44:47], v[{0}:{1}]"
    ticks = 2.2 / 2.183
    chains = [wide.format(n, n + 3) for n in (0, 4, 8, 12)]
    found.append(
        Row(
            "`v_mfma_f32_16x16x32_f16`, 4 chains",
            16.62 * ticks,
            cycles_each(chains, target="gfx950") / 4,
            "cycles",
            CHAIN,
            meta,
        )
    )
    found.append(
        Row(
            "`v_mfma_f32_16x16x32_f16`, 1 chain", 18.25 * ticks, cycles_each(chains[:1], target="gfx950"), "cycles", CHAIN, meta
        )
    )
    fma = cycles_each(["v_fma_f32 v4, v4, v6, v7"], target="gfx950")
    found.append(
        Row("`v_fma_f32`, 1 chain (the source's own trace of `v_add_f32` says 4)", 8.3 * ticks, fma, "cycles", None, meta)
    )
    return found


SHADOW = {
    "v_add_f32": ("v_add_f32_e32 v{0}, v5, v6", (0.01, 0.02, 0.03, 4.03), (0, 0, 0, 3.97)),
    "v_exp_f32": ("v_exp_f32_e32 v{0}, v5", (4.03, 20.03, 36.03, 52.03), (3.99, 19.97, 35.97, 51.97)),
    "v_pk_mul_f32": ("v_pk_mul_f32 v[{0}:{1}], v[6:7], v[8:9]", (12.01, 16.01, 20.01, 24.01), (4.96, 9.96, 14.96, 19.96)),
}


def under_matrix() -> list[Row]:
    """Extra cycles when vector instructions follow a matrix instruction, in the same wave and in another."""
    found: list[Row] = []
    for name, (line, same, other) in SHADOW.items():
        for count in (1, 2, 3, 4):
            work = [line.format(20 + 2 * n, 21 + 2 * n) for n in range(count)]
            group = [text for n in (0, 4, 8, 12) for text in (MFMA.format(n, n + 3), *work)]
            what = f"{count} `{name}` after an MFMA, "
            found.append(Row(what + "same wave", same[count - 1], cycles_each(group) / 4 - 16, "cycles", CHAIN, COISSUE))
            if name == "v_pk_mul_f32":
                # In that test v_fma and v_perm take 4.97 where 4-byte instructions take 3.97: its code lies 4 bytes off.
                what += "code 4 bytes off, "
            matrix = [MFMA.format(n, n + 3) for n in (0, 4, 8, 12)]
            beside = side_by_side(matrix, work * 4, shift=int(name == "v_pk_mul_f32")) / 4
            found.append(Row(what + "other wave", other[count - 1], beside - 16, "cycles", CHAIN, COISSUE))
    return found


STRIDES = {0: 360, 1: 360, 3: 360, 5: 360, 9: 360, 17: 360, 33: 360, 2: 474, 4: 907, 8: 1806, 16: 3601, 32: 7196, 64: 7196,
           128: 7200, 256: 7194, 512: 3715, 1024: 1919}  # fmt: skip
"""Dwords between lanes to microseconds of one kernel (357 to 363 where no lanes conflict)."""


def lds_conflicts() -> list[Row]:
    """Clocks of the banks for `ds_read_b32`, by the distance of lanes; the source's scale is set by stride 8, 16 clocks."""
    found: list[Row] = []
    lanes = np.arange(64, dtype=np.uint64)[None, :]
    active = np.ones((1, 64), np.bool_)
    for stride, us in STRIDES.items():
        clocks = int(bank_costs(lanes * np.uint64(4 * stride), active, 4, 65536, "gfx942", True)[0])
        published = us / (STRIDES[8] / 16)
        plain = stride == 0 or stride % 2 == 1
        note = "no conflict; the kernel's other work is the longer" if plain else "rounded to whole clocks"
        found.append(
            Row(f"stride {stride} dwords ({note})", published if plain else float(round(published)), clocks, "clocks",
                None if plain else LDS, "PYHIP, bank-conflict (MI300)")
        )  # fmt: skip
    return found


def lds_and_memory() -> list[Row]:
    """Latencies and rates of LDS and vector memory."""
    source = "PYHIP, mem_latency (MI308X)"

    def read(wide: str, registers: str, latency: float, rate: float) -> list[Row]:
        chain = [f"ds_read_{wide} {registers}, v0", "s_waitcnt lgkmcnt(0)"]
        # Both the read and its wait take a slot of the wave besides the latency.
        return [
            Row(f"`ds_read_{wide}` to its use", latency, cycles_each(chain) - 4, "cycles", 10.0, source),
            Row(
                f"`ds_read_{wide}`, one wave, each", rate, _rate(f"ds_read_{wide} {registers}, v0", 1), "cycles", CHAIN, source
            ),
        ]

    found = read("b32", "v4", 52, 4) + read("b128", "v[4:7]", 64, 16)
    found.append(
        Row(
            "`ds_read_b128`, all SIMDs, each of the compute unit",
            8,
            _rate("ds_read_b128 v[4:7], v0", 4),
            "cycles",
            CHAIN,
            source,
        )
    )
    loads = ["global_load_dwordx2 v[0:1], v[0:1], off", "s_waitcnt vmcnt(0)"]
    for name, memory, again, published in (
        ("vector L1", "l2", True, 116),
        ("L2", "l2", False, 288),
        ("HBM", "hbm", False, 900),
    ):
        step = _chase(loads, memory, again) - 4
        found.append(
            Row(f"pointer chase, {name}", published, step, "cycles", 10.0, "MT4G (MI300X VF); the model's own figures")
        )
    stream = _rate("buffer_load_dwordx4 v[4:7], v0, s[4:7], 0 offen", 4, "hbm", "mi308x")
    found.append(
        Row("`buffer_load_dwordx4` from HBM, each of the compute unit", 32, stream, "cycles", None, "PYHIP, vm_cnt (MI308X)")
    )
    return found


def _rate(line: str, waves: int, memory: str = "l2", name: str = "mi300x") -> float:
    """Cycles of the compute unit for each of many such instructions, by `waves` waves on SIMDs of their own."""

    def cycles(repeats: int) -> int:
        probe = kernel([line.replace("v[4:7]", f"v[{n}:{n + 3}]").replace("v4,", f"v{n},") for n in range(4, 244, 4)] * repeats)
        basis = Assumptions(group_waves=1, groups=waves, memory=memory, fetch=False)
        return simulate(probe, basis, chip=chip(name), places=waves).cycles

    return (cycles(12) - cycles(4)) / (8 * 60) / waves


def _chase(lines: Sequence[str], memory: str, again: bool) -> float:
    def cycles(repeats: int) -> int:
        rows = [(4, n, 1) for n in range(repeats)]
        lines_at = np.zeros(repeats, np.int64) if again else np.arange(repeats, dtype=np.int64)
        way = Way(np.zeros(1, np.int64), np.array(rows, np.int64), lines_at)
        basis = Recorded((way,), 1, memory, groups=1, active_units=1, fetch=False)
        return simulate(kernel(list(lines) * repeats), basis, places=1).cycles

    return (cycles(192) - cycles(64)) / 128


def fetching() -> list[Row]:
    """Eight-byte instructions whose code lies well or badly for windows of 32 bytes."""
    fma, add = ["v_fma_f32 v4, v5, v6, v7"], ["v_add_f32_e32 v4, v5, v6"]
    return [
        Row("`v_fma_f32` (8 bytes), aligned", 4.016, cycles_each(fma, fetch=True), "cycles", CHAIN, "PYHIP (MI308X)"),
        Row("`v_fma_f32`, 4 bytes off", 5.012, cycles_each(fma, fetch=True, shift=1), "cycles", CHAIN, "PYHIP (MI308X)"),
        Row("`v_add_f32` (4 bytes)", 4.012, cycles_each(add, fetch=True), "cycles", CHAIN, "PYHIP (MI308X)"),
        Row("loss of `v_fma_f32`, 4 bytes off, all waves of a full SIMD", 14, 100 * (1 - cycles_each(fma, fetch=True, waves=8)
            / cycles_each(fma, fetch=True, shift=1, waves=8)), "%", None, "FETCH (MI210, MI300; occupancy not told)"),
    ]  # fmt: skip


def occupancy_steps() -> list[Row]:
    """Waves per SIMD by vector registers."""
    table = {64: 8, 72: 7, 80: 6, 96: 5, 104: 4, 128: 4, 168: 3, 256: 2, 512: 1}
    found: list[Row] = []
    for registers, waves in table.items():
        descriptor = KernelDescriptor(b"", 0, 0, 0, 0, registers // 8 - 1, 0, 0, 0, 0, 0)
        found.append(Row(f"{registers} registers", waves, waves_per_simd(descriptor, 256), "waves", 0.0, "G3 3.6.4"))
    return found


SECTIONS: tuple[tuple[str, Callable[[], list[Row]]], ...] = (
    ("Issue rates and chains", issue_rates),
    ("Vector instructions under a matrix instruction", under_matrix),
    ("LDS bank conflicts", lds_conflicts),
    ("LDS and vector memory", lds_and_memory),
    ("Instruction fetch", fetching),
    ("Occupancy", occupancy_steps),
)


# The page --------------------------------------------------------------------------------------------------------------------

HEAD = """<!-- Made by `python -m bench.timing --write`; do not edit. -->

# The cycle model against published measurements

No figure here was measured by this project: there is no GPU. Published figures are compared with what the model of
[timing.md](timing.md) gives for the same code; sources by short name are listed there. "ok" says whether the error is within
the bar; rows without a bar are shown only. Where a figure of the model comes from the same measurement (issue rates, latencies,
the chain of matrix instructions on gfx950), a row shows that the model adds up; where it does not (work under a matrix
instruction from another wave, bank conflicts, code across fetch windows), that it predicts. Nothing was fitted to a production
kernel.
"""


TABLE_HEAD = "| what | published | model | unit | error % | bar % | ok | source |\n|---|--:|--:|---|--:|--:|---|---|"


def page(kernels: Sequence[dict[str, object]]) -> str:
    """The whole page."""
    parts = [HEAD]
    missed: list[str] = []
    for title, section in SECTIONS:
        rows = section()
        parts.append(f"## {title}\n\n{TABLE_HEAD}")
        for row in rows:
            bar = "" if row.bar is None else "exact" if row.bar == 0 else f"{row.bar:.0f}"
            error = f"{row.error:+.1f}" if row.published >= 1 else ""
            figures = f"{row.published:,.2f} | {row.modelled:,.2f} | {row.unit} | {error} | {bar} | {row.verdict}"
            parts.append(f"| {row.what} | {figures} | {row.source} |")
        missed += [
            f"{row.what}: {row.modelled:,.2f} instead of {row.published:,.2f} {row.unit}" for row in rows if row.verdict == "no"
        ]
        parts.append("")
    parts += ["## What is outside its bar\n", *(f"- {text}" for text in missed or ["nothing"]), ""]
    parts += _kernel_section(kernels)
    return "\n".join(parts)


KERNEL_TEXT = f"""## Production matrix products

Times of {{count}} shapes of hand-written kernels in AITER's tuning tables (commit e4048607a535, `libtype` asm; of each kernel
up to {SHAPES} shapes, evenly over the times of {LEAST_US:.0f} us and more), against the model's cycles for the same binaries,
made with `--corpus`. A time becomes cycles only by a clock, and that of the tables is not told. "at peak" uses the chip's peak
clock, "at matrix clock" the clock that dense matrix work was measured to hold (`matrix_clock_mhz`; none was found for MI355X).
The model is static here: loops run as often as K needs, operands are found in L2, the start of a dispatch costs nothing. "rank"
is Spearman's correlation over the shapes.
"""


def _kernel_section(kernels: Sequence[dict[str, object]]) -> list[str]:
    parts = [KERNEL_TEXT.format(count=len(kernels))]
    columns = "model / published at peak, median (range) | at matrix clock, median | of these within 25 % | rank"
    parts.append(f"| chip | kernel | shapes | {columns} |\n|---|---|--:|--:|--:|--:|--:|")
    names = sorted({(str(row["chip"]), str(row["kernel"])) for row in kernels})
    groups = [(name, [kernel]) for name, kernel in names]
    groups += [(name, sorted({k for c, k in names if c == name})) for name in sorted({name for name, _ in names})]
    for name, members in groups:
        rows = [row for row in kernels if row["chip"] == name and row["kernel"] in members]
        cycles, us = ([float(str(row[key])) for row in rows] for key in ("cycles", "us"))
        figures = chip(name)
        ratios = sorted(c / figures.clock_mhz.value / u for c, u in zip(cycles, us, strict=True))
        middle = statistics.median(ratios)
        slower = figures.clock_mhz.value / figures.matrix_clock_mhz.value
        at_matrix = f"{middle * slower:.2f} | {sum(0.75 <= ratio * slower <= 1.25 for ratio in ratios)}"
        if figures.matrix_clock_mhz.confidence != "measured":
            at_matrix = "no clock |"
        rank = f"{spearman(cycles, us):.3f}" if len(rows) >= 5 else ""
        title = f"`{members[0]}`" if len(members) == 1 and (name, members) in groups[: len(names)] else "**all**"
        spread = f"{middle:.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
        parts.append(f"| {figures.name} | {title} | {len(rows)} | {spread} | {at_matrix} | {rank} |")
    return [*parts, ""]


def main() -> None:
    """Prints the page, or writes it."""
    parser = argparse.ArgumentParser(description="Compare the cycle model with published measurements.")
    parser.add_argument("--write", action="store_true", help="write docs/timing_validation.md")
    parser.add_argument("--corpus", type=Path, help="folder of production objects, with their tuning tables beside it")
    arguments = parser.parse_args()
    if arguments.corpus is not None:
        rows = measured_kernels(arguments.corpus)
        text = "[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n"
        write_atomically(KERNELS, text.encode())
    kernels = json.loads(KERNELS.read_text(encoding="utf-8"))
    text = page(kernels)
    if arguments.write:
        write_atomically(PAGE, text.encode())
    else:
        print(text)


if __name__ == "__main__":
    main()
