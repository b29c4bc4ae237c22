"""The page: summary, findings, loops, pictures and listing of one kernel in a single HTML file.

Owns the assembly of the parts. Names from an object are hostile: whatever comes from it is escaped by `figures.text`, or is
data that the script never takes for markup, and the page's policy lets no other script run and nothing be fetched.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from asmevo import __version__
from asmevo.diagnostics import printable
from asmevo.ir.analysis.control.flow import Flow
from asmevo.ir.analysis.control.loops import Loops
from asmevo.ir.finding import Finding
from asmevo.ir.printer import print_instruction
from asmevo.report.explanations import hint
from asmevo.report.findings import Group, counts, grouped
from asmevo.report.html.data import MOST_FINDINGS, first_rows, page_data, script_json
from asmevo.report.html.document import Assets, section
from asmevo.report.html.figures import flow_picture, pressure_curve, text
from asmevo.report.subject import Subject, place_of
from asmevo.report.views.cfg import cfg
from asmevo.report.views.listing import Listing, listing
from asmevo.report.views.loops import LoopView, loops
from asmevo.report.views.profile import Measured, notes_of, number, profile, why
from asmevo.report.views.summary import Summary, summary
from asmevo.report.views.table import cycles

_TOO_MANY = "<p>Too many blocks for a picture; <code>--view cfg</code> lists them.</p>"
_SHOWN = 60
"""Places of a group of findings that have a link."""
_WORST = 24
"""Measured places beside the listing, which has all."""


def page(subject: Subject) -> str:
    """Return the page of a kernel. Size: about 150 bytes an instruction."""
    view = listing(subject)
    rows = first_rows(view)
    order = subject.analyses.get(Flow).order
    assets = Assets.of("asmevo.report.html")
    picture = flow_picture(cfg(subject), rows, order) or _TOO_MANY
    curve = pressure_curve(_counts(view), _stretches(subject, view))
    kernel, file = text(subject.kernel.name), text(subject.file)
    parts = [
        assets.head(f"{kernel}: asmevo analyze"),
        f"<header><h1>{kernel}</h1><p>{file} &middot; asmevo {text(__version__)}</p>",
        '<nav><input id="search" type="search" placeholder="search ( / )" aria-label="Search the listing">'
        '<output id="hits"></output><button id="fold" type="button">fold loops (f)</button>'
        '<button id="theme" type="button">light/dark (t)</button><button id="help" type="button">keys (?)</button>'
        "</nav></header>",
        '<main><section id="code" aria-label="Listing"><div id="head"></div>'
        '<div id="list" tabindex="0" role="listbox" aria-label="Instructions"><div id="space"></div></div>'
        '<div id="detail" role="status"></div></section><aside>',
        section("Summary", _summary(summary(subject)), "summary"),
        section("Measured", _measured(profile(subject), subject), "measured") if subject.measured is not None else "",
        section("Findings", _findings(subject), "findings"),
        section("Loops", _loops(loops(subject).loops, rows), "loops"),
        section("Live registers", f'{curve}<p class="key"><i class="vgpr"></i>VGPR <i class="agpr"></i>AGPR '
                 '<i class="sgpr"></i>SGPR; loops shaded; a click goes there</p>', "pressure"),
        section("Control flow", f'<div class="scroll">{picture}</div>', "flow"),
        "</aside></main>",
        _KEYS,
        "<noscript><p>The listing needs JavaScript; <code>--view listing</code> prints it as text.</p></noscript>",
        assets.end(script_json(page_data(subject, view, subject.findings))),
    ]  # fmt: skip
    return "".join(parts)


_KEYS = (
    '<dialog id="keys"><h2>Keys</h2><dl>'
    "<dt>up, down, page up, page down, home, end</dt><dd>move in the listing</dd>"
    "<dt>n, p</dt><dd>next, previous finding</dd><dt>], [</dt><dd>next, previous block</dd>"
    "<dt>enter</dt><dd>fold or unfold the loop around the line</dd><dt>f</dt><dd>fold or unfold all loops</dd>"
    "<dt>/</dt><dd>search; enter and shift+enter go on and back</dd><dt>t</dt><dd>light or dark</dd>"
    '<dt>escape</dt><dd>forget the register; close this</dd></dl><form method="dialog"><button>close</button></form></dialog>'
)


def _counts(view: Listing) -> list[tuple[int, int, int]]:
    return [(line.vgpr, line.agpr, line.sgpr) for block in view.blocks for line in block.lines]


def _stretches(subject: Subject, view: Listing) -> list[tuple[int, int, int]]:
    depth = subject.analyses.get(Loops).depth
    found: list[tuple[int, int, int]] = []
    row = 0
    for block in view.blocks:
        if depth[block.label] and block.lines:
            found.append((row, row + len(block.lines) - 1, depth[block.label]))
        row += len(block.lines)
    return found


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose cells are markup already."""
    top = "".join(f"<th>{name}</th>" for name in head)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def _summary(view: Summary) -> str:
    live = ", ".join(f"{n} {name.upper()}" for name, n in view.live.items())
    by = f", limited by {' and '.join(view.limited_by)}" if view.limited_by else ""
    limits = "; ".join(f"{limit.allocated:,} {limit.resource}" for limit in view.limits)
    lost = ", ".join(f"{text(cause)} {share:.1%}" for cause, share in list(view.stalls.items())[:6]) or "none"
    facts = [
        ("target", text(view.target)),
        ("code", f"{view.instructions:,} instructions in {view.blocks} blocks, {view.loops} loop(s)"),
        ("live at most", live),
        ("allocated", limits),
        ("waves per SIMD", f"{view.waves_per_simd}{by}"),
        ("modelled stalls", f"{lost} <small>({text(view.modelled_on)}, {view.modelled_waves} wave(s) a SIMD, "
                            "loops 16 rounds; nothing was measured)</small>"),
    ]  # fmt: skip
    listed = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in facts)
    mix = _table(("issued to", "count", "in loops"), ((text(m.issue), f"{m.count:,}", f"{m.in_loops:,}") for m in view.mix))
    return f"<dl>{listed}</dl><details><summary>instruction mix</summary>{mix}</details>"


