"""What `asmevo bench` does with a GPU: times one object, or two in turn, and says on what."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asmevo.cli.common import Exit, Format, load_kernel
from asmevo.diagnostics import fail, printable

if TYPE_CHECKING:
    from asmevo.backend.hip.messages import Reply
    from asmevo.backend.launch import Dispatch


def measured_bench(
    paths: Sequence[Path],
    launch: Path,
    *,
    kernel: str | None,
    case: str | None,
    repeats: int,
    warmup: int,
    device: int,
    max_slowdown: float | None,
    output: Format,
) -> int:
    """Time the objects on a GPU and print it. 1 when the second is slower by more than `max_slowdown` per cent.

    Raises E0701 without a usable GPU, E0702 when a kernel does not come back from it.
    """
    from asmevo.backend.hip.device import Ended, run
    from asmevo.backend.hip.messages import Object, Request
    from asmevo.verify.launch.dispatches import load_launches

    objects: list[Object] = []
    dispatches: list[Dispatch] = []
    for role, path in zip(("first", "second"), paths, strict=False):
        code_object, ir = load_kernel(path, kernel)
        objects.append(Object(role, ir.name, code_object.data))
        dispatches = dispatches or [d for d in load_launches(launch, ir) if case is None or d.name == case]
    if not dispatches:
        fail("E0208", f"the launch has no case '{case}'")
    report = run(Request(tuple(objects), tuple(dispatches), (0,), repeats, warmup, device))
    if report.ended is not Ended.DONE or report.reply is None:
        where = f" in launch '{dispatches[report.dispatch].name}'" if report.dispatch >= 0 else ""
        said = f": {report.message}" if report.message else ""
        fail("E0702", f"the {report.role} object {report.ended.value} at step '{report.step}'{where}{said}")
    rows = [_row(report.reply, number, dispatch) for number, dispatch in enumerate(dispatches)]
    _show([printable(str(path)) for path in paths], report.reply, rows, output)
    slower = max_slowdown is not None and len(paths) == 2 and max(row["slowdown_percent"] for row in rows) > max_slowdown
    return Exit.NO if slower else Exit.DONE


def _row(reply: Reply, number: int, dispatch: Dispatch) -> dict[str, Any]:
    from asmevo.search.acceptance import Samples

    row: dict[str, Any] = {"launch": dispatch.name, "objects": []}
    for timed in (t for t in reply.times if t.dispatch == number):
        values = timed.microseconds
        samples = Samples(values)
        row["objects"].append(
            {
                "median_us": samples.median,
                "min_us": min(values),
                "max_us": max(values),
                "variation_percent": 100 * samples.variation if len(values) > 1 else 0.0,
                "samples_us": list(values),
            }
        )
    if len(row["objects"]) == 2:
        first, second = (item["median_us"] for item in row["objects"])
        row["slowdown_percent"] = 100 * (second / first - 1)
    return row


def _show(names: list[str], reply: Reply, rows: list[dict[str, Any]], output: Format) -> None:
    if output is Format.json:
        print(json.dumps({"modelled": False, "device": dict(reply.device), "files": names, "launches": rows}, indent=2))
        return
    if output is Format.full:
        device = ", ".join(f"{key} {printable(str(value))}" for key, value in reply.device.items())
        print(f"measured by events on: {device}")
    for row in rows:
        for name, item in zip(names, row["objects"], strict=True):
            count = len(item["samples_us"])
            print(
                f"{printable(row['launch'])}: {name}: median {item['median_us']:,.2f} us of {count} (min {item['min_us']:,.2f},"
                f" max {item['max_us']:,.2f}, variation {item['variation_percent']:.2f} %)"
            )
        if "slowdown_percent" in row:
            print(f"{printable(row['launch'])}: the second's time differs by {row['slowdown_percent']:+.2f} %")
