"""launch infer, launch import and launch check: files, hints from Triton's cache, exit codes."""

import json
import shutil

import pytest
from typer.testing import CliRunner

from asmevo.cli.main import app
from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from asmevo.verify.launch.dispatches import load_launches
from captures import write_capture
from support import EXAMPLES

KERNELS, LAUNCHES = EXAMPLES / "kernels", EXAMPLES / "launches"


def run(*words, stdin=None):
    return CliRunner().invoke(app, [str(word) for word in words], input=stdin)


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_a_proposed_launch_is_written_and_emulates():
    result = run("launch", "infer", KERNELS / "reduce_sum.co", "-o", "l.toml")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    again = run("emulate", KERNELS / "reduce_sum.co", "--launch", "l.toml")
    assert again.exit_code == 0
    assert "probed: " in again.stdout
    assert "strict: clean" in again.stdout


def test_it_goes_to_standard_output_and_comes_from_standard_input():
    shown = run("launch", "infer", KERNELS / "vector_add.co").stdout
    assert run("launch", "infer", "-", "-o", "-", stdin=(KERNELS / "vector_add.co").read_bytes()).stdout == shown


def test_json_has_what_was_seen():
    data = json.loads(run("launch", "infer", KERNELS / "vector_add.co", "--format", "json").stdout)
    assert (data["runs"], data["workgroup"]) == (True, [256, 1, 1])
    assert [buffer["role"] for buffer in data["buffers"][:3]] == ["in", "in", "out"]


def test_tritons_metadata_gives_waves_and_lds(tmp_path):
    shutil.copy(KERNELS / "softmax.co", tmp_path / "softmax.hsaco")
    beside = {"name": "softmax", "target": {"backend": "hip", "arch": "gfx942"}, "shared": 48, "num_warps": 2, "warp_size": 64}
    (tmp_path / "softmax.json").write_text(json.dumps(beside))
    text = run("launch", "infer", "softmax.hsaco").stdout
    assert "workgroup = [128] # Triton's metadata" in text
    assert "dynamic_lds_bytes = 48 # Triton's metadata" in text
    asked = run("launch", "infer", "softmax.hsaco", "--workgroup", "64", "--dynamic-lds", "16").stdout
    assert "workgroup = [64] # as asked" in asked
    assert "dynamic_lds_bytes = 16" in asked


@pytest.mark.parametrize("text", ["0", "1,2,3,4", "x", "64,64", "-1", "1,,1"])
def test_a_workgroup_that_is_none_is_refused(text):
    result = run("launch", "infer", KERNELS / "softmax.co", "--workgroup", text)
    assert result.exit_code == 2
    assert "E0208" in result.stderr


def test_a_workgroup_that_the_kernel_does_not_take_is_refused(tmp_path):
    result = run("launch", "infer", KERNELS / "reduce_sum.co", "--workgroup", "512", "-o", "l.toml")
    assert result.exit_code == 2
    assert "E0227" in result.stderr
    assert "takes at most 256" in result.stderr
    assert not (tmp_path / "l.toml").exists()


def test_check_shows_arguments_and_warns(tmp_path):
    launch = (LAUNCHES / "vector_add.toml").read_text().replace('role = "out"', 'fill = "zeros"')
    (tmp_path / "l.toml").write_text(launch)
    result = run("launch", "check", KERNELS / "vector_add.co", "l.toml", "--format", "concise")
    assert result.exit_code == 0
    assert "warning: 'out' has role in, and " in result.stdout
    data = json.loads(
        run("launch", "check", KERNELS / "vector_add.co", LAUNCHES / "vector_add.toml", "--format", "json").stdout
    )
    assert data[0]["warnings"] == []
    assert [argument["holds"] for argument in data[1]["arguments"]][3] == "1501"


def test_check_refuses_what_emulate_refuses(tmp_path):
    (tmp_path / "l.toml").write_text((LAUNCHES / "vector_add.toml").read_text().replace('"normal"', '"normall"'))
    result = run("launch", "check", KERNELS / "vector_add.co", "l.toml")
    assert result.exit_code == 2
    assert "error[E0225]: unknown fill 'normall'" in result.stderr
    assert "l.toml:" in result.stderr


@pytest.mark.parametrize("command", ["infer", "import", "check"])
def test_each_command_has_an_example_in_its_help(command):
    assert f"Example: asmevo launch {command} " in run("launch", command, "--help").output


@pytest.fixture
def capture(tmp_path):
    path = KERNELS / "vector_add.co"
    dispatch = load_launches(LAUNCHES / "vector_add.toml", recover(load_file(path)))[1]
    return write_capture(tmp_path / "capture", path.read_bytes(), dispatch)


def test_a_captured_dispatch_is_imported_and_emulates(capture):
    result = run("launch", "import", "capture", "-o", "l.toml")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    assert "strict: clean" in run("emulate", "capture/kernel.hsaco", "--launch", "l.toml").stdout
    data = json.loads(run("launch", "import", "capture", "-o", "l.toml", "--format", "json").stdout)
    assert [region["bytes"] for region in data["regions"]] == [6004] * 3
    assert data["links"] == data["wild_pointers"] == []
    assert run("launch", "import", "capture").stdout.startswith("# A captured dispatch of vector_add (gfx942)")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--follow", "here"), "--follow takes BASE or BASE:OFFSET"),
        (("--follow", "7f1200000000:x"), "--follow takes BASE or BASE:OFFSET"),
        (("--follow", "7f1200000004"), "no region begins at 0x7f1200000004"),
        (("--kernel", "other"), "other"),
        (("--object", "nothing.co"), "nothing.co"),
    ],
)
def test_what_import_refuses(capture, words, told):
    result = run("launch", "import", "capture", "-o", "l.toml", *words)
    assert result.exit_code == 2
    assert told in result.stderr


def test_import_without_a_capture_is_refused(tmp_path):
    result = run("launch", "import", "nothing", "-o", "l.toml")
    assert result.exit_code == 2
    assert "error[E0229]: no folder" in result.stderr
