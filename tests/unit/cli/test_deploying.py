import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from asmevo.backend.writer import rebuild
from asmevo.cli.main import app
from asmevo.frontend.codeobject import load_file
from asmevo.frontend.parser import parse_line
from asmevo.frontend.recover import recover
from asmevo.ir.printer import print_instruction
from support import EXAMPLES

ORIGINAL = EXAMPLES / "kernels" / "vector_add.co"


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def edited(text):
    """The shipped vector_add with its multiplication of the work-group's number written as `text`."""
    code_object = load_file(ORIGINAL)
    kernel = recover(code_object)
    blocks = tuple(
        replace(
            block,
            instructions=tuple(
                replace(parse_line(text), uid=i.uid, offset=i.offset) if print_instruction(i) == "s_lshl_b32 s1, s14, 10" else i
                for i in block.instructions
            ),
        )
        for block in kernel.blocks
    )
    return rebuild(code_object, replace(kernel, blocks=blocks))


@pytest.fixture
def place(tmp_path):
    folder = tmp_path / "library"
    folder.mkdir()
    (folder / "add.co").write_bytes(ORIGINAL.read_bytes())
    (tmp_path / "same.co").write_bytes(edited("s_mul_i32 s1, s14, 0x400"))
    (tmp_path / "wrong.co").write_bytes(edited("s_lshl_b32 s1, s14, 9"))
    return tmp_path


def test_an_object_without_evidence_is_verified_first(place):
    folder = place / "library"
    refused = run("deploy", "files", folder, place / "same.co")
    assert refused.exit_code == 2
    assert "error[E0901]" in refused.stderr
    wrong = run("deploy", "files", folder, place / "wrong.co", "--original", ORIGINAL)
    assert wrong.exit_code == 2
    assert "the verdict is refuted" in wrong.stderr
    assert (folder / "add.co").read_bytes() == ORIGINAL.read_bytes()
    done = run("deploy", "files", folder, place / "same.co", "--original", ORIGINAL)
    assert done.exit_code == 0, done.stderr
    assert "add.co: vector_add (gfx942), proved" in done.stdout
    assert (folder / "add.co").read_bytes() == (place / "same.co").read_bytes()


def test_a_deployment_is_verified_later_and_rolled_back(place):
    folder = place / "library"
    assert run("deploy", "files", folder, place / "same.co", "--original", ORIGINAL).exit_code == 0
    checked = run("verify", "--manifest", folder, "--level", "smt")
    assert checked.exit_code == 0
    assert "judged again: proved" in checked.stdout
    assert "judged again: unknown" in run("verify", "--manifest", folder, "--level", "static").stdout
    told = json.loads(run("deploy", "status", folder, "--format", "json").stdout)
    assert (told["sound"], told["files"][0]["state"]) == (True, "deployed")
    (folder / "add.co").write_bytes((place / "wrong.co").read_bytes())
    tampered = run("verify", "--manifest", folder)
    assert tampered.exit_code == 1
    assert "add.co: changed" in tampered.stdout
    assert run("deploy", "rollback", folder).exit_code == 2
    (folder / "add.co").write_bytes((place / "same.co").read_bytes())
    assert "the originals are back" in run("deploy", "rollback", folder).stdout
    assert (folder / "add.co").read_bytes() == ORIGINAL.read_bytes()
    assert run("deploy", "status", folder).exit_code == 2


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("deploy", "files", "nowhere", ORIGINAL), "E0208"),
        (("deploy", "files", "{library}", ORIGINAL, ORIGINAL, "--original", ORIGINAL), "E0208"),
        (("deploy", "files", "{library}", "{same}", "--launch", "x.toml"), "E0208"),
        (("deploy", "triton", "{library}", "{out}", "{same}", "--original", ORIGINAL), "E0906"),
        (("verify", "--manifest", "{library}", "--level", "emulate"), "E0208"),
        (("verify", ORIGINAL, ORIGINAL, "--manifest", "{library}"), "E0208"),
        (("verify", "--manifest", "{library}"), "E0904"),
    ],
)
def test_bad_uses_are_refused(place, words, code):
    names = {"library": place / "library", "same": place / "same.co", "out": place / "out"}
    result = run(*(str(word).format(**names) for word in words))
    assert result.exit_code == 2
    assert f"error[{code}]" in result.stderr
