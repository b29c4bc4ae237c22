"""Commands about AsmEvo itself: passes, explain, config, doctor."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from asmevo.cli.common import Exit, Format, guarded
from asmevo.cli.options import OutputFormat, Trace


def register(app: typer.Typer) -> None:
    """Adds this module's commands."""
    for command in (passes, explain, config, doctor):
        app.command()(command)


def passes(output: OutputFormat = Format.full, traceback: Trace = False) -> None:
    """List the passes, with their options.

    Example: asmevo passes --format json
    """

    def body() -> int:
        from asmevo.passes.base import options_of
        from asmevo.passes.registry import available_passes

        found = available_passes()
        if output is Format.json:
            listing = [
                {
                    "name": name,
                    "summary": _summary(kind),
                    "options": [
                        {"name": o.name, "default": o.default, "help": o.help, "unit": o.unit, "ge": o.ge, "le": o.le}
                        for o in options_of(kind)
                    ],
                }
                for name, kind in found.items()
            ]
            print(json.dumps(listing, indent=2))
            return Exit.DONE
        for name, kind in found.items():
            print(f"{name:16} {_summary(kind)}")
            if output is Format.full:
                for o in options_of(kind):
                    print(f"{'':16}   {o.name}={o.default}  {o.help}{f' ({o.unit})' if o.unit else ''}")
        return Exit.DONE

    raise typer.Exit(guarded(body, show_traceback=traceback))


def explain(
    name: Annotated[str, typer.Argument(help="A code (E0501), a pass or an opcode.")],
    traceback: Trace = False,
) -> None:
    """Explain a diagnostic's or finding's code, a pass or an opcode.

    Example: asmevo explain E0501
    """

    def body() -> int:
        from asmevo.ir.isa import lookup
        from asmevo.ir.registers import unit_name, units
        from asmevo.passes.registry import find_pass
        from asmevo.report.explanations import explanation

        told = explanation(name.upper())
        if told is not None:
            print(told)
            return Exit.DONE
        definition = lookup(name)
        if definition is None:
            print(inspect.cleandoc(find_pass(name).__doc__ or ""))
            return Exit.DONE
        print(f"{definition.mnemonic} ({definition.family.value}, issues as {definition.issue.value})")
        for spec in definition.operands:
            print(f"  {spec.name:8} {spec.role.value:10} {spec.bits} bits")
        for title, mask in (("reads", definition.implicit_reads), ("writes", definition.implicit_writes)):
            if mask:
                print(f"  also {title} {', '.join(unit_name(u) for u in units(mask))}")
        if definition.counters:
            print(f"  counts {', '.join(c.value for c in definition.counters)}")
        return Exit.DONE

    raise typer.Exit(guarded(body, show_traceback=traceback))


def config(
    file: Annotated[Path | None, typer.Option("--config", help="Settings file.")] = None,
    sets: Annotated[list[str] | None, typer.Option("--set", help="key=value, over the file.")] = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON schema instead.")] = False,
    output: OutputFormat = Format.full,
    traceback: Trace = False,
) -> None:
    """Show every setting, its value and where it came from.

    Example: asmevo config --config asmevo.toml --set search.seed=7
    """

    def body() -> int:
        from asmevo.config import Settings, resolve

        if schema:
            print(json.dumps(Settings.model_json_schema(), indent=2))
            return Exit.DONE
        resolved = resolve(file, sets or [])
        if output is Format.json:
            print(json.dumps({"settings": resolved.settings.model_dump(), "origins": dict(resolved.origins)}, indent=2))
            return Exit.DONE
        values = resolved.settings.model_dump()
        for key in sorted(resolved.origins):
            value: Any = values
            for part in key.split("."):
                value = value[part]
            print(f"{key} = {value!r}  ({resolved.origins[key]})")
        return Exit.DONE

    raise typer.Exit(guarded(body, show_traceback=traceback))


def doctor(traceback: Trace = False) -> None:
    """Say what works on this machine and how to mend the rest. Exits with 2 when something needed is missing."""

    def body() -> int:
        import importlib.util
        import sys

        from asmevo.backend.assembler import assemble
        from asmevo.frontend.llvm import find_library, version

        print(f"Python {sys.version.split()[0]}")
        print(f"LLVM {version()}: {find_library()}")
        works = assemble(["s_nop 0"], "gfx942") == [bytes.fromhex("000080bf")]
        print(f"assembler for gfx942: {'works' if works else 'gives wrong bytes'}")
        for module, purpose in (("z3", "proofs"), ("llvmlite", "emulator")):
            print(f"{module}: {'found' if importlib.util.find_spec(module) else f'missing ({purpose})'}")
        device = importlib.util.find_spec("hip") is not None
        print(f"hip-python: {'found' if device else 'not installed'}; measuring on a GPU is not part of this version")
        return Exit.DONE if works else Exit.BAD_INPUT

    raise typer.Exit(guarded(body, show_traceback=traceback))


def _summary(kind: type[object]) -> str:
    return inspect.cleandoc(kind.__doc__ or "").split("\n", 1)[0]
