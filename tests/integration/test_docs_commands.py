"""Every `asmevo` command that README and docs show is run, in a folder that has the files which the pages speak of.

What is not run is counted, with its reason, and must not grow unseen.
"""

import json
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

from asmevo.cli.main import app
from containers import BUNDLE_MAGIC, DATA, host_file
from shown_commands import commands, pattern
from shown_samples import write_samples
from support import EXAMPLES

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "examples" / "README.md", *(ROOT / "docs").rglob("*.md")])
SHOWN = {name: found for page in PAGES if (found := commands(name := str(page.relative_to(ROOT)), page.read_text("utf-8")))}
KERNEL, LAUNCH = EXAMPLES / "kernels" / "softmax.co", EXAMPLES / "launches" / "softmax.toml"
ORIGINALS = ("kernel.co", "k0.co", "old.co", "softmax.co", "kernel.hsaco", "softmax.hsaco")
LAUNCHES = ("launch.toml", "l.toml", "softmax.toml")
FEW, ENOUGH = ("--attempts", "6", "--jobs", "1", "--quiet"), ("--attempts", "24", "--jobs", "1", "--quiet")
"""A shown search is run with few attempts: what is shown is what a reader types, who has the time."""
SOURCE = """two:
  global_load_dword v1, v0, s[2:3]
  ds_read_b32 v2, v3
  s_waitcnt vmcnt(0)
  s_waitcnt lgkmcnt(0)
  v_add_f32_e32 v4, v1, v2
  s_endpgm
"""


def run(words):
    """Exit code and both outputs of a command, in this process: a new one for each would take a second of imports."""
    result = CliRunner().invoke(app, list(words))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout + result.stderr


@pytest.fixture(scope="module")
def stock(tmp_path_factory):
    """What the pages speak of, made once: originals, a verified new object with its evidence, containers, Triton's folders."""
    folder = tmp_path_factory.mktemp("stock")
    for name in ORIGINALS:
        shutil.copy(KERNEL, folder / name)
    for name in LAUNCHES:
        shutil.copy(LAUNCH, folder / name)
    search = ("optimize", str(folder / "k0.co"), "--launch", str(folder / "launch.toml"), "-o", str(folder / "best.co"))
    assert run((*search, *FEW))[0] == 0
    shutil.copy(folder / "best.co", folder / "new.co")
    fat = (DATA / "libfat.so").read_bytes()
    first, second = fat.index(BUNDLE_MAGIC), fat.rindex(BUNDLE_MAGIC)
    (folder / "libfoo.so").write_bytes(host_file([(".hip_fatbin", fat[first:second])]))
    (folder / "two.s").write_text(SOURCE)
    (folder / "asmevo.toml").write_text(
        'version = 1\ninput = "softmax.co"\nlaunch = "softmax.toml"\npasses = "list-schedule,waitcnt-relax,nop-trim"\n'
    )
    for name in ("vector_add.co", "softmax.co"):
        (folder / "folder").mkdir(exist_ok=True)
        shutil.copy(EXAMPLES / "kernels" / name, folder / "folder" / name)
    library = folder / "home" / "aiter" / "hsa" / "gfx942"
    library.mkdir(parents=True)
    shutil.copy(KERNEL, library)
    for kind in ("cache", "dump"):
        entry = folder / "home" / ".triton" / kind / "ABCDEF234567"
        entry.mkdir(parents=True)
        shutil.copy(KERNEL, entry / "softmax.hsaco")
        (entry / "softmax.json").write_text(json.dumps({"name": "softmax", "num_warps": 4, "shared": 16}))
        if kind == "cache":
            listed = {"child_paths": {"softmax.hsaco": str(entry / "softmax.hsaco")}}
            (entry / "__grp__softmax.json").write_text(json.dumps(listed))
    write_samples(folder)
    return folder


@pytest.fixture
def folder(stock, tmp_path, monkeypatch):
    """A folder of its own for a page, with the stock, the repository's examples, and a home."""
    path = tmp_path / "page"
    shutil.copytree(stock, path)
    shutil.copytree(EXAMPLES, path / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "tests" / "plugin", path / "plugin", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.chdir(path)
    return path


def as_typed(command, folder):
    """The command's words as a shell gives them, and with few attempts where it searches."""
    words = [str(folder / "home" / word[2:]) if word.startswith("~/") else word for word in command.words]
    if words[0] != "optimize" or "--attempts" in words:
        return words
    # The page on lineages names the second node.
    return [*words, *(ENOUGH if command.page == "docs/lineage.md" else FEW)]


# In the page's order: a file that one command writes is read by a later one.
@pytest.mark.parametrize("page", SHOWN)
def test_shown_commands_do_what_is_shown(page, folder):
    for command in SHOWN[page]:
        if command.needs:
            continue
        code, told = run(as_typed(command, folder))
        assert code == command.exits, f"{command}\nends with {code}:\n{told}"
        if command.output is not None:
            assert pattern(command.output).fullmatch(told), f"{command}\n{told}"


def test_the_readmes_python_runs(folder):
    (shown,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    (folder / "new.co").unlink()
    exec(compile(shown, "README.md", "exec"), {})
    assert (folder / "new.co").exists()


def test_what_is_not_run_has_one_of_the_known_reasons():
    reasons = Counter(command.needs for found in SHOWN.values() for command in found if command.needs)
    known = ("a GPU", "a language model", "a Ray cluster", "an agent", "a recorded session", "a client on standard input")
    others = {
        "production objects",
        "a pass that fails",
        "what stands for `...`",
        "a package that is installed first",
        "the reader's own kernel",
    }
    assert set(reasons) <= {*known, *others}, reasons
    assert sum(reasons.values()) < sum(len(found) for found in SHOWN.values()) / 5, reasons


def test_most_pages_that_show_commands_were_found():
    assert {"README.md", "docs/launches.md", "docs/deploy.md", "docs/tutorial.md"} <= SHOWN.keys()
