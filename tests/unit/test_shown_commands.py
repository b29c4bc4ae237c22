"""The reader of shown commands: what it finds, and what it must not take for a command."""

import pytest

from shown_commands import commands, pattern

PAGE = """
# A page

```console
$ cd kernels && asmevo info a.co    # a comment
$ asmevo passes | grep nop; asmevo doctor
$ pip install asmevo
$ asmevo emulate a.co \\
    --launch l.toml
```

Not a block: asmevo info b.co

```python
asmevo = 1
```

<!-- exact -->
<!-- exits: 3 -->
```console
$ asmevo verify 'lib.so!*gfx942' b.co
verdict: unknown
```

<!-- not run: needs a GPU -->
```
asmevo bench a.co --launch l.toml
asmevo info a.co
```

<!-- not run: said too early -->

text

```
asmevo info c.co
```
"""


def found():
    return commands("page.md", PAGE)


def test_commands_in_order_without_comments_pipes_and_other_programs():
    assert [c.words for c in found()] == [
        ("info", "a.co"),
        ("passes",),
        ("doctor",),
        ("emulate", "a.co", "--launch", "l.toml"),
        ("verify", "lib.so!*gfx942", "b.co"),
        ("bench", "a.co", "--launch", "l.toml"),
        ("info", "a.co"),
        ("info", "c.co"),
    ]


def test_marks_are_of_the_next_block_only():
    assert [c.needs for c in found()] == ["", "", "", "", "", "needs a GPU", "needs a GPU", ""]
    assert [c.exits for c in found()] == [0, 0, 0, 0, 3, 0, 0, 0]
    assert [c.output for c in found()] == [None, None, None, None, "verdict: unknown", None, None, None]


@pytest.mark.parametrize(
    ("line", "need"),
    [
        ("optimize a.co --ray auto", "a Ray cluster"),
        ("bench a.co", "a GPU"),
        ("bench --model a.co", ""),
        ("verify a.co b.co --level device", "a GPU"),
        ("verify a.co b.co --level smt", ""),
        ("mcp a.co", "a client on standard input"),
    ],
)
def test_what_a_command_needs(line, need):
    (command,) = commands("p", f"```\nasmevo {line}\n```")
    assert command.needs == need


def test_dots_in_shown_output_stand_for_anything_and_nothing_else_does():
    shown = pattern("one ... three\n...\nend")
    assert shown.fullmatch("one two three\na\nb\nend\n")
    assert not shown.fullmatch("one two thre\na\nend\n")
    assert not shown.fullmatch("one two three\na\nend\nmore\n")
