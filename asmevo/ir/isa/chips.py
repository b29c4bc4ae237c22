"""Figures of the chips that cost models rest on, each with where it comes from and how sure it is.

Owns the names of the figures and the reading of `chip_files/*.toml`, one file a chip; the numbers themselves stand there and
nowhere else. Cycles are of the shader clock, bytes are per compute unit unless a field says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import lru_cache
from importlib import resources
from typing import Any, cast

from asmevo import toml_text
from asmevo.diagnostics import Span, fail

CONFIDENCE = {
    "specified": "the vendor's documents say so",
    "measured": "measured on the chip by the source",
    "decoded": "read from recorded hardware traces",
    "derived": "computed from other figures, as the source says",
    "estimated": "an estimate of the source's, not a measurement",
    "assumed": "nobody has measured it; chosen here for the reason given",
}
_INHERITED = "inherited"


@dataclass(frozen=True, slots=True)
class Figure:
    """One number, its source, and a key of CONFIDENCE, or "inherited" for another chip's figure."""

    value: int
    source: str
    confidence: str = "assumed"


@dataclass(frozen=True, slots=True)
class Chip:
    """A chip as the model sees it. Times in cycles, rates in bytes a cycle, bandwidths of the whole chip in GB/s."""

    name: str
    target: str
    compute_units: Figure
    clock_mhz: Figure
    matrix_clock_mhz: Figure
    simds: Figure
    max_waves_per_simd: Figure
    lds_bytes: Figure
    lds_granule: Figure
    slot: Figure
    transcendental: Figure
    transcendental_f64: Figure
    matrix_chain: Figure
    fetch_bytes: Figure
    fetch_latency: Figure
    branch_taken: Figure
    barrier: Figure
    barrier_release: Figure
    group_launch: Figure
    wave_launch: Figure
    lds_latency: Figure
    lds_bytes_per_cycle: Figure
    lds_path_bytes_per_cycle: Figure
    lds_write_bytes_per_cycle: Figure
    lds_crossbar: Figure
    lgkm_in_flight: Figure
    smem_hit: Figure
    smem_latency: Figure
    message_latency: Figure
    valu_to_address: Figure
    vmem_in_flight: Figure
    vmem_latency: Figure
    vmem_bytes_per_cycle: Figure
    l1_latency: Figure
    l1_line_bytes: Figure
    l1_bytes_per_cycle: Figure
    l2_bytes_per_cycle: Figure
    l2_bytes: Figure
    l2_gb_per_s: Figure
    l2_write_gb_per_s: Figure
    mall_bytes: Figure
    mall_latency: Figure
    mall_gb_per_s: Figure
    hbm_latency: Figure
    hbm_gb_per_s: Figure


FIGURES = tuple(field.name for field in fields(Chip) if field.name not in ("name", "target"))
CHIPS = ("mi300x", "mi308x", "mi355x", "mi250x")
_OF_TARGET = {"gfx942": "mi300x", "gfx950": "mi355x", "gfx90a": "mi250x"}


@lru_cache(maxsize=8)
def chip(name: str) -> Chip:
    """The chip of that name, a member of CHIPS; E0236 for another name."""
    if name not in CHIPS:
        fail("E0236", f"unknown chip '{name}'", help=f"known are {', '.join(CHIPS)}")
    file = f"{name}.toml"
    path = resources.files("asmevo") / "ir" / "isa" / "chip_files" / file
    return parse_chip(path.read_text(encoding="utf-8"), file)


def chip_for(target: str) -> Chip:
    """The chip that kernels of a target are modelled on when none is named; MI300X for targets without one."""
    return chip(_OF_TARGET.get(target, "mi300x"))


def parse_chip(text: str, file: str) -> Chip:
    """The chip that a parameter file describes.

    Each figure is `{ value, source, confidence }`; what is missing is taken from the chip that `base` names, and says so.
    DiagnosticError E0236 with the line for a figure without source, of unknown confidence, unknown, missing or no whole number.
    """
    tree = toml_text.parsed(text, file, "E0236")
    for key in ("name", "target"):
        if not isinstance(tree.get(key), str):
            fail("E0236", f"a chip file needs a text '{key}'", toml_text.first_place(text, file))
    unknown = sorted(set(tree) - {"version", "name", "target", "base", "figures"})
    if unknown or tree.get("version") != 1:
        what = f"unknown key '{unknown[0]}'" if unknown else "a chip file has version = 1"
        fail("E0236", what, _line(text, file, unknown[0] if unknown else "version"))
    given = tree.get("figures")
    if not isinstance(given, dict):
        fail("E0236", "a chip file has a table of figures", toml_text.first_place(text, file))
    found = {key: _figure(key, value, text, file) for key, value in cast("dict[str, Any]", given).items()}
    base = tree.get("base")
    if base is not None:
        other = chip(str(base))
        for key in FIGURES:
            figure: Figure = getattr(other, key)
            found.setdefault(key, Figure(figure.value, f"as {other.name}: {figure.source}", _INHERITED))
    missing = [key for key in FIGURES if key not in found]
    if missing:
        fail("E0236", f"figure '{missing[0]}' is missing", toml_text.first_place(text, file))
    return Chip(tree["name"], tree["target"], **found)


def _figure(key: str, value: Any, text: str, file: str) -> Figure:
    where = _line(text, file, key)
    if key not in FIGURES:
        fail("E0236", f"unknown figure '{key}'", where)
    table = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    number, source, confidence = (table.get(part) for part in ("value", "source", "confidence"))
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < 1 << 40:
        fail("E0236", f"figure '{key}' needs a whole number as value", where)
    if not isinstance(source, str) or not source.strip():
        fail("E0236", f"figure '{key}' has no source", where, "say where the number comes from")
    if confidence not in CONFIDENCE:
        fail("E0236", f"figure '{key}' does not say how sure it is", where, f"confidence is one of {', '.join(CONFIDENCE)}")
    return Figure(number, source, cast("str", confidence))


def _line(text: str, file: str, key: str) -> Span:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.lstrip().startswith(key):
            return Span(file, number, 1, source=line)
    return toml_text.first_place(text, file)


def bound_to(chip: Chip, latency: int, source: str) -> Chip:
    """`chip` with another vector memory latency in cycles: 494 for the fabric cache, 900 for HBM."""
    return replace(chip, vmem_latency=Figure(latency, source))
