"""The wheel: everything that commands read is in it, and an installation of it works without the checkout."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from support import EXAMPLES

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert built.returncode == 0, built.stderr
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """A folder that the wheel was installed into. What it depends on comes from the environment of the tests."""
    folder = tmp_path_factory.mktemp("installed")
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--no-deps",
        "--no-index",
        "--quiet",
        "--target",
        str(folder),
        str(wheel),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def asmevo(installed, tmp_path):
    """Runs a shell line in which `asmevo` is the installed script, far from the checkout."""
    environment = {k: v for k, v in os.environ.items() if k not in ("VIRTUAL_ENV", "NO_COLOR", "FORCE_COLOR")}
    environment |= {"PYTHONPATH": str(installed), "PATH": f"{installed / 'bin'}:{os.environ['PATH']}"}

    def run(line):
        return subprocess.run(
            ["bash", "-c", line], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False
        )

    return run


def test_every_file_of_the_package_is_in_the_wheel(wheel):
    inside = set(zipfile.ZipFile(wheel).namelist())
    package = ROOT / "asmevo"
    files = {str(p.relative_to(ROOT)) for p in package.rglob("*") if p.is_file() and "__pycache__" not in p.parts}
    assert {Path(name).suffix for name in files} >= {".py", ".js", ".css", ".toml", ".typed"}
    assert files <= inside
    read_too = {f"asmevo/grammars/{p.name}" for p in (ROOT / "grammars").iterdir()}
    assert {*read_too, "asmevo/docs/diagnostics.md", "asmevo/docs/findings.md"} <= inside


def test_nothing_but_the_package_is_in_the_wheel(wheel):
    tops = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {top.split("-")[0] for top in tops} == {"asmevo"}
    assert wheel.stat().st_size < 4 << 20


def test_the_installation_is_what_runs(asmevo, installed):
    shown = asmevo(f"'{sys.executable}' -c 'import asmevo; print(asmevo.__file__)'").stdout
    assert Path(shown.strip()).is_relative_to(installed)


def test_commands_that_read_shipped_files(asmevo):
    from asmevo import __version__

    assert asmevo("asmevo --version").stdout == f"asmevo {__version__}\n"
    assert asmevo(f"'{sys.executable}' -m asmevo --version").stdout == f"asmevo {__version__}\n"
    assert asmevo("asmevo explain E0501").stdout.startswith("E0501: a wait is missing")
    for line, said in (
        (f"asmevo analyze {EXAMPLES / 'kernels' / 'vector_add.co'}", "vector_add"),
        (f"asmevo analyze {EXAMPLES / 'kernels' / 'vector_add.co'} --format html", "<style>"),
        (
            f"asmevo disasm {EXAMPLES / 'kernels' / 'vector_add.co'} -o k.s && asmevo asm k.s -o k.co && asmevo info k.co",
            "vector_add",
        ),
    ):
        done = asmevo(line)
        assert done.returncode == 0, done.stderr
        assert said in done.stdout


def test_completion_for_the_shell_and_by_it(asmevo):
    assert "complete -o" in asmevo("asmevo --show-completion; true").stdout
    words = asmevo("COMP_WORDS='asmevo opt' COMP_CWORD=1 _ASMEVO_COMPLETE=complete_bash asmevo").stdout.split()
    assert words == ["opt", "optimize"]
