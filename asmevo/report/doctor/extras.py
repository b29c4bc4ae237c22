"""What some commands are for or get faster by: caches, Triton, profilers, models, LLVM's tools, a browser, completion.

Owns where each is looked for.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from asmevo.report.doctor.check import Check, Machine
from asmevo.report.doctor.needed import package_check

_PACKAGES = (
    ("openai", "openai", "proposals by a language model", "'asmevo[llm]'"),
    ("mcp", "mcp", "tools for other agents (asmevo mcp)", "'asmevo[mcp]'"),
    ("ray", "ray", "searching on several machines", "'asmevo[ray]'"),
    ("triton", "triton", "kernels of one's own in Triton; AsmEvo itself reads its cache without it", "triton"),
)
_TOOLS = ("llvm-mc", "llvm-objdump", "ld.lld")
_VERSIONS = ("", "-22", "-21", "-20", "-19")
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "firefox")
_COMPLETIONS = {
    "bash": ".bash_completions/asmevo.sh",
    "zsh": ".zfunc/_asmevo",
    "fish": ".config/fish/completions/asmevo.fish",
}
"""What `--install-completion` writes, by shell, below the home folder."""
_MANY = 10_000
_TIMEOUT_S = 10


def extras(machine: Machine) -> Iterator[Check]:
    """Yield the checks of what is good to have."""
    yield _handlers()
    for module, package, purpose, wanted in _PACKAGES:
        yield package_check(module, package, purpose, wanted, needed=False)
    yield _triton_cache(machine)
    yield _program(
        machine, "rocprofv3", ("rocprofv3",), "profiles to analyse (docs/captures.md)", "install ROCm's rocprofiler-sdk"
    )
    yield _program(
        machine, "kerncap", ("kerncap",), "captured dispatches (docs/captures.md)", "install kerncap of ROCm's IntelliKit"
    )
    yield _llvm_tools(machine)
    yield _program(machine, "browser", _BROWSERS, "looking at reports", "open the .html on another machine")
    yield _completion(machine)


def _handlers() -> Check:
    """The place of compiled handlers, which is made when it is first needed."""
    name, serves = "emulator cache", "a quick start: without it every process compiles anew"
    try:
        from asmevo.backend.emulator.cache import cache_directory
    except ImportError as error:
        # A package that the emulator needs is missing, which has a check of its own.
        return Check(name, False, f"not known without {error.name}", f"pip install {error.name}", False, serves)
    folder = cache_directory()
    there = folder
    while not there.exists() and there != there.parent:
        there = there.parent
    if there.is_dir() and os.access(there, os.W_OK | os.X_OK):
        return Check(name, True, str(folder), needed=False, serves=serves)
    return Check(name, False, f"{there} cannot be written", "set XDG_CACHE_HOME to a folder that can", False, serves)


def _triton_cache(machine: Machine) -> Check:
    """Source: Triton, `triton/knobs.py`: TRITON_CACHE_DIR, else .triton/cache below TRITON_HOME or the home folder."""
    name, serves = "Triton cache", "optimising kernels that Triton compiled, and deploying them"
    given = machine.environment.get("TRITON_CACHE_DIR")
    folder = Path(given) if given else Path(machine.environment.get("TRITON_HOME") or machine.home) / ".triton" / "cache"
    count = sum(1 for _ in islice(folder.glob("*/*.hsaco"), _MANY))
    if count:
        shown = f"{count:,}" + (" and more" if count == _MANY else "")
        return Check(name, True, f"{shown} object(s) for AMD GPUs in {folder}", needed=False, serves=serves)
    state = f"no object for AMD GPUs in {folder}" if folder.is_dir() else f"no {folder}"
    return Check(name, False, state, "run the Triton program once, or set TRITON_CACHE_DIR", False, serves)


def _program(machine: Machine, name: str, programs: tuple[str, ...], serves: str, remedy: str) -> Check:
    found = machine.tool(*programs)
    if found is None:
        return Check(name, False, f"not found ({serves})", remedy, False, serves)
    return Check(name, True, str(found), needed=False, serves=serves)


def _llvm_tools(machine: Machine) -> Check:
    """The tools need not be one release, but must know the chips; what they say of it is asked of each."""
    name, serves = "LLVM tools", "comparisons with LLVM's own tools, which no command makes"
    found = {tool: machine.tool(*(tool + version for version in _VERSIONS)) for tool in _TOOLS}
    missing = [tool for tool, path in found.items() if path is None]
    if missing:
        state = f"{', '.join(missing)} not found ({serves})"
        return Check(name, False, state, "apt install llvm-19 lld-19, or set ROCM_PATH", False, serves)
    objdump = found["llvm-objdump"]
    assert objdump is not None
    if not _knows_amdgpu(objdump):
        return Check(name, False, f"{objdump} was built without AMDGPU", "set ROCM_PATH to a ROCm install", False, serves)
    return Check(name, True, f"{objdump.parent} and {', '.join(sorted({str(p.name) for p in found.values() if p}))}",
                 needed=False, serves=serves)  # fmt: skip


def _knows_amdgpu(objdump: Path) -> bool:
    try:
        told = subprocess.run([objdump, "--version"], capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        # A tool that does not start or does not answer is no tool.
        return False
    return "amdgcn" in told.stdout


def _completion(machine: Machine) -> Check:
    name, serves = "shell completion", "completing commands and options with the tab key"
    shell = Path(machine.environment.get("SHELL", "")).name
    place = _COMPLETIONS.get(shell)
    if place is None:
        return Check(name, False, f"not known for the shell '{shell}'", f"use one of {', '.join(_COMPLETIONS)}", False, serves)
    path = machine.home / place
    if path.is_file():
        return Check(name, True, f"{shell}: {path}", needed=False, serves=serves)
    return Check(name, False, f"not installed for {shell}", "asmevo --install-completion", False, serves)
