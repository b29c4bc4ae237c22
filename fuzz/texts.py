"""Mutated texts: tokens and lines exchanged for others of their kind, and constructs mixed in that readers trip over."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from random import Random

from asmevo.ir.isa.catalog import definitions
from fuzz import seeds, words

_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|[A-Za-z_.$][\w.$]*|\d[\w.]*|[^\s\w]|[ \t]+')
MAX_CHARACTERS = 1 << 17


def _character(rng: Random) -> str:
    choice = rng.random()
    if choice < 0.5:
        return chr(rng.randrange(32, 127))
    return rng.choice(words.ODD) if choice < 0.95 else chr(rng.choice((rng.randrange(0xD800), rng.randrange(0xE000, 0x110000))))


def changed(rng: Random, text: str, tokens: Callable[[Random, str], str], blocks: Sequence[str], others: Sequence[str]) -> str:
    """Return `text` with one to four changes: characters, tokens (`tokens` makes one from the old), lines, constructs."""
    for _ in range(rng.choice((1, 1, 2, 2, 3, 4))):
        choice = rng.random()
        if choice < 0.45:
            text = _change_token(rng, text, tokens)
        elif choice < 0.60:
            text = _change_character(rng, text)
        elif choice < 0.85:
            text = _change_lines(rng, text, others)
        elif choice < 0.88:
            text = text[: rng.randrange(len(text) + 1)]
        elif blocks:
            at = _line_start(rng, text)
            text = text[:at] + rng.choice(blocks) + text[at:]
    return text[:MAX_CHARACTERS]


def _line_start(rng: Random, text: str) -> int:
    return text.rfind("\n", 0, rng.randrange(len(text) + 1)) + 1


def _change_token(rng: Random, text: str, tokens: Callable[[Random, str], str]) -> str:
    # One line at a time: the whole text need not be read for one token.
    start = _line_start(rng, text)
    stop = text.find("\n", start)
    line = text[start : stop if stop >= 0 else len(text)]
    found = list(_TOKEN.finditer(line))
    if not found:
        return text
    token = rng.choice(found)
    return text[: start + token.start()] + tokens(rng, token.group()) + text[start + token.end() :]


def _change_character(rng: Random, text: str) -> str:
    at = rng.randrange(len(text) + 1)
    match rng.randrange(3):
        case 0:
            return text[:at] + text[at + 1 :]
        case 1:
            return text[:at] + _character(rng) + text[at + 1 :]
        case _:
            return text[:at] + _character(rng) * rng.choice((1, 1, 1, 2, 300, 5000)) + text[at:]


def _change_lines(rng: Random, text: str, others: Sequence[str]) -> str:
    lines = text.split("\n")
    at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(5):
        case 0:
            del lines[at]
        case 1:
            lines[at], lines[other] = lines[other], lines[at]
        case 2:
            lines[at:at] = lines[other : other + rng.choice((1, 1, 3, 20))] * rng.choice((1, 1, 1, 2, 100))
        case 3:
            foreign = rng.choice(others).split("\n")
            place = rng.randrange(len(foreign))
            lines[at:at] = foreign[place : place + rng.choice((1, 2, 5))]
        case _:
            lines[at] = lines[at] + rng.choice((" ", "", ",", ";")) + lines[other]
    return "\n".join(lines)


# ---- assembly ----


@lru_cache(maxsize=1)
def _mnemonics() -> tuple[str, ...]:
    return tuple(sorted(definitions()))


def assembly_token(rng: Random, old: str) -> str:
    """Return something that could stand where `old` stood in assembly."""
    choice = rng.random()
    if choice < 0.1:
        return ""
    if choice < 0.2:
        return old + old
    if old[0] == "." and choice < 0.8:
        return rng.choice(words.DIRECTIVES)
    if (old[0].isdigit() or old[0] == "'") and choice < 0.8:
        return rng.choice(words.NUMBERS)
    if re.fullmatch(r"[sv]_\w+|ds_\w+|(?:buffer|global|flat|scratch)_\w+", old) and choice < 0.8:
        return rng.choice(_mnemonics()) + rng.choice(("", "", "_e32", "_e64", "_sdwa", "_dpp"))
    if not old[0].isalnum() and choice < 0.7:
        return rng.choice(words.OPERATORS)
    return rng.choice((*words.OPERANDS, *words.NUMBERS, *words.DIRECTIVES, *words.OPERATORS))


def assembly(rng: Random) -> bytes:
    """Return a changed source."""
    sources = seeds.sources()
    return encoded(changed(rng, rng.choice(sources), assembly_token, words.BLOCKS, sources))


def buildable(rng: Random) -> bytes:
    """Return a changed source that was a whole object."""
    sources = seeds.sources()
    whole = [text for text in sources if ".amdhsa_kernel" in text]
    return encoded(changed(rng, rng.choice(whole), assembly_token, words.BLOCKS, sources))


def listing(rng: Random) -> bytes:
    """Return the number of an object in `seeds.listings`, and its listing changed."""
    found = seeds.listings()
    number = rng.randrange(len(found))
    text = changed(rng, found[number][1], assembly_token, words.BLOCKS[:4], [text for _, text in found])
    return bytes([number]) + encoded(text)


def metadata(rng: Random) -> bytes:
    """Return changed lines of a metadata block."""
    text = (seeds.CORPUS / "kernels.s").read_text().partition(".amdgpu_metadata\n")[2].partition("\n\t.end_amdgpu_metadata")[0]
    return encoded(changed(rng, text, _yaml_token, words.YAML_BLOCKS, [text]))


def _yaml_token(rng: Random, old: str) -> str:
    return rng.choice(
        (
            "",
            old * 2,
            rng.choice(words.NUMBERS),
            rng.choice(words.YAML),
            rng.choice(words.YAML),
            rng.choice((".args", ".name", ".reqd_workgroup_size", "amdhsa.kernels")),
        )
    )


# ---- TOML, pipelines, JSON ----


def _toml_token(rng: Random, old: str) -> str:
    choice = rng.random()
    if choice < 0.1:
        return ""
    if old[0].isdigit() and choice < 0.7:
        return rng.choice(words.NUMBERS)
    if old[0].isalpha() and choice < 0.6:
        return rng.choice(words.KEYS)
    if old[0] == '"' and choice < 0.6:
        return rng.choice((*words.FILLS, *words.TOML))
    return rng.choice((*words.TOML, *words.KEYS, *words.NUMBERS, *words.FILLS))


def launch(rng: Random) -> bytes:
    """Return the number of a kernel in `seeds.launches`, and its launch file changed."""
    found = seeds.launches()
    number = rng.randrange(len(found))
    return bytes([number]) + encoded(
        changed(rng, found[number][1], _toml_token, words.TOML_BLOCKS, [text for _, text in found])
    )


def settings(rng: Random) -> bytes:
    """Return a changed settings file."""
    files = seeds.settings()
    return encoded(changed(rng, rng.choice(files), _toml_token, words.TOML_BLOCKS, files))


_PIPELINES = ("list-schedule,waitcnt-relax,nop-trim", "nop-trim{max-distance=20},list-schedule", "waitcnt-relax", "")


def pipeline(rng: Random) -> bytes:
    """Return a changed pipeline text."""
    return encoded(
        changed(rng, rng.choice(_PIPELINES), lambda r, old: r.choice((*words.WORDS, *words.NUMBERS, old * 2)), (), _PIPELINES)
    )


def triton(rng: Random) -> bytes:
    """Return changed metadata of Triton's cache."""
    return encoded(
        changed(
            rng, rng.choice(words.JSON), lambda r, old: r.choice((*words.JSON_WORDS, *words.NUMBERS, old * 2)), (), words.JSON
        )
    )


def encoded(text: str) -> bytes:
    """Return the text as bytes; half of a pair that is no character becomes a byte that is no text."""
    return text.encode("utf-8", errors="surrogateescape")
