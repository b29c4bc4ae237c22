"""A pass in a package of its own: installed beside AsmEvo, it is listed, explained, run and verified like the others."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = """k:
  global_load_dword v1, v0, s[2:3]
  ds_read_b32 v2, v3
  s_waitcnt vmcnt(0)
  s_waitcnt lgkmcnt(0)
  v_add_f32_e32 v4, v1, v2
  s_nop 0
  s_waitcnt vmcnt(0)
  v_add_f32_e32 v4, v1, v2
  s_endpgm
"""


@pytest.fixture(scope="module")
def asmevo(tmp_path_factory):
    """The command line with the plugin installed in a folder of its own."""
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("plugin")
    site = folder / "site"
    install = ["install", "-q", "--no-deps", "--no-index", "--no-build-isolation", "--target", str(site)]
    subprocess.run([sys.executable, "-m", "pip", *install, str(ROOT / "tests" / "plugin")], check=True, cwd=folder)
    source = folder / "kernel.s"
    source.write_text(SOURCE)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), str(ROOT)])}

    def run(*arguments):
        command = [sys.executable, "-m", "asmevo", *(a.replace("SOURCE", str(source)) for a in arguments)]
        return subprocess.run(command, check=False, capture_output=True, text=True, env=environment)

    return run


def test_it_runs_and_is_verified(asmevo):
    done = asmevo("opt", "SOURCE", "--passes", "wait-merge", "--verify", "smt", "--stats")
    assert done.returncode == 0, done.stderr
    assert "wait-merge: {'waits merged': 1}" in done.stderr
    assert done.stdout.count("s_waitcnt") == 2
    assert "s_waitcnt vmcnt(0) lgkmcnt(0)" in done.stdout


def test_its_options_are_checked_and_its_name_is_known(asmevo):
    kept = asmevo("opt", "SOURCE", "--passes", "wait-merge{most=0}", "--stats")
    assert "wait-merge: {}" in kept.stderr
    assert "E0206" in asmevo("opt", "SOURCE", "--passes", "wait-merge{most=-1}").stderr
    assert "did you mean 'wait-merge'" in asmevo("opt", "SOURCE", "--passes", "wait-merg").stderr


def test_it_is_listed_and_explained(asmevo):
    listed = asmevo("passes").stdout
    assert "wait-merge" in listed
    assert "most waits that are merged in a block" in listed
    assert "Legality:" in asmevo("explain", "wait-merge").stdout


def test_its_proposer_is_asked(asmevo, tmp_path):
    examples = ROOT / "examples"
    words = [str(examples / "kernels" / "softmax.co"), "--launch", str(examples / "launches" / "softmax.toml")]
    done = asmevo("optimize", *words, "--attempts", "40", "--jobs", "1", "--format", "json")
    assert done.returncode in (0, 1), done.stderr
    attempts = json.loads(done.stdout)["attempts"]
    swaps = [attempt for attempt in attempts if attempt["proposer"] == "swap-neighbours"]
    assert swaps
    assert all(swap["status"] != "proposer-failed" for swap in swaps)
