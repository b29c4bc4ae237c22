"""The doctor on machines that lack things: what it finds, what it says is missing, and that it never fails itself."""

import importlib.util
import json
import os
import stat
import subprocess
import sys

import pytest

from asmevo.diagnostics import fail
from asmevo.frontend import disassembler
from asmevo.report.doctor import extras
from asmevo.report.doctor.check import Machine
from asmevo.report.doctor.device import device
from asmevo.report.doctor.needed import PACKAGES, needed
from asmevo.report.doctor.survey import is_healthy, lines, survey


@pytest.fixture
def machine(tmp_path):
    """A machine with nothing on it."""
    (tmp_path / "home").mkdir()
    return Machine(tmp_path, {"HOME": str(tmp_path / "home"), "SHELL": "/bin/bash", "PATH": str(tmp_path / "bin")})


def checks(machine):
    return {check.name: check for check in (*device(machine), *extras.extras(machine))}


def program(path, text="exit 0"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def node(machine, number, **values):
    folder = machine.root / "sys/class/kfd/kfd/topology/nodes" / str(number)
    folder.mkdir(parents=True)
    (folder / "properties").write_text("".join(f"{key} {value}\n" for key, value in values.items()))


def test_an_empty_machine_lacks_all_that_is_extra_and_is_told_how_to_mend_it(machine):
    found = checks(machine)
    missing = {
        "GPU driver",
        "GPU",
        "HIP runtime",
        "Triton cache",
        "rocprofv3",
        "kerncap",
        "LLVM tools",
        "browser",
        "shell completion",
    }
    assert {name for name, check in found.items() if name in missing and not check.works} == missing
    assert all(check.remedy for check in found.values() if not check.works)
    assert all(check.serves and not check.needed for check in found.values())


def test_this_machine_is_healthy_whatever_is_extra(machine):
    found = survey(machine)
    assert is_healthy(found)
    assert lines(found, concise=True) == []
    assert lines(found)[-1].startswith("everything that is needed works; of ")


def test_the_gpu_is_read_from_the_drivers_files(machine):
    node(machine, 0, cpu_cores_count=64, simd_count=0, gfx_target_version=0)
    node(machine, 1, simd_count=1216, gfx_target_version=90402)
    node(machine, 2, simd_count=416, gfx_target_version=90010)
    (machine.root / "dev").mkdir()
    (machine.root / "dev/kfd").touch()
    (machine.root / "sys/module/amdgpu").mkdir(parents=True)
    (machine.root / "sys/module/amdgpu/version").write_text("6.12.12\n")
    found = checks(machine)
    assert found["GPU"].state == "gfx942, gfx90a"
    assert found["GPU driver"].works
    assert found["GPU driver"].state.endswith("dev/kfd, amdgpu 6.12.12")


def test_a_gpu_of_another_kind_is_no_use(machine):
    node(machine, 0, simd_count=192, gfx_target_version=110000)
    found = checks(machine)["GPU"]
    assert not found.works
    assert found.state == "gfx1100, and none that AsmEvo knows"


@pytest.mark.parametrize("text", ["", "simd_count\n", "simd_count x\ngfx_target_version y\n", "\0" * 100_000, "a b c\n" * 9])
def test_properties_that_say_nothing(machine, text):
    node(machine, 0)
    (machine.root / "sys/class/kfd/kfd/topology/nodes/0/properties").write_text(text)
    assert checks(machine)["GPU"].state == "none that the driver shows"


def test_a_driver_that_is_not_for_this_user(machine, monkeypatch):
    (machine.root / "dev").mkdir()
    (machine.root / "dev/kfd").touch()
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: not str(path).endswith("kfd") and access(path, mode))
    found = checks(machine)["GPU driver"]
    assert (found.works, found.remedy) == (False, "sudo usermod -aG render,video $USER, log in anew")


@pytest.mark.parametrize("place", ["opt/rocm/lib", "elsewhere/lib", "named", "usr/lib64"])
def test_the_hip_runtime_is_found_where_rocm_says(machine, place):
    folder = machine.root / place
    folder.mkdir(parents=True)
    (folder / "libamdhip64.so.7").touch()
    more = {"elsewhere/lib": {"ROCM_PATH": str(machine.root / "elsewhere")}, "named": {"LD_LIBRARY_PATH": f":{folder}"}}
    there = Machine(machine.root, {**machine.environment, **more.get(place, {})})
    assert checks(there)["HIP runtime"].state == str(folder / "libamdhip64.so.7")


