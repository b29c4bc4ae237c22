"""Commands that look at objects without changing them: info, diff."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from asmevo.cli.common import Exit, Format, guarded, load_object
from asmevo.cli.options import Input, OutputFormat, Trace
from asmevo.diagnostics import Diagnostic, printable

if TYPE_CHECKING:
    from asmevo.backend.legality import Legality
    from asmevo.report.object_info import ArgumentInfo, KernelInfo
    from asmevo.verify.diff.kernels import InstructionChange, KernelDiff, ObjectDiff

_SHOWN = 40
"""Instruction changes of one kernel that the concise form prints."""


def register(app: typer.Typer) -> None:
    """Adds this module's commands."""
    for command in (info, diff):
        app.command()(command)


def info(
    input: Input,
    validate: Annotated[bool, typer.Option("--validate", help="Check the loader's rules; exit 1 on errors.")] = False,
    legal_on: Annotated[
        str | None, typer.Option("--legal-on", help="List the instructions that this chip lacks; exit 1 if there are any.")
    ] = None,
    output: OutputFormat = Format.full,
    traceback: Trace = False,
) -> None:
    """Show a code object's kernels: arguments, resources against the chip's limits, and what is unusual about them.

    Example: asmevo info kernel.co --validate --legal-on gfx90a
    """

    def body() -> int:
        from asmevo.backend.legality import legal_on as judge_legality
        from asmevo.backend.loader_rules import check_object
        from asmevo.diagnostics import Severity
        from asmevo.frontend.recover import recover
        from asmevo.report.object_info import kernel_info

        obj = load_object(input)
        kernels = [kernel_info(obj, entry, with_loads=output is not Format.concise) for entry in obj.kernels]
        findings = check_object(obj)
        legality = [judge_legality(recover(obj, k.name), legal_on) for k in kernels] if legal_on else []
        shown = [f for f in findings if validate or f.severity is Severity.NOTE]
        if output is Format.json:
            found: dict[str, Any] = {
                "file": obj.name,
                "target": obj.target,
                "code_object_version": obj.abi_version + 2,
                "xnack": obj.xnack,
                "sramecc": obj.sramecc,
                "kernels": [asdict(k) for k in kernels],
                "findings": [_finding(f) for f in shown],
            }
            if legal_on:
                found["legality"] = [asdict(one) for one in legality]
            print(json.dumps(found, indent=2))
        else:
            modes = "".join(f", {name} {mode}" for name, mode in (("xnack", obj.xnack), ("sramecc", obj.sramecc)) if mode)
            print(f"{printable(obj.name)}: {obj.target}, code object v{obj.abi_version + 2}{modes}, {len(kernels)} kernel(s)")
            for k in kernels:
                _show_info(k, output)
            _show_findings(shown, validate)
            for one in legality:
                _show_legality(one, output)
        is_wrong = validate and any(f.severity is Severity.ERROR for f in findings)
        return Exit.NO if is_wrong or any(one.illegal for one in legality) else Exit.DONE

    raise typer.Exit(guarded(body, show_traceback=traceback))


def _show_info(k: KernelInfo, output: Format) -> None:
    print(f"\n{printable(k.name)}: {k.instructions} instructions in {k.blocks} blocks, {k.code_bytes} bytes at 0x{k.entry:x}")
    for use in k.uses:
        print(f"  {use.name}: {use.used}, allocated {use.granted} of {use.limit}")
    alone = ", ".join(f"{resource.waves} by {resource.name}" for resource in k.waves.resources)
    print(f"  waves per SIMD: {k.waves.waves} ({alone})")
    print(
        f"  workgroup: at most {k.max_workgroup} work-items; user SGPRs {k.user_sgprs}, preloaded dwords {k.preloaded_dwords}"
    )
    doubt = "; the kernarg pointer is also used in ways not understood" if k.loads_are_complete is False else ""
    print(f"  arguments: {k.kernarg_bytes} bytes{doubt}")
    if output is Format.full:
        for one in k.arguments:
            a = one.argument
            words = " ".join(word for word in (a.value_kind, a.name, a.access) if word)
            print(f"    +{a.offset:<4} {a.size:>3} B  {printable(words)}: {_loads(one, k.loads_are_complete)}")
    for quirk in k.quirks:
        print(f"  note: {printable(quirk)}")


def _loads(one: ArgumentInfo, is_complete: bool | None) -> str:
    preloaded = [load.register for load in one.loads if load.register is not None]
    parts = [f"preloaded from s{preloaded[0]} on"] if preloaded else []
    for load in one.loads:
        if load.place is not None:
            parts.append(f"{load.bytes} B from +{load.offset} at 0x{load.place:x}")
    return ", ".join(parts) or ("not loaded" if is_complete else "no load found")


