import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from support import EXAMPLES

SOFTMAX = EXAMPLES / "kernels" / "softmax.co"
LAUNCH = EXAMPLES / "launches" / "softmax.toml"


def asmevo(*arguments, **options):
    command = [sys.executable, "-m", "asmevo", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, **options)


def test_help_names_every_command():
    result = asmevo("--help")
    assert result.returncode == 0
    for command in (
        "info",
        "disasm",
        "roundtrip",
        "analyze",
        "opt",
        "optimize",
        "verify",
        "emulate",
        "launch",
        "passes",
        "explain",
        "config",
    ):
        assert command in result.stdout


def test_info_as_json():
    result = asmevo("info", SOFTMAX, "--format", "json")
    assert result.returncode == 0
    data = json.loads(result.stdout)
    assert data["target"] == "gfx942"
    assert data["kernels"][0]["instructions"] > 50


def test_input_from_standard_input():
    result = subprocess.run(
        [sys.executable, "-m", "asmevo", "info", "-"], input=SOFTMAX.read_bytes(), capture_output=True, timeout=60, check=False
    )
    assert result.returncode == 0


def test_roundtrip_of_the_folder():
    result = asmevo("roundtrip", EXAMPLES / "kernels")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "byte-identical" in result.stdout


def test_opt_writes_a_verified_object_that_verifies_again(tmp_path):
    out = tmp_path / "out.co"
    result = asmevo("opt", SOFTMAX, "--passes", "list-schedule,waitcnt-relax,nop-trim", "-o", out)
    assert result.returncode == 0, result.stdout + result.stderr
    again = asmevo("verify", SOFTMAX, out, "--launch", LAUNCH)
    assert again.returncode == 0, again.stdout + again.stderr


def test_opt_from_a_settings_file(tmp_path):
    shutil.copy(SOFTMAX, tmp_path / "softmax.co")
    settings = tmp_path / "asmevo.toml"
    settings.write_text('version = 1\ninput = "softmax.co"\npasses = "waitcnt-relax,nop-trim"\n')
    result = asmevo("opt", "--config", settings, "-o", tmp_path / "out.co")
    assert result.returncode == 0, result.stdout + result.stderr
    assert (tmp_path / "out.co").exists()


def test_misspelt_pass_in_a_settings_file_has_a_caret(tmp_path):
    settings = tmp_path / "asmevo.toml"
    settings.write_text(f'version = 1\ninput = "{SOFTMAX}"\npasses = "nop-trim,waitcnt-relx"\n')
    result = asmevo("opt", "--config", settings)
    assert result.returncode == 2
    assert "asmevo.toml:3:20" in result.stderr
    assert "^^^^^^^^^^^^" in result.stderr


def test_emulate_is_clean_and_saves_buffers(tmp_path):
    result = asmevo("emulate", SOFTMAX, "--launch", LAUNCH, "--save", tmp_path / "out.npz", "--format", "json")
    assert result.returncode == 0, result.stdout + result.stderr
    assert json.loads(result.stdout)[0]["faults"] == []
    assert (tmp_path / "out.npz").exists()


def test_emulate_reports_several_faults_and_names_both_sides(tmp_path):
    original, launch = EXAMPLES / "kernels" / "reduce_sum.co", EXAMPLES / "launches" / "reduce_sum.toml"
    text, broken = tmp_path / "broken.s", tmp_path / "broken.co"
    assert asmevo("disasm", original, "-o", text).returncode == 0
    text.write_text(text.read_text().replace("s_waitcnt vmcnt(0)", "s_nop 0"))
    assert asmevo("asm", text, "--like", original, "-o", broken).returncode == 0
    result = asmevo("emulate", broken, "--launch", launch, "--max-faults", 3, "--format", "json")
    assert result.returncode == 1
    faults = json.loads(result.stdout)[0]["faults"]
    assert [f["kind"] for f in faults] == ["pending-read"] * 3
    assert {f["kernel"] for f in faults} == {"reduce_sum"}
    assert all(f["register"] == "v1" and f["cause_offset"] < f["offset"] for f in faults)
    shown = asmevo("emulate", broken, "--launch", launch).stdout
    assert "pending-read in reduce_sum at +0x" in shown
    assert "work-group (" in shown
    assert "before global_load_dword at +0x" in shown


