"""The story as one HTML page that works offline: curve, tree, and for a chosen node its edit, evidence and stalls.

Owns the assembly. Names and texts of a lineage are hostile: they are escaped, or are data that the script makes text nodes of;
the page's policy lets no other script run and nothing be fetched.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from asmevo import __version__
from asmevo.backend.timing import estimate
from asmevo.diagnostics import printable
from asmevo.ir.analysis.control.flow import Flow
from asmevo.ir.kernel import Kernel
from asmevo.report.html.data import script_json
from asmevo.report.html.document import Assets, section
from asmevo.report.html.figures import pressure_curve, text
from asmevo.report.story import pictures
from asmevo.report.story.changes import BlockChange, Kind
from asmevo.report.story.telling import Chapter, Story
from asmevo.report.subject import Subject
from asmevo.report.views.listing import listing
from asmevo.report.views.timeline import Round
from asmevo.report.views.timeline import timeline as timeline_of

_MOST_LINES = 200_000
"""Lines of edits in a page, so that it stays below 5 MB with a thousand nodes; `asmevo lineage diff` shows all."""
_MOST_LINES_OF_NODE = 600
_KINDS = list(Kind)


def page(told: Story) -> str:
    """Return the page of a run."""
    assets = Assets.of("asmevo.report.story")
    name = text(told.run.kernel)
    after = told.best_node.cycles if told.best_node else told.run.cycles
    gain = 100 * (told.speedup - 1)
    parts = [
        assets.head(f"{name}: asmevo report"),
        f"<header><h1>{name}</h1><p>{text(told.run.target)}, run {told.run.id} of {text(told.run.started)}, seed"
        f" {told.run.seed}, asmevo {text(told.run.version)}; page by {text(__version__)}</p>",
        '<nav><button id="theme" type="button">light/dark (t)</button><button id="help" type="button">keys (?)</button></nav>',
        "</header>",
        f'<p class="headline"><b>{gain:+.2f} %</b> {told.run.cycles:,.0f} &rarr; {after:,.0f} <em>modelled</em> cycles;'
        f" {len(told.attempts):,} attempts, {len(told.chapters):,} accepted. Nothing was measured.</p>",
        "<main><section>",
        section("Gain over the attempts", pictures.curve(told), "gain"),
        section("Accepted candidates", pictures.tree(told), "candidates"),
        section("What was tried", _tried(told), "tried"),
        '</section><section id="detail" aria-live="polite"><p class="dim">Choose a candidate.</p></section></main>',
        '<div class="wide">',
        section("Against the chip's peaks", pictures.peaks(told) or "<p>No launch was modelled.</p>", "peaks"),
        section("Hot loop, before and after", _timelines(told), "timeline"),
        section("Live registers, before and after", _pressures(told), "pressure"),
        *(f'<p class="note">{text(note)}</p>' for note in told.notes),
        "</div>",
        _KEYS,
        "<noscript><p>Details need JavaScript; <code>asmevo report --text --edits</code> prints them.</p></noscript>",
        assets.end(script_json(_data(told))),
    ]
    return "".join(parts)


_KEYS = (
    '<dialog id="keys"><h2>Keys</h2><dl><dt>up, down</dt><dd>previous, next</dd><dt>home, end</dt><dd>first, last</dd>'
    "<dt>b</dt><dd>the best</dd><dt>p</dt><dd>the parent</dd><dt>t</dt><dd>light or dark</dd>"
    '<dt>escape</dt><dd>close this</dd></dl><form method="dialog"><button>close</button></form></dialog>'
)


def _tried(told: Story) -> str:
    spent = "".join(
        f"<tr><td>{text(s.proposer)}</td><td>{s.attempts:,}</td><td>{s.accepted:,}</td>"
        f"<td>{text(', '.join(f'{value:,.6g} {name}' for name, value in s.cost.items()))}</td></tr>"
        for s in told.spent
    )
    statuses = "".join(f"<tr><td>{text(name)}</td><td>{count:,}</td></tr>" for name, count in told.statuses.items())
    return (
        "<table><thead><tr><th>proposer</th><th>tried</th><th>accepted</th><th>cost</th></tr></thead>"
        f"<tbody>{spent}</tbody></table>"
        f"<table><thead><tr><th>ended as</th><th>attempts</th></tr></thead><tbody>{statuses}</tbody></table>"
    )


def _timelines(told: Story) -> str:
    """The innermost loop that costs most in the original, as it was and as it is."""
    before, after = (_rounds(kernel) for kernel in (told.original, told.best))
    costs = estimate(told.original).per_block
    hottest = max(
        before, key=lambda header: costs[header].cycles * costs[header].executions if header in costs else 0.0, default=""
    )
    rounds = [(name, found[hottest]) for name, found in (("before", before), ("after", after)) if hottest in found]
    return pictures.timeline(rounds) if rounds else "<p>There is no code to show.</p>"


def _rounds(kernel: Kernel) -> dict[str, Round]:
    return {shown.header: shown for shown in timeline_of(Subject(kernel.name, kernel)).rounds}


def _pressures(told: Story) -> str:
    parts: list[str] = []
    for name, kernel in (("before", told.original), ("after", told.best)):
        subject = Subject(kernel.name, kernel)
        shown = [(line.vgpr, line.agpr, line.sgpr) for block in listing(subject).blocks for line in block.lines]
        if subject.analyses.get(Flow).order and shown:
            parts.append(f"<h3>{name}</h3>{pressure_curve(shown, ())}")
    key = '<p class="key"><i class="vgpr"></i>VGPR <i class="agpr"></i>AGPR <i class="sgpr"></i>SGPR</p>'
    return "".join(parts) + key


def _data(told: Story) -> dict[str, Any]:
    """What the script shows of a node: numbers and texts, each text once."""
    strings: dict[str, int] = {}

    def number(value: str) -> int:
        return strings.setdefault(printable(value), len(strings))

    limit = min(_MOST_LINES_OF_NODE, max(20, _MOST_LINES // max(len(told.chapters), 1)))
    nodes = [_node(chapter, told.run.cycles, number, limit) for chapter in told.chapters]
    return {
        "kinds": [kind.value for kind in _KINDS],
        "nodes": nodes,
        "strings": list(strings),
        "best": told.best_node.id if told.best_node else None,
    }


def _node(chapter: Chapter, first: float, number: Any, limit: int) -> dict[str, Any]:
    node, tried = chapter.node, chapter.attempt
    return {
        "id": node.id,
        "parent": node.parent,
        "cycles": [chapter.parent_cycles, node.cycles, first],
        "what": [number(node.proposer), number(node.description), number(node.verdict), number(node.accepted)],
        "attempt": None if tried is None else [tried.number + 1, number(tried.place), tried.generation, tried.island],
        "cost": [] if tried is None else [[number(str(k)), number(str(v))] for k, v in tried.cost.items() if v],
        "basis": [
            [
                number(str(b["method"])),
                number(str(b["outcome"])),
                number(str(b["detail"])),
                [number(str(a)) for a in b["assumptions"]],
            ]
            for b in node.basis
        ],
        "stalls": [
            [number(cause), round(chapter.stalls_before.get(cause, 0.0), 5), round(chapter.stalls_after.get(cause, 0.0), 5)]
            for cause in sorted({*chapter.stalls_before, *chapter.stalls_after})
        ],
        "blocks": _blocks(chapter.changed, number, limit),
    }


def _blocks(changed: Sequence[BlockChange], number: Any, limit: int) -> list[Any]:
    """Label, lines as (kind, left, right or count), and how many lines were left out."""
    found: list[Any] = []
    for change in changed:
        shown = change.lines[:limit]
        limit -= len(shown)
        rows = [
            [_KINDS.index(line.kind), line.skipped, 0]
            if line.kind is Kind.GAP
            else [_KINDS.index(line.kind), number(line.left), number(line.right)]
            for line in shown
        ]
        found.append([number(change.label), rows, len(change.lines) - len(shown)])
    return found