def _show_findings(findings: Sequence[Diagnostic], validate: bool) -> None:
    if findings:
        print()
    for finding in findings:
        print(finding.concise())
    if validate:
        counts = Counter(f.severity.value for f in findings)
        print(f"{counts['error']} error(s), {counts['warning']} warning(s), {counts['note']} note(s)")


def _show_legality(found: Legality, output: Format) -> None:
    print(f"\n{printable(found.kernel)} on {found.target}: ", end="")
    total = sum(one.count for one in found.illegal)
    print(f"{total} instruction(s) not there" if total else "every instruction is there", end="")
    print(f", {found.re_encoded} in other bytes, {found.unknown} word(s) of which nothing is known")
    if output is not Format.full:
        counts = Counter[str]()
        for one in found.illegal:
            counts[one.text.split(" ", 1)[0]] += one.count
        for mnemonic, count in sorted(counts.items()):
            print(f"  {count:>5} x {mnemonic}")
        return
    for one in found.illegal:
        reason = one.refusal or "the assembler has it, the table does not"
        if one.in_table:
            reason = f"the table has it, the assembler does not: {reason}"
        place = "" if one.offset is None else f"+0x{one.offset:x} "
        print(f"  {place}{printable(one.text)} (x{one.count}): {printable(reason)}")


def _finding(finding: Diagnostic) -> dict[str, Any]:
    return {
        "code": finding.code,
        "severity": finding.severity.value,
        "message": finding.message,
        "offset": finding.span.offset if finding.span else None,
    }


def diff(
    old: Annotated[Path, typer.Argument(help="Code object; - is standard input.")],
    new: Annotated[Path, typer.Argument(help="Code object to compare it with.")],
    output: OutputFormat = Format.full,
    traceback: Trace = False,
) -> None:
    """Show what differs between two code objects: instructions, resources, descriptor, metadata, arguments.

    Instructions are aligned; one that only stands elsewhere is shown as moved. Kernels are matched by name. Exits with 1 when
    the files differ, with 0 when they are the same bytes.

    Example: asmevo diff old.co new.co --format concise
    """

    def body() -> int:
        from asmevo.verify.diff.kernels import diff_objects

        return show_diff(diff_objects(load_object(old), load_object(new)), output)

    raise typer.Exit(guarded(body, show_traceback=traceback))


def show_diff(found: ObjectDiff, output: Format) -> Exit:
    """Prints what differs between two objects; returns NO when something does."""
    if output is Format.json:
        print(json.dumps(asdict(found), indent=2))
    else:
        _show_text(found, output)
    return Exit.DONE if found.is_identical else Exit.NO


def _show_text(found: ObjectDiff, output: Format) -> None:
    if found.is_identical:
        print("identical")
        return
    if found.target[0] != found.target[1]:
        print(f"target: {found.target[0]} -> {found.target[1]}")
    for side, names in (("old", found.only_old), ("new", found.only_new)):
        for name in names:
            print(f"{printable(name)}: only in the {side} object")
    for kernel in found.kernels:
        _show_kernel(kernel, output)
    if found.sections:
        print(f"sections whose bytes differ: {', '.join(map(printable, found.sections))}")


def _show_kernel(kernel: KernelDiff, output: Format) -> None:
    if kernel.is_empty:
        print(f"{printable(kernel.name)}: no difference in {kernel.same} instructions, resources and arguments")
        return
    counts: dict[str, int] = {}
    for change in kernel.instructions:
        counts[change.change.value] = counts.get(change.change.value, 0) + 1
    told = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
    print(f"{printable(kernel.name)}: {kernel.same} instructions the same" + (f", {told}" if told else ""))
    for field in kernel.fields:
        sides = " -> ".join(printable(side) if side is not None else "none" for side in (field.old, field.new))
        print(f"  {field.area}: {printable(field.name)}: {sides}")
    shown = kernel.instructions if output is Format.full else kernel.instructions[:_SHOWN]
    for change in shown:
        print(f"  {_change(change)}")
    if len(shown) < len(kernel.instructions):
        print(f"  ... {len(kernel.instructions) - len(shown)} more")


def _change(change: InstructionChange) -> str:
    mark = {"added": "+", "removed": "-", "moved": ">", "retargeted": "@", "re-encoded": "="}[change.change.value]
    places = " ".join("      " if offset is None else f"{offset:06x}" for offset in (change.old_offset, change.new_offset))
    return f"{mark} {places}  {printable(change.text)}" + ("" if mark in "+-" else f"  ; {change.change.value}")
