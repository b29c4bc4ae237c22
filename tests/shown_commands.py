"""The `asmevo` commands that README and docs show: found in their pages, and how each is to be run. For tests only.

A comment before a block says what cannot be seen in it:

    <!-- not run: REASON -->     it needs what a test has not
    <!-- exact -->               its output must be what is shown; `...` stands for anything
    <!-- exits: 1 -->            how its last command ends, when that is not 0
"""

import re
import shlex
from dataclasses import dataclass

NEEDS = {
    ("optimize", "--ray"): "a Ray cluster",
    ("optimize", "--agent"): "an agent",
    ("optimize", "--model"): "a language model",
    ("optimize", "--replay"): "a recorded session",
    ("mcp", ""): "a client on standard input",
    ("verify", "device"): "a GPU",
    ("reduce", "my-pass"): "a pass that fails",
    ("emulate", "aiter"): "production objects",
}
"""A command with this word in it is not run: what it needs. Beside it only `bench` without --model, which needs a GPU."""
EXITS = {"diff": 1, "lineage diff": 1}
"""Commands that end so when they do what they are shown for: two files that differ."""


@dataclass(frozen=True)
class Shown:
    """A command: `words` without `asmevo`, what it needs ("" for nothing), how it ends, and its output where that is exact."""

    page: str
    line: int
    words: tuple[str, ...]
    needs: str
    exits: int
    output: str | None = None

    def __str__(self):
        return f"{self.page}:{self.line}: asmevo {shlex.join(self.words)}"


@dataclass(frozen=True)
class Block:
    """A fenced block that shows a shell: its first line's number, its text, and what the comment before it says."""

    line: int
    text: str
    marks: dict[str, str]


def blocks(text):
    """The blocks of a page that are fenced as `console` or as nothing, in order."""
    found, marks = [], {}
    lines = iter(enumerate(text.splitlines(), start=1))
    for number, line in lines:
        if mark := re.fullmatch(r"<!-- (not run|exact|exits)(?:: (.*))? -->", line):
            marks[mark[1]] = mark[2] or ""
        elif fence := re.fullmatch(r"```(\w*)", line):
            inside = []
            for _, content in lines:
                if content == "```":
                    break
                inside.append(content)
            if fence[1] in ("", "console"):
                found.append(Block(number + 1, "\n".join(inside), marks))
            marks = {}
        elif line:
            marks = {}
    return found


def commands(page, text):
    """The commands of a page, in order."""
    return [command for block in blocks(text) for command in _commands(page, block)]


def _commands(page, block):
    found = []
    lines = block.text.splitlines()
    position = 0
    while position < len(lines):
        number, line = block.line + position, lines[position]
        position += 1
        while line.endswith("\\") and position < len(lines):
            line = line[:-1] + lines[position]
            position += 1
        if not re.match(r"\$ |asmevo ", line):
            continue
        shown = []
        while position < len(lines) and not lines[position].startswith("$ "):
            shown.append(lines[position])
            position += 1
        if not line.startswith("$ "):
            # Without prompts every line is a command.
            position -= len(shown)
            shown = []
        found += [(number, words, shown) for words in _words(line.removeprefix("$ "))]
    exact = "exact" in block.marks
    last = len(found) - 1
    return [
        Shown(
            page,
            number,
            words,
            block.marks["not run"] if "not run" in block.marks else _needs(words),
            int(block.marks["exits"])
            if "exits" in block.marks and index == last
            else EXITS.get(words[0], EXITS.get(" ".join(words[:2]), 0)),
            "\n".join(shown) if exact else None,
        )
        for index, (number, words, shown) in enumerate(found)
    ]


def _words(line):
    """The words of each `asmevo` command in a shell line; what they are piped to is left out, comments too."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=";|&")
    lexer.whitespace_split = True
    found, words, is_piped = [], [], False
    for word in (*lexer, ";"):
        if not set(word) <= set(";|&"):
            words.append(word)
            continue
        if words[:1] == ["asmevo"] and not is_piped:
            found.append(tuple(words[1:]))
        words, is_piped = [], word == "|"
    return found


def _needs(words):
    if words[0] == "bench" and "--model" not in words:
        return "a GPU"
    for (command, word), need in NEEDS.items():
        if words[0] == command and (word in ("", "aiter") or word in words) and (word != "aiter" or "aiter/" in words[1]):
            return need
    return "what stands for `...`" if "..." in words else ""


def pattern(shown):
    """A regular expression for shown output: a line of dots is any lines, dots in a line are any text of it."""
    lines = [".*?\n" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*") + "\n" for line in shown.splitlines()]
    return re.compile("".join(f"(?s:{line})" if line == ".*?\n" else line for line in lines) + r"\Z")
