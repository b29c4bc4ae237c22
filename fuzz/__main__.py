"""The command: `python -m fuzz [TARGET...]`. Exits with 1 when an input met a fault."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from fuzz import engine
from fuzz.targets import targets


def main() -> int:
    """Run the targets, or one input of one target."""
    parser = argparse.ArgumentParser(
        prog="fuzz", description=__doc__, epilog="example: python -m fuzz object code --seconds 600"
    )
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="which readers; all by default")
    parser.add_argument("--seconds", type=float, default=60, help="how long (default 60)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default 1)")
    parser.add_argument("--seed", type=int, default=0, help="other inputs for another seed (default 0)")
    parser.add_argument("--log", type=Path, help="folder for counts and faulty inputs; a run goes on where the last one ended")
    parser.add_argument(
        "--input", type=int, metavar="N", help="run input N of the one target named, here, and write it to standard output"
    )
    parser.add_argument("--file", type=Path, help="run the one target named on this file")
    options = parser.parse_args()
    known = {target.name: target for target in targets()}
    if unknown := [name for name in options.targets if name not in known]:
        parser.error(f"unknown target '{unknown[0]}'; known are {', '.join(known)}")
    chosen = [known[name] for name in options.targets or known]
    number: int | None = options.input
    if number is not None or options.file is not None:
        if len(options.targets) != 1:
            parser.error("name one target")
        data = options.file.read_bytes() if number is None else engine.make_input(chosen[0], options.seed, number)
        return _one(chosen[0], data)
    log = engine.Log.opened(options.log, options.seed)
    faults = engine.run(
        chosen, log, seed=options.seed, seconds=options.seconds, jobs=options.jobs, report=lambda line: print(line, flush=True)
    )
    for signature, count in log.signatures.most_common():
        print(f"{count} x {signature}")
    print(f"{faults} faulty inputs in this run")
    return 1 if faults else 0


def _one(target: engine.Target, data: bytes) -> int:
    sys.stdout.buffer.write(data)
    sys.stdout.flush()
    accepted, fault = engine.judge(target, data)
    print(
        f"\n{fault.signature}\n{fault.detail}" if fault else f"\nno fault; {'accepted' if accepted else 'refused'}",
        file=sys.stderr,
    )
    return 1 if fault else 0


if __name__ == "__main__":
    sys.exit(main())