def test_verify_of_identical_files_says_so():
    result = asmevo("verify", SOFTMAX, SOFTMAX, "--format", "json")
    assert result.returncode == 0
    assert json.loads(result.stdout)["outcome"] == "identical"


def test_verify_of_another_kernel_is_bad_input():
    result = asmevo("verify", SOFTMAX, EXAMPLES / "kernels" / "vector_add.co")
    assert result.returncode == 2
    assert "E0505" in result.stderr


def test_optimize_writes_object_and_evidence(tmp_path):
    out = tmp_path / "best.co"
    result = asmevo("optimize", SOFTMAX, "--launch", LAUNCH, "-o", out, "--attempts", 30, "--budget", 60, "--format", "json")
    report = json.loads(result.stdout)
    assert report["cycles"]["kind"] == "modelled"
    assert result.returncode == (0 if report["steps"] else 1)
    assert out.exists() == bool(report["steps"])
    if report["steps"]:
        assert asmevo("verify", SOFTMAX, out, "--launch", LAUNCH).returncode == 0


DAMAGES = {
    "truncated": lambda data: data[: len(data) // 2],
    "empty": lambda data: b"",
    "not-elf": lambda data: b"MZ" + data[2:],
    "relocatable": lambda data: data[:16] + b"\x01\x00" + data[18:],
    "wrong-machine": lambda data: data[:18] + b"\x3e\x00" + data[20:],
    "no-note": lambda data: data.replace(b"AMDGPU\0\0", b"AMDXXX\0\0"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_object_is_a_diagnostic_and_writes_nothing(tmp_path, damage):
    bad = tmp_path / "bad.co"
    bad.write_bytes(DAMAGES[damage](SOFTMAX.read_bytes()))
    out = tmp_path / "out.co"
    for command in (("opt", bad, "--passes", "nop-trim", "-o", out), ("optimize", bad, "--launch", LAUNCH, "-o", out)):
        result = asmevo(*command)
        assert result.returncode == 2, result.stdout + result.stderr
        assert "error[E01" in result.stderr
        assert "Traceback" not in result.stderr
        assert not out.exists()


def test_a_place_that_cannot_be_written_is_told_before_the_search(tmp_path):
    (tmp_path / "a.co.evidence.json").mkdir()
    for out in (tmp_path / "missing" / "a.co", tmp_path, tmp_path / "a.co"):
        result = asmevo("optimize", SOFTMAX, "--launch", LAUNCH, "--budget", "1000", "-o", out)
        assert result.returncode == 2
        assert "E0108" in result.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["a.co.evidence.json"]


def test_ctrl_c_keeps_what_was_accepted(tmp_path):
    words = ["optimize", str(SOFTMAX), "--launch", str(LAUNCH), "--budget", "3000", "--attempts", "100000"]
    words += ["--lineage", str(tmp_path / "runs"), "-o", str(tmp_path / "best.co"), "--jobs", "2"]
    command = [sys.executable, "-m", "asmevo", *words]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as running:
        deadline = time.monotonic() + 240
        while time.monotonic() < deadline and not list(tmp_path.glob("runs/artifacts/??/*"))[2:]:
            time.sleep(0.2)
        os.killpg(running.pid, signal.SIGINT)
        out, err = running.communicate(timeout=120)
    assert running.returncode == 0, err
    assert "(interrupted)" in out
    assert "Traceback" not in err, err
    assert (tmp_path / "best.co").exists()


def test_a_huge_grid_is_refused_at_once(tmp_path):
    launch = tmp_path / "huge.toml"
    launch.write_text(LAUNCH.read_text().replace("grid = [", "grid = [2147483647] #", 1))
    result = asmevo("emulate", SOFTMAX, "--launch", launch)
    assert result.returncode == 2
    assert "E0224" in result.stderr
