"""Commands over a lineage folder: what was tried and accepted, and the objects that came of it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from asmevo.cli.common import Exit, Format, check_output, guarded, show_verdict, verdict_dict, verdict_exit, write_output
from asmevo.cli.options import OutputFormat, Trace
from asmevo.diagnostics import fail, printable

if TYPE_CHECKING:
    from asmevo.search.lineage import Lineage, Node, Run

Folder = Annotated[Path, typer.Argument(help="A lineage folder, as `optimize --lineage` makes it.")]
NodeNumber = Annotated[int, typer.Argument(help="A node's number, as `lineage list` shows it.")]


def register(app: typer.Typer) -> None:
    """Adds the group of commands."""
    help = "What searches tried and accepted: list, show, diff, replay, export.\n\nExample: asmevo lineage list runs/softmax"
    group = typer.Typer(help=help, no_args_is_help=True)
    for name, command in (("list", list_), ("show", show), ("diff", diff), ("replay", replay), ("export", export)):
        group.command(name)(command)
    app.add_typer(group, name="lineage")


def list_(folder: Folder, output: OutputFormat = Format.full, traceback: Trace = False) -> None:
    """List the runs and their accepted candidates.

    Example: asmevo lineage list runs/softmax
    """

    def body() -> int:
        from asmevo.search.lineage import Lineage

        with Lineage.opened(folder) as lineage:
            runs = [(run, lineage.nodes(run.id), lineage.attempts(run.id)) for run in lineage.runs()]
        if output is Format.json:
            data = [
                {**asdict(run), "attempts": len(attempts), "nodes": [asdict(node) for node in nodes]}
                for run, nodes, attempts in runs
            ]
            print(json.dumps(data, indent=2))
            return Exit.DONE
        for run, nodes, attempts in runs:
            print(_run_line(run, len(attempts)))
            for node in nodes if output is Format.full else nodes[-1:]:
                print(f"  {_node_line(run, node)}")
        return Exit.DONE

    raise typer.Exit(guarded(body, show_traceback=traceback))


def _run_line(run: Run, attempts: int) -> str:
    return (
        f"run {run.id}: {printable(run.kernel)} ({run.target}), K0 {run.k0[:12]}, seed {run.seed}, {run.started},"
        f" {attempts} attempts, {run.cycles:,.0f} modelled cycles"
    )


def _node_line(run: Run, node: Node) -> str:
    parent = "K0" if node.parent is None else f"node {node.parent}"
    gain = (run.cycles / node.cycles - 1) * 100 if node.cycles else 0.0
    what = f"{node.proposer}: {printable(node.description)}"
    return f"node {node.id} from {parent}: {node.cycles:,.0f} modelled cycles ({gain:+.1f} %), {node.verdict}, {what}"


def show(folder: Folder, number: NodeNumber, output: OutputFormat = Format.full, traceback: Trace = False) -> None:
    """Show a node: its evidence, and the blocks it edited.

    Example: asmevo lineage show runs/softmax 3
    """

    def body() -> int:
        from asmevo.search.lineage import Lineage
        from asmevo.search.lineage.edits import edited_text

        with Lineage.opened(folder) as lineage:
            node = lineage.node(number)
            run = lineage.run(node.run)
            if output is Format.json:
                print(json.dumps(asdict(node), indent=2))
                return Exit.DONE
            print(_node_line(run, node))
            print(f"artifact {node.artifact}, accepted {node.accepted}")
            for basis in node.basis:
                print(f"  {basis['method']}: {basis['outcome']}: {printable(basis['detail'])}")
                for assumption in basis["assumptions"]:
                    print(f"    assumes {printable(assumption)}")
            if output is Format.full:
                for line in edited_text(node.edit):
                    print(printable(line))
        return Exit.DONE

    raise typer.Exit(guarded(body, show_traceback=traceback))


def diff(
    folder: Folder,
    number: NodeNumber,
    against: Annotated[int | None, typer.Option("--against", help="Another node; by default K0.")] = None,
    output: OutputFormat = Format.full,
    traceback: Trace = False,
) -> None:
    """Show what differs between K0, or another node, and a node. Exits with 1 when they differ.

    Example: asmevo lineage diff runs/softmax 3 --against 2
    """

    def body() -> int:
        from asmevo.backend.inputs import load_input
        from asmevo.cli.inspect import show_diff
        from asmevo.search.lineage import Lineage
        from asmevo.verify.diff.kernels import diff_objects

        with Lineage.opened(folder) as lineage:
            node = lineage.node(number)
            if against is None:
                name, digest = "K0", lineage.run(node.run).k0
            else:
                name, digest = f"node {against}", lineage.node(against).artifact
            old = load_input(lineage.artifacts.get(digest), name)
            new = load_input(lineage.artifacts.get(node.artifact), f"node {number}")
        return show_diff(diff_objects(old, new), output)

    raise typer.Exit(guarded(body, show_traceback=traceback))


def replay(
    folder: Folder,
    number: NodeNumber,
    launch: Annotated[Path | None, typer.Option("--launch", help="Launch file; by default the one of the run.")] = None,
    timeout_s: Annotated[float, typer.Option("--timeout-s", "--timeout", help="z3 budget of one window.", min=0.01)] = 5.0,
    seeds: Annotated[int, typer.Option("--seeds", help="Wave orders tried in emulation.", min=1)] = 2,
    output: OutputFormat = Format.full,
    traceback: Trace = False,
) -> None:
    """Make a node again from K0, edit by edit, compare it with what was stored, and judge it anew.

    Exits as verify does; with 1 too when the edits make other bytes.

    Example: asmevo lineage replay runs/softmax 3
    """

    def body() -> int:
        from asmevo.search.lineage import Lineage
        from asmevo.search.replay import replayed

        with Lineage.opened(folder) as lineage:
            made = replayed(lineage, lineage.node(number), launch, timeout_s=timeout_s, seeds=seeds)
        if output is Format.json:
            print(json.dumps({"node": number, "same_bytes": made.is_same, **verdict_dict(made.verdict)}, indent=2))
        else:
            same = "the same bytes as" if made.is_same else "OTHER bytes than"
            print(f"node {number}, from K0 through {made.edits} edits: {same} artifact {made.artifact[:12]}")
            show_verdict(made.verdict, output)
        return verdict_exit(made.verdict) if made.is_same else Exit.NO

    raise typer.Exit(guarded(body, show_traceback=traceback))


def export(
    folder: Folder,
    output_file: Annotated[Path, typer.Option("--output", "-o", help="Where it is written; - is standard output.")],
    number: Annotated[int | None, typer.Option("--node", help="Which object; by default the best of the last run.")] = None,
    pairs: Annotated[
        bool, typer.Option("--pairs", help="Instead: every verified pair of kernels with its provenance, JSON lines.")
    ] = False,
    traceback: Trace = False,
) -> None:
    """Write the best object, a node's, or the data set of verified pairs.

    Example: asmevo lineage export runs/softmax -o best.co
    """

    def body() -> int:
        from asmevo.search.lineage import Lineage
        from asmevo.search.replay import verified_pairs

        if pairs and number is not None:
            fail("E0208", "--pairs is of all nodes", help="leave out --node")
        check_output(output_file)
        with Lineage.opened(folder) as lineage:
            if pairs:
                rows = [json.dumps(row, sort_keys=True) for row in verified_pairs(lineage)]
                write_output(output_file, "".join(f"{row}\n" for row in rows).encode())
                return Exit.DONE if rows else Exit.NO
            node = _chosen(lineage, number)
            if node is None:
                return Exit.NO
            write_output(output_file, lineage.artifacts.get(node.artifact))
        return Exit.DONE

    raise typer.Exit(guarded(body, show_traceback=traceback))


def _chosen(lineage: Lineage, number: int | None) -> Node | None:
    if number is not None:
        return lineage.node(number)
    runs = lineage.runs()
    return lineage.best(runs[-1].id) if runs else None
