"""`make demo`: the main job on every shipped kernel, ending in one table. Uses the library as the `optimize` command does."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

from asmevo.cli.common import Exit, guarded
from asmevo.diagnostics import printable

EXAMPLES = Path(__file__).resolve().parent


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. Cycles are modelled."""

    name: str
    before: float
    after: float
    outcome: str
    basis: str
    waves: int
    full_waves: int
    full_gain_percent: float = 0.0

    @property
    def gain_percent(self) -> float:
        """How much shorter the modelled time is, as speedup minus one."""
        return (self.before / self.after - 1) * 100 if self.after else 0.0


def optimise_example(path: Path, output: Path, seconds: float, attempts: int, seed: int) -> Row:
    """Optimises one shipped kernel under its launch file and writes the object and its evidence when it got faster."""
    import json

    from asmevo.atomic import write_atomically
    from asmevo.backend.writer import rebuild
    from asmevo.frontend.codeobject import load_file
    from asmevo.frontend.recover import recover
    from asmevo.search.evidence import evidence
    from asmevo.search.optimise import Budget, optimise
    from asmevo.search.profile import full_occupancy_cycles
    from asmevo.verify.judge import Judge, Level
    from asmevo.verify.launch.dispatches import load_launches

    code_object = load_file(path)
    kernel = recover(code_object)
    dispatches = load_launches(EXAMPLES / "launches" / f"{path.stem}.toml", kernel)
    judge = Judge(Level.EMULATE, dispatches)
    result = optimise(kernel, dispatches, judge, budget=Budget(seconds, attempts), seed=seed)
    profile = result.profile
    full = profile.full_occupancy
    if result.verdict is None:
        return Row(path.stem, result.before_cycles, result.after_cycles, "nothing found", "", profile.waves_per_simd, full)
    write_atomically(output / path.name, rebuild(code_object, result.kernel))
    report = json.dumps(evidence(result, code_object, seed), indent=2).encode()
    write_atomically(output / f"{path.name}.evidence.json", report)
    basis = ", ".join(f"{b.method}: {b.outcome.value}" for b in result.verdict.basis)
    before, after = full_occupancy_cycles(kernel, profile), full_occupancy_cycles(result.kernel, profile, result.counts)
    gain = (before / after - 1) * 100
    outcome = result.verdict.outcome.value
    return Row(path.stem, result.before_cycles, result.after_cycles, outcome, basis, profile.waves_per_simd, full, gain)


def main(arguments: list[str] | None = None) -> int:
    """Runs the demo; exits with 0 when every kernel was dealt with, whether or not something was found."""
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("build/demo"), help="folder for the new objects")
    parser.add_argument("--seconds", type=float, default=60.0, help="budget of one kernel")
    parser.add_argument("--attempts", type=int, default=400, help="most proposals of one kernel")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)

    def body() -> int:
        options.output.mkdir(parents=True, exist_ok=True)
        rows: list[Row] = []
        for path in sorted((EXAMPLES / "kernels").glob("*.co")):
            print(f"optimising {path.name} ...", file=sys.stderr, flush=True)
            rows.append(optimise_example(path, options.output, options.seconds, options.attempts, options.seed))
        print("Modelled cycles (MI300X model; no device was used, nothing was measured).")
        print("'gain' is for the launch as it is, 'full' for one that fills the chip; in brackets the waves per SIMD.\n")
        print(f"{'kernel':16} {'before':>10} {'after':>10} {'gain':>11} {'full':>10}  verdict")
        for row in rows:
            cycles = f"{printable(row.name):16} {row.before:10,.0f} {row.after:10,.0f}"
            gains = f"{row.gain_percent:6.1f}% ({row.waves}) {row.full_gain_percent:5.1f}% ({row.full_waves})"
            print(f"{cycles} {gains}  {row.outcome}")
            if row.basis:
                print(f"{'':18}{row.basis}")
        improved = sum(row.gain_percent > 0 for row in rows)
        print(f"\n{improved} of {len(rows)} improved; new objects and their evidence are in {options.output}")
        return Exit.DONE

    return guarded(body)


if __name__ == "__main__":
    sys.exit(main())
