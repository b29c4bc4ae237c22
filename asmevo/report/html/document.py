"""What every page has: one file that works offline, in which no script but its own may run.

Owns the head, the policy and the assets. What stands in the body is the pages'.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from importlib import resources


@dataclass(frozen=True, slots=True)
class Assets:
    """A page's style and script, read from `page.css` and `page.js` of a package."""

    style: str
    script: str

    @classmethod
    def of(cls, package: str) -> Assets:
        """Return those of the package."""
        folder = resources.files(package)
        return cls((folder / "page.css").read_text(encoding="utf-8"), (folder / "page.js").read_text(encoding="utf-8"))

    def head(self, title: str) -> str:
        """Return the document up to the body's first element; `title` is markup already."""
        digest = base64.b64encode(hashlib.sha256(self.script.encode()).digest()).decode()
        policy = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'"
        return (
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            '<meta name="color-scheme" content="light dark">'
            f"<style>{self.style}</style></head><body>"
        )

    def end(self, data: str) -> str:
        """Return the end of the document: `data` as JSON that is safe in markup, and the script that reads it."""
        return f'<script type="application/json" id="data">{data}</script><script>{self.script}</script></body></html>\n'


def section(title: str, body: str, name: str) -> str:
    """Return an open section that can be folded; all markup already."""
    return f'<details open id="{name}"><summary><h2>{title}</h2></summary>{body}</details>'
