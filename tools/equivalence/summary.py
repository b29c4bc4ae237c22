"""What a soundness run found, in figures and as a table of every proved mutant's reason.

Owns the counting only.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from asmevo.verify.equivalence.nearly import FLOAT_ORDER, OTHER_WAVES
from asmevo.verify.equivalence.replay import UNDOCUMENTED
from tools.equivalence.records import Record


def summary(records: Sequence[Record]) -> dict[str, Any]:
    """Return the figures as JSON-ready data."""
    edits = [edit for record in records for edit in record["edits"]]
    mutants = [wrong for record in records for wrong in record["mutants"]]
    proved = [wrong for wrong in mutants if wrong["outcome"] == "proved"]
    changed = [edit for edit in edits if edit["outcome"] != "identical"]
    second = Counter[str]()
    for wrong in proved:
        second.update(
            {f"queries of {wrong['second']['form']} terms: {k}": v for k, v in wrong["second"].items() if k != "form"}
        )
        second[f"proofs of {wrong['second']['form']} terms"] += 1
    return {
        "windows": len(records),
        "instructions": sum(record["size"] for record in records),
        "themselves": Counter(record["itself"] for record in records),
        "legal edits": _row(changed),
        "legal edits by kind": {kind: _row(rows) for kind, rows in _by_kind(changed).items()},
        "mutants": _row(mutants),
        "mutants by kind": {kind: _row(rows) for kind, rows in _by_kind(mutants).items()},
        "unknown mutants": _reasons(mutants),
        "refutations": _refutations(mutants),
        "proved mutants run": Counter("all states" if w["states"] >= 10_000 else f"{w['states']} states" for w in proved),
        "second solver": second,
        "unproved edits": [f"{r['window']}: {e['kind']}: {e['why']}" for r in records for e in r["edits"] if "why" in e],
        "soundness errors": [wrong["error"] for wrong in mutants if "error" in wrong],
    }


def _reasons(mutants: Sequence[Record]) -> dict[str, int]:
    """How often which reason was given, without the place and with N for numbers."""
    given = (_reason(wrong) for wrong in mutants if "why" in wrong)
    return dict(Counter(given).most_common())


def _reason(wrong: Record) -> str:
    return re.sub(r"\d+", "N", wrong["why"].partition(": ")[2])


def _refutations(mutants: Sequence[Record]) -> dict[str, Any]:
    """Checks in which terms or a solver's model told the windows apart, and how many of them a run confirmed.

    Left out are those told apart only by what the wave's documented bits do not decide; they are reported unknown, with that.
    """
    confirmed = sum(wrong["outcome"] == "refuted" for wrong in mutants)
    reasons = [_reason(wrong) for wrong in mutants if "why" in wrong]
    named = sum(any(text in reason for text in (FLOAT_ORDER, OTHER_WAVES, UNDOCUMENTED)) for reason in reasons)
    rest = len(reasons) - named
    return {
        "confirmed": confirmed,
        "not confirmed": rest,
        "confirmed %": round(100 * confirmed / max(1, confirmed + rest), 2),
        "of all that is not proved %": round(100 * confirmed / max(1, confirmed + len(reasons)), 2),
    }


def _by_kind(rows: Sequence[Record]) -> dict[str, list[Record]]:
    found: defaultdict[str, list[Record]] = defaultdict(list)
    for row in rows:
        found[row["kind"]].append(row)
    return dict(sorted(found.items()))


def _row(rows: Sequence[Record]) -> dict[str, Any]:
    """Outcomes, and process milliseconds at the median, the 95th percentile and the worst, of refutations apart."""
    out: dict[str, Any] = dict(Counter(row["outcome"] for row in rows).most_common())
    for name, chosen in (("ms", rows), ("ms refuted", [row for row in rows if row["outcome"] == "refuted"])):
        ordered = sorted(row["ms"] for row in chosen)
        if ordered:
            at = {"median": 0.5, "p95": 0.95, "worst": 1.0}
            out[name] = {key: ordered[min(len(ordered) - 1, int(q * len(ordered)))] for key, q in at.items()}
    return out


def table(records: Sequence[Record]) -> str:
    """Return every proved mutant by reason, kind of change and mnemonic, as a Markdown table."""
    counts: Counter[tuple[str, str]] = Counter()
    names: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for record in records:
        for wrong in record["mutants"]:
            if wrong["outcome"] == "proved":
                key = wrong["reason"], wrong["kind"]
                counts[key] += 1
                names[key][wrong["mnemonic"]] += 1
    lines = ["| why it is equivalent | what was changed | mutants | most often in |", "|---|---|---|---|"]
    for (why, kind), count in sorted(counts.items(), key=lambda item: (item[0][0], -item[1])):
        often = ", ".join(f"`{name}`" for name, _ in names[why, kind].most_common(3))
        lines.append(f"| {why} | {kind} | {count} | {often} |")
    return "\n".join(lines)
