"""Prints how every production kernel compares with its reference, as a Markdown table.

`python -m tests.production FOLDER [WORD...]`; FOLDER is hsa or hsa/gfx942 of ROCm/aiter.
"""

import sys
from pathlib import Path

from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from tests.production.cases import CASES
from tests.production.trial import Case, Judged, tried


def _figures(judged: list[Judged]) -> str:
    if all(item.same_bits == 1 for item in judged):
        return "exact"
    return "; ".join(
        f"{item.buffer}: {'exact' if item.same_bits == 1 else f'{item.same_bits:.2%} the same bits'}"
        + (f", largest difference {item.largest:.2g}" if item.largest else "")
        for item in judged
    )


def _row(case: Case, folder: Path) -> tuple[str, bool]:
    """The case's row, and whether it holds."""
    kernel = recover(load_file(folder / case.path))
    try:
        result, holds = _figures(tried(kernel, case)), True
    except AssertionError as problem:
        result, holds = f"**fails**: {problem}", False
    return (
        f"| {case.family} | `{case.path.removesuffix('.co').rpartition('/')[2]}` | {case.shape} | {case.mode} | {result} |",
        holds,
    )


def main(arguments: list[str]) -> int:
    """Runs the cases whose family or path contains every word given after the folder. 1 when one fails."""
    folder, words = Path(arguments[0]), arguments[1:]
    folder = folder if folder.name == "gfx942" else folder / "gfx942"
    print("| family | kernel | launch | mode | result |\n|---|---|---|---|---|")
    chosen = [case for case in CASES if all(word in f"{case.family} {case.path}" for word in words)]
    good = True
    for case in chosen:
        row, holds = _row(case, folder)
        good &= holds
        print(row, flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