@pytest.mark.parametrize("variable", ["TRITON_CACHE_DIR", "TRITON_HOME", None])
def test_tritons_cache(machine, variable):
    home = machine.root / "home"
    folder = {"TRITON_CACHE_DIR": machine.root / "kept", "TRITON_HOME": machine.root / "th" / ".triton" / "cache"}.get(
        variable, home / ".triton" / "cache"
    )
    given = {"TRITON_CACHE_DIR": {variable: str(folder)}, "TRITON_HOME": {variable: str(machine.root / "th")}}.get(variable, {})
    there = Machine(machine.root, {**machine.environment, **given})
    assert checks(there)["Triton cache"].state == f"no {folder}"
    (folder / "KEY").mkdir(parents=True)
    assert checks(there)["Triton cache"].state == f"no object for AMD GPUs in {folder}"
    (folder / "KEY" / "k.hsaco").touch()
    assert checks(there)["Triton cache"].state == f"1 object(s) for AMD GPUs in {folder}"


def test_tools_are_found_in_rocm_and_on_the_path(machine):
    program(machine.root / "opt/rocm/bin/rocprofv3")
    program(machine.root / "bin/kerncap")
    program(machine.root / "bin/chromium")
    found = checks(machine)
    assert found["rocprofv3"].state == str(machine.root / "opt/rocm/bin/rocprofv3")
    assert (found["kerncap"].works, found["browser"].works) == (True, True)


@pytest.mark.parametrize(("told", "works"), [("amdgcn - AMD GCN GPUs", True), ("x86-64 - 64-bit X86", False)])
def test_llvms_tools_must_know_the_gpu(machine, told, works):
    for name in ("llvm-mc-19", "ld.lld-19"):
        program(machine.root / "bin" / name)
    assert checks(machine)["LLVM tools"].state.startswith("llvm-objdump not found")
    program(machine.root / "bin" / "llvm-objdump-19", f"echo '{told}'")
    found = checks(machine)["LLVM tools"]
    assert found.works is works
    assert works or found.state.endswith("built without AMDGPU")


def test_a_tool_that_does_not_answer_is_none(machine, monkeypatch):
    monkeypatch.setattr(extras, "_TIMEOUT_S", 0.2)
    for name in ("llvm-mc", "ld.lld"):
        program(machine.root / "bin" / name)
    program(machine.root / "bin" / "llvm-objdump", "exec sleep 30")
    assert not checks(machine)["LLVM tools"].works


@pytest.mark.parametrize(("shell", "place"), [("bash", ".bash_completions/asmevo.sh"), ("zsh", ".zfunc/_asmevo")])
def test_completion(machine, shell, place):
    there = Machine(machine.root, {**machine.environment, "SHELL": f"/usr/bin/{shell}"})
    assert checks(there)["shell completion"].remedy == "asmevo --install-completion"
    path = machine.root / "home" / place
    path.parent.mkdir()
    path.touch()
    assert checks(there)["shell completion"].state == f"{shell}: {path}"


def test_a_shell_without_completion(machine):
    there = Machine(machine.root, {**machine.environment, "SHELL": ""})
    assert checks(there)["shell completion"].remedy == "use one of bash, zsh, fish"


def test_a_cache_that_cannot_be_written(machine, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(machine.root / "file" / "below"))
    (machine.root / "file").touch()
    found = checks(machine)["emulator cache"]
    assert (found.works, found.remedy) == (False, "set XDG_CACHE_HOME to a folder that can")


@pytest.mark.parametrize(("module", "package"), [(module, package) for module, package, _ in PACKAGES])
def test_a_package_that_is_missing(monkeypatch, module, package):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name == module else find(name, *more))
    found = {check.name: check for check in needed()}[module]
    assert (found.works, found.remedy) == (False, f"pip install {package}")


def test_a_library_that_reads_nothing_back(monkeypatch):
    monkeypatch.setattr(disassembler, "disassemble", lambda *_: [])
    found = {check.name: check for check in needed()}
    assert found["assembler for gfx950"].state == "does not read its own bytes"


def test_a_library_that_knows_one_chip_less(monkeypatch):
    from asmevo.backend import assembler

    real = assembler.assemble
    refuse = lambda *_: fail("E0602", "unknown target", help="take another")  # noqa: E731 # stands where a call is expected
    monkeypatch.setattr(assembler, "assemble", lambda text, target: refuse() if target == "gfx950" else real(text, target))
    found = {check.name: check for check in needed()}
    assert found["assembler for gfx942"].works
    assert (found["assembler for gfx950"].state, found["assembler for gfx950"].remedy) == ("unknown target", "take another")


# The others are what the command line itself stands on.
@pytest.mark.parametrize("module", ["numpy", "llvmlite", "z3", "lark"])
def test_the_command_runs_without_a_package(module):
    text = f"import sys; sys.modules[{module!r}] = None; sys.argv = ['asmevo', 'doctor', '--format', 'json']\n"
    text += "from asmevo.cli.main import main; main()"
    result = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 2, result.stderr
    found = {check["name"]: check for check in json.loads(result.stdout)}
    assert found[module]["works"] is False
    assert found["LLVM"]["works"] is True
