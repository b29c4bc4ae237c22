"""Commands about AsmEvo itself: passes, explain, config, doctor."""

from __future__ import annotations

import inspect
import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from asmevo.cli.common import Exit, Format, guarded
from asmevo.cli.options import OutputFormat, Trace
from asmevo.diagnostics import fail, printable


def register(app: typer.Typer) -> None:
    """Adds this module's commands."""
    for command in (passes, explain, config, doctor):
        app.command()(command)


def passes(output: OutputFormat = Format.full, traceback: Trace = False) -> None:
    """List the passes, with their options, and what O1, O2 and O3 stand for.

    Example: asmevo passes --format json
    """

    def body() -> int:
        from asmevo.passes.base import options_of
        from asmevo.passes.presets import PRESETS
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
                    print(f"{'':16}   {o.name}={_as_text(o.default)}  {o.help}{f' ({o.unit})' if o.unit else ''}")
        for name, pipeline in PRESETS.items() if output is Format.full else ():
            print(f"{name:16} {pipeline}")
        return Exit.DONE

    raise typer.Exit(guarded(body, show_traceback=traceback))


def explain(
    name: Annotated[str, typer.Argument(help="A code (E0501), a pass, a preset (O2) or an opcode.")],
    traceback: Trace = False,
) -> None:
    """Explain a diagnostic's or finding's code, a pass, a preset or an opcode.

    Example: asmevo explain E0501
    """

    def body() -> int:
        from asmevo.ir.isa import lookup
        from asmevo.ir.registers import unit_name, units
        from asmevo.passes.presets import PRESETS
        from asmevo.passes.registry import available_passes
        from asmevo.report.explanations import explanation

        told = explanation(name.upper())
        if told is not None:
            print(told)
            return Exit.DONE
        word = name.lower()
        kind = available_passes().get(word)
        if kind is not None:
            print(inspect.cleandoc(kind.__doc__ or ""))
            return Exit.DONE
        if name.upper() in PRESETS:
            print(f"{name.upper()} stands for the pipeline {PRESETS[name.upper()]}")
            return Exit.DONE
        definition = lookup(word)
        if definition is None:
            _refuse_unknown(name)
        print(f"{definition.mnemonic} ({definition.family.value}, issues as {definition.issue.value})")
        for spec in definition.operands:
            # A field without bits of a register is a number in the encoding.
            print(f"  {spec.name:8} {spec.role.value:10} {f'{spec.bits} bits' if spec.bits else 'immediate'}")
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
            print(f"{key} = {'(not set)' if value is None else json.dumps(value)}  ({resolved.origins[key]})")
        return Exit.DONE

    raise typer.Exit(guarded(body, show_traceback=traceback))


def doctor(output: OutputFormat = Format.full, traceback: Trace = False) -> None:
    """Say what works on this machine and how to mend the rest. Exits with 2 when something needed is missing.

    Looked for are Python, the packages, LLVM for each chip; then GPU, driver and HIP runtime (nothing is opened), Triton and
    its cache, profilers, extras, LLVM's tools, a browser and shell completion, which only some commands are for.

    Example: asmevo doctor
    """

    def body() -> int:
        from asmevo.report.doctor.survey import is_healthy, lines, survey

        checks = survey()
        if output is Format.json:
            print(json.dumps([asdict(check) for check in checks], indent=2))
        else:
            for line in lines(checks, concise=output is Format.concise):
                print(printable(line))
        return Exit.DONE if is_healthy(checks) else Exit.BAD_INPUT

    raise typer.Exit(guarded(body, show_traceback=traceback))


def _refuse_unknown(name: str) -> NoReturn:
    """Raise E0214 with the nearest code, pass or opcode."""
    from difflib import get_close_matches

    from asmevo.ir.isa import definitions
    from asmevo.passes.registry import available_passes
    from asmevo.report.explanations import meanings

    known = {text.lower(): text for text in (*available_passes(), *definitions(), *meanings())}
    near = get_close_matches(name.lower(), known, n=3)
    where = "codes are in docs/diagnostics.md, opcodes in docs/isa, passes in `asmevo passes`"
    hint = f"did you mean {' or '.join(repr(known[text]) for text in near)}? {where}" if near else where
    fail("E0214", f"'{printable(name)}' is no code, pass or opcode", help=hint)


def _as_text(value: object) -> str:
    """An option's value as a pipeline spells it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _summary(kind: type[object]) -> str:
    return inspect.cleandoc(kind.__doc__ or "").split("\n", 1)[0]