def _measured(view: Measured, subject: Subject) -> str:
    """The places where most was lost, with links to them."""
    row = {place_of(i, b.label): n for n, (b, i) in enumerate((b, i) for b in subject.kernel.blocks for i in b.instructions)}
    head = ("place", "instruction", "seen", text(view.unit), "share", "why")
    rows = [
        (
            f'<a href="#r{row[p.place]}">{text(p.place)}</a>', f"<code>{text(printable(p.text))}</code>", number(p.seen),
            number(p.lost), f"{p.share:.1%}", text(printable(why(p))),
        )
        for p in view.places[:_WORST]
    ]  # fmt: skip
    notes = "".join(f"<p>{text(note)}</p>" for note in notes_of(view))
    return notes + _table(head, rows)


def _findings(subject: Subject) -> str:
    findings = subject.findings
    if not findings:
        return "<p>None.</p>"
    place = {id(i): number for number, i in enumerate(subject.kernel.instructions())}
    told = ", ".join(f"{number} {level}(s)" for level, number in counts(findings).items())
    beyond = f"<p>The listing marks the first {MOST_FINDINGS:,}.</p>" if len(findings) > MOST_FINDINGS else ""
    return f"<p>{told}</p>{beyond}" + "".join(_group(group, place) for group in grouped(findings))


def _group(group: Group, place: dict[int, int]) -> str:
    first = group.findings[0]
    links = "".join(_link(finding, place[id(finding.instruction)]) for finding in group.findings[:_SHOWN])
    rest = len(group.findings) - _SHOWN
    more = f"<li>and {rest:,} more; n and p visit each</li>" if rest > 0 else ""
    rule = f" <small>{text(group.rule)}</small>" if group.rule else ""
    return (
        f'<details class="{group.severity.value}"><summary><b>{group.severity.value} {text(group.code)}</b>'
        f" &times;{len(group.findings)}{rule}<br>{text(first.message)}</summary>"
        f'<p class="hint">{text(hint(group.code))}</p><ul>{links}{more}</ul></details>'
    )


def _link(finding: Finding, row: int) -> str:
    instruction = text(print_instruction(finding.instruction))
    where = text(printable(place_of(finding.instruction, finding.block)))
    return f'<li><a href="#r{row}">{where}</a> <code>{instruction}</code></li>'


def _loops(views: Sequence[LoopView], rows: dict[str, int]) -> str:
    if not views:
        return "<p>None.</p>"
    head = ("loop", "depth", "instr", "trips", "live v/a/s", "cycles", "bound", "largest stalls")
    return _table(
        head,
        (
            (
                f'<a href="#r{rows[v.header]}">{text(v.header)}</a>', str(v.depth), f"{v.instructions:,}",
                str(v.trips) if v.trips is not None else "" if v.trips_at_most is None else f"&le; {v.trips_at_most}",
                "/".join(map(str, v.live.values())), cycles(v.cycles),
                "" if v.bounds is None else cycles(v.bounds.bound_cycles),
                ", ".join(f"{text(cause)} {cycles(lost)}" for cause, lost in list(v.stalls.items())[:3]),
            )
            for v in views
        ),
    )  # fmt: skip
