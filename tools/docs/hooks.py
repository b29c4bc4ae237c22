"""MkDocs hooks: put the made reference pages into the build, and unfold links to what is not a page.

Owns the bridge between MkDocs and `tools.docs.reference`; it writes no text of its own.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.structure.files import Files

ROOT = Path(__file__).resolve().parents[2]
OUTSIDE = re.compile(r"(?<!!)\[([^\]]+)\]\((?:\.\./)+((?!docs/)[^)#]+)(?:#[^)]*)?\)")
"""A link from a page to a file of the repository that the site does not have."""


def on_files(files: Files, config: Any) -> Files:
    """Add the made pages."""
    from mkdocs.structure.files import File

    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    from tools.docs.reference import pages

    for name, text in pages().items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Show a link to a file outside of the site as the file's path in the repository."""
    if page.file.generated_by is not None:
        return markdown
    return unlinked(markdown)


def unlinked(markdown: str) -> str:
    """The page's text with links to the repository's other files as plain paths."""

    def path(found: re.Match[str]) -> str:
        text, target = found[1].strip("`"), found[2].rstrip("/")
        return f"`{target}`" if text in (target, Path(target).name) else f"{found[1]} (`{target}`)"

    return OUTSIDE.sub(path, markdown)
