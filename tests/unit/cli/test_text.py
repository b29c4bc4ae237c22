from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner, Result

from asmevo.cli.main import app
from asmevo.frontend.codeobject import load_file
from support import EXAMPLES

SOFTMAX = EXAMPLES / "kernels" / "softmax.co"


def run(*words: str | Path, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words], input=stdin)


def test_disasm_and_asm_like_give_the_identical_file(tmp_path: Path) -> None:
    text, out = tmp_path / "k.s", tmp_path / "k.co"
    assert run("disasm", SOFTMAX, "-o", text).exit_code == 0
    assert run("asm", text, "--like", SOFTMAX, "-o", out).exit_code == 0
    assert out.read_bytes() == SOFTMAX.read_bytes()


def test_asm_from_standard_input_alone(tmp_path: Path) -> None:
    out = tmp_path / "k.co"
    text = run("disasm", SOFTMAX, "--no-comments").stdout
    assert ";" not in text
    assert run("asm", "-", "-o", out, stdin=text.encode()).exit_code == 0
    assert load_file(out).kernels[0].metadata == load_file(SOFTMAX).kernels[0].metadata


def test_a_bad_line_is_shown_with_a_caret_and_nothing_is_written(tmp_path: Path) -> None:
    text, out = tmp_path / "k.s", tmp_path / "k.co"
    listing = run("disasm", SOFTMAX).stdout.replace("s_endpgm", "s_endprogram", 1)
    text.write_text(listing)
    for like in ([], ["--like", SOFTMAX]):
        result = run("asm", text, *like, "-o", out)
        assert result.exit_code == 2
        line = listing[: listing.index("s_endprogram")].count("\n") + 1
        assert f"{text}:{line}:2" in result.output
        assert "^" in result.output
    assert not out.exists()


def test_wrong_targets_and_files_are_named(tmp_path: Path) -> None:
    out = tmp_path / "k.co"
    text = tmp_path / "k.s"
    assert "E0113" in run("asm", text, "-o", out).output
    text.write_bytes(b"\xff\xfe")
    assert "E0113" in run("asm", text, "-o", out).output
    run("disasm", SOFTMAX, "-o", text)
    assert "E0112" in run("asm", text, "--target", "gfx950", "-o", out).output
    assert "E0108" in run("asm", text, "-o", tmp_path).output
    assert "E0109" in run("disasm", SOFTMAX, "--kernel", "none").output


def test_disasm_emits_mlir_and_llvm_ir(tmp_path: Path) -> None:
    out = tmp_path / "k.mlir"
    assert run("disasm", SOFTMAX, "--emit", "mlir", "-o", out).exit_code == 0
    assert out.read_text().startswith('"builtin.module"() ({\n  "amdgcn.kernel"() ({\n')
    assert 'define void @"softmax"(' in run("disasm", SOFTMAX, "--emit", "llvm-ir").stdout
    label = load_label(run("disasm", SOFTMAX, "--emit", "mlir").stdout)
    assert f'@"softmax.{label}"(' in run("disasm", SOFTMAX, "--emit", "llvm-ir", "--block", label).stdout


def load_label(text: str) -> str:
    return next(line for line in text.splitlines() if line.startswith("  ^L_")).strip("^ :").split("(")[0]


def test_options_of_one_language_are_refused_for_another() -> None:
    for words in (["--emit", "mlir", "--offsets"], ["--emit", "llvm-ir", "--encoding"], ["--block", "L_0000"]):
        result = run("disasm", SOFTMAX, *words)
        assert result.exit_code == 2
        assert "E0208" in result.output
    assert "E0623" in run("disasm", SOFTMAX, "--emit", "llvm-ir", "--block", "none").output
    assert "E0109" in run("disasm", SOFTMAX, "--emit", "mlir", "--kernel", "none").output


def test_what_does_not_end_and_what_cannot_be_a_name_are_refused(tmp_path: Path) -> None:
    endless = tmp_path / "endless.s"
    endless.symlink_to("/dev/zero")
    for words in (("asm", endless, "-o", tmp_path / "k.co"), ("opt", endless, "--passes", "nop-trim")):
        result = run(*words)
        assert result.exit_code == 2
        assert "E0135" in result.stderr
    for command in ("info", "disasm", "analyze", "roundtrip"):
        result = run(command, "a" * 5000)
        assert result.exit_code == 2, result.stdout
        assert "internal error" not in result.stderr


def test_asm_takes_the_target_as_newer_compilers_spell_it(tmp_path: Path) -> None:
    text, new = tmp_path / "k.s", tmp_path / "new.co"
    listing = run("disasm", SOFTMAX).stdout
    old = '"amdgcn-amd-amdhsa--gfx942"'
    assert old in listing
    text.write_text(listing.replace(old, '"amdgpu9.42-amd-amdhsa-unknown-gfx942"'))
    assert run("asm", text, "-o", new).exit_code == 0
    assert load_file(new).target == "gfx942"


def test_a_missing_source_is_named_once(tmp_path: Path) -> None:
    result = run("asm", "nosuch.s", "-o", tmp_path / "x.co")
    assert result.exit_code == 2
    assert "cannot read 'nosuch.s': No such file or directory\n" in result.stderr
