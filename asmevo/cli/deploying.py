"""Commands that put verified objects where programs load them from: deploy."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from asmevo.cli.common import Exit, Format, guarded, load_kernel, verdict_dict
from asmevo.cli.options import KernelName, OutputFormat, Trace
from asmevo.diagnostics import fail, printable

if TYPE_CHECKING:
    from asmevo.deploy.files import Status
    from asmevo.deploy.manifest import Entry
    from asmevo.deploy.replacement import Replacement
    from asmevo.verify.verdict import Verdict

Folder = Annotated[Path, typer.Argument(help="A folder with objects, such as an inference library's.", file_okay=False)]
New = Annotated[list[Path], typer.Argument(help="Objects with their evidence beside them, as `optimize -o` writes both.")]
Original = Annotated[
    Path | None,
    typer.Option("--original", help="What the only NEW replaces, for one without evidence: it is verified now."),
]
LaunchFile = Annotated[Path | None, typer.Option("--launch", help="Launch file (TOML) for that.")]


def register(app: typer.Typer) -> None:
    """Adds the group of commands."""
    help = (
        "Put verified objects where programs load them from; every file is known by its hash.\n\n"
        "Example: asmevo deploy files ~/aiter/hsa new.co"
    )
    group = typer.Typer(help=help, no_args_is_help=True)
    for name, command in (("files", files), ("triton", triton), ("status", status), ("rollback", rollback)):
        group.command(name)(command)
    app.add_typer(group, name="deploy")


def files(
    folder: Folder,
    new: New,
    original: Original = None,
    launch: LaunchFile = None,
    kernel: KernelName = None,
    output: OutputFormat = Format.full,
    traceback: Trace = False,
) -> None:
    """Exchange objects inside a folder. Originals are found by hash and kept; `deploy rollback` puts them back.

    Cut off at any point, the same command goes on.

    Example: asmevo deploy files ~/aiter/hsa best.co

    Example: asmevo deploy files build/ new.co --original old.co --launch launch.toml
    """

    def body() -> int:
        from asmevo.deploy.files import deploy

        manifest = deploy(_folder(folder), _replacements(new, original, launch, kernel))
        _show(manifest.entries, output, f"deployed into {printable(str(folder))}; `asmevo deploy rollback` undoes it")
        return Exit.DONE

    raise typer.Exit(guarded(body, show_traceback=traceback))


def triton(
    source: Annotated[Path, typer.Argument(help="Triton's cache (~/.triton/cache) or dump folder.", file_okay=False)],
    out: Annotated[Path, typer.Argument(help="The folder to write; it must not be there yet.")],
    new: New,
    original: Original = None,
    launch: LaunchFile = None,
    kernel: KernelName = None,
    output: OutputFormat = Format.full,
    traceback: Trace = False,
) -> None:
    """Write a cache or override folder for Triton with kernels exchanged; `source` is not touched.

    A cache gives a cache (TRITON_CACHE_DIR), a dump (TRITON_KERNEL_DUMP=1) gives overrides (TRITON_OVERRIDE_DIR).

    Example: asmevo deploy triton ~/.triton/cache ./cache best.co
    """

    def body() -> int:
        from asmevo.deploy.triton import write_folder

        written = write_folder(_folder(source), out, _replacements(new, original, launch, kernel))
        variables = " ".join(f"{key}={value}" for key, value in written.kind.variables(written.folder).items())
        _show(written.entries, output, f"written as Triton's {written.kind.value} folder; run with {printable(variables)}")
        return Exit.DONE

    raise typer.Exit(guarded(body, show_traceback=traceback))


def status(folder: Folder, output: OutputFormat = Format.full, traceback: Trace = False) -> None:
    """Show what was deployed and what each file is now. Exits with 1 unless all is as it was deployed.

    Example: asmevo deploy status ~/aiter/hsa
    """

    def body() -> int:
        return verify_deployment(folder, None, 0.0, output)

    raise typer.Exit(guarded(body, show_traceback=traceback))


def rollback(folder: Folder, output: OutputFormat = Format.full, traceback: Trace = False) -> None:
    """Put every original back.

    Example: asmevo deploy rollback ~/aiter/hsa
    """

    def body() -> int:
        from asmevo.deploy.files import rollback as undo

        _show(undo(_folder(folder)), output, f"the originals are back in {printable(str(folder))}")
        return Exit.DONE

    raise typer.Exit(guarded(body, show_traceback=traceback))


def verify_deployment(folder: Path, level: str | None, timeout_s: float, output: Format) -> int:
    """Check a deployment against its manifest and print it; with level "smt" or "static" judge each exchange again.

    0 when every file is the deployed one and both versions are kept unharmed (and each verdict succeeds), 1 when not, 3 when a
    verdict is undecided. Raises E0904 when there is no manifest, E0208 for another level.
    """
    from asmevo.deploy.files import State
    from asmevo.deploy.files import status as status_of

    if level not in (None, "static", "smt"):
        fail("E0208", f"level '{level}' needs launches, which a manifest has not", help="use static or smt")
    manifest, found = status_of(_folder(folder))
    if level is not None and manifest.kind != "files":
        fail("E0208", "a folder written for Triton has no originals to compare with", help="leave out --level")
    verdicts = [_judged_again(folder, item, level, timeout_s) if level else None for item in found]
    rows = [
        {
            **item.entry.model_dump(),
            "state": item.state.value,
            "kept": item.kept,
            **({} if verdict is None else {"verdict_now": verdict_dict(verdict)}),
        }
        for item, verdict in zip(found, verdicts, strict=True)
    ]
    sound = manifest.state == "done" and all(item.state is State.DEPLOYED and item.kept for item in found)
    if output is Format.json:
        print(json.dumps({"state": manifest.state, "kind": manifest.kind, "sound": sound, "files": rows}, indent=2))
    else:
        for item, verdict in zip(found, verdicts, strict=True):
            now = "" if verdict is None else f"; judged again: {verdict.outcome.value}"
            kept = "" if item.kept else "; a kept version is gone or damaged"
            print(f"{printable(item.entry.path)}: {item.state.value}, was {item.entry.verdict}{now}{kept}")
        print(f"{_files(len(found))}, deployed {manifest.created}: {'all as deployed' if sound else 'not as deployed'}")
    if level == "static":
        refuted = any(v is not None and v.outcome.value == "refuted" for v in verdicts)
        return Exit.DONE if sound and not refuted else Exit.NO
    undecided = [v for v in verdicts if v is not None and not v.outcome.is_success]
    if sound and undecided and all(v.outcome.value != "refuted" for v in undecided):
        return Exit.UNDECIDED
    return Exit.DONE if sound and not undecided else Exit.NO


def _judged_again(folder: Path, item: Status, level: str, timeout_s: float) -> Verdict:
    from asmevo.deploy.files import kept_object
    from asmevo.frontend.codeobject import load
    from asmevo.frontend.recover import recover
    from asmevo.verify.judge import Judge, Level
    from asmevo.verify.objects import judge_objects

    versions = [(item.entry.before, "original"), (item.entry.after, "deployed")]
    old, new = (load(kept_object(folder, digest), f"{item.entry.path} ({name})") for digest, name in versions)
    before, after = (recover(version, item.entry.kernel) for version in (old, new))
    return judge_objects(old, before, new, after, Judge(Level(level), timeout_s=timeout_s))


def _folder(path: Path) -> Path:
    if not path.is_dir():
        fail("E0208", f"'{printable(str(path))}' is no folder")
    return path.resolve()


def _replacements(new: Sequence[Path], original: Path | None, launch: Path | None, kernel: str | None) -> list[Replacement]:
    from asmevo.deploy.replacement import from_evidence, from_verdict

    if original is None:
        if launch is not None:
            fail("E0208", "--launch is for --original", help="objects with evidence are not run again")
        return [from_evidence(path, load_kernel(path, kernel)[0].data) for path in new]
    if len(new) != 1:
        fail("E0208", "--original is of one NEW", help="deploy the others by themselves, or with evidence")
    from asmevo.verify.judge import Judge, Level
    from asmevo.verify.launch.dispatches import load_launches
    from asmevo.verify.objects import judge_objects

    old_object, before = load_kernel(original, kernel)
    new_object, after = load_kernel(new[0], kernel)
    judge = Judge(Level.EMULATE, load_launches(launch, before)) if launch else Judge(Level.SMT)
    verdict = judge_objects(old_object, before, new_object, after, judge)
    return [from_verdict(old_object.data, new_object.data, before.name, before.target, verdict)]


def _show(entries: Sequence[Entry], output: Format, last: str) -> None:
    if output is Format.json:
        print(json.dumps([entry.model_dump() for entry in entries], indent=2))
        return
    for entry in entries:
        print(f"{printable(entry.path)}: {printable(entry.kernel)} ({entry.target}), {entry.verdict}")
    print(f"{_files(len(entries))} {last}")


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count} files"
