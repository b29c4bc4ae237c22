"""What a model is told: versioned templates of the package, filled with figures.

Owns the reading and filling of templates. Only numbers and words of AsmEvo's own go into them: kernel text reaches a model in
tool answers alone. `Prompt.sha256` names the exact system prompt in the lineage.
"""

from __future__ import annotations

import string
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from importlib import resources
from typing import Any

from asmevo import toml_text

VERSION = 1
"""The folder of templates that new conversations use."""

Variant = tuple[str, ...]
"""Names of guidelines in the order of the file: what tells one system prompt from another."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A system prompt: its text, and what it was made of."""

    text: str
    version: int
    variant: Variant

    @property
    def sha256(self) -> str:
        """The digest of the text."""
        return sha256(self.text.encode()).hexdigest()

    def record(self) -> dict[str, Any]:
        """What the lineage keeps of it; `system_prompt` makes the text again."""
        return {"version": self.version, "variant": list(self.variant), "sha256": self.sha256}


@lru_cache(maxsize=4)
def guidelines(version: int = VERSION) -> dict[str, str]:
    """Each guideline's text by its name, in the order of the file."""
    return toml_text.parsed(_file("guidelines.toml", version), f"prompts/v{version}/guidelines.toml", "E0209")["guidelines"]


def system_prompt(target: str, variant: Variant, version: int = VERSION) -> Prompt:
    """The system prompt with the guidelines of a variant. KeyError for a guideline that the version does not have."""
    known = guidelines(version)
    advice = "\n".join(f"- {known[name]}" for name in variant)
    shown = f"Advice\n{advice}" if advice else ""
    return Prompt(message("system", version, target=target, guidelines=shown), version, variant)


def message(name: str, version: int = VERSION, **values: object) -> str:
    """A template with its values; KeyError when one is missing."""
    return string.Template(_file(f"{name}.txt", version)).substitute({key: str(value) for key, value in values.items()}).strip()


@lru_cache(maxsize=32)
def _file(name: str, version: int) -> str:
    return (resources.files("asmevo.search.llm.prompts") / f"v{version}" / name).read_text(encoding="utf-8")
