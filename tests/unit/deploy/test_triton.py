import json
import os
import subprocess
import sys

import pytest

from asmevo.deploy.files import status
from asmevo.deploy.replacement import from_evidence
from asmevo.deploy.triton import Kind, write_folder
from asmevo.diagnostics import DiagnosticError
from deployments import OBJECTS, changed, evidence_of

KEY = "ABCDEF234567"


@pytest.fixture
def cache(tmp_path):
    """A folder as Triton's cache is: one kernel with its list, and another one."""
    for key, name in ((KEY, "softmax"), ("OTHER", "histogram")):
        folder = tmp_path / "cache" / key
        folder.mkdir(parents=True)
        (folder / f"{name}.hsaco").write_bytes(OBJECTS[f"{name}.co"])
        (folder / f"{name}.ttir").write_text("module {}")
        (folder / f"{name}.json").write_text(json.dumps({"name": name, "target": {"backend": "hip"}}))
        files = {f.name: str(f) for f in folder.iterdir()}
        (folder / f"__grp__{name}.json").write_text(json.dumps({"child_paths": files}))
    return tmp_path / "cache"


@pytest.fixture
def dump(cache):
    for listing in cache.rglob("__grp__*"):
        listing.unlink()
    return cache


@pytest.fixture
def softmax(tmp_path):
    path = tmp_path / "new.co"
    path.write_bytes(changed(OBJECTS["softmax.co"]))
    (tmp_path / "new.co.evidence.json").write_text(evidence_of(OBJECTS["softmax.co"], path.read_bytes()))
    return from_evidence(path, path.read_bytes())


def test_a_cache_gives_a_cache_with_paths_of_its_own(cache, softmax, tmp_path):
    out = tmp_path / "out"
    written = write_folder(cache, out, [softmax])
    assert written.kind is Kind.CACHE
    assert written.kind.variables(out) == {"TRITON_CACHE_DIR": str(out)}
    assert sorted(p.name for p in out.iterdir()) == [".asmevo", KEY]
    assert (out / KEY / "softmax.hsaco").read_bytes() == softmax.data
    listed = json.loads((out / KEY / "__grp__softmax.json").read_text())["child_paths"]
    assert {name: path for name, path in listed.items()} == {
        name: str(out / KEY / name) for name in ("softmax.hsaco", "softmax.ttir", "softmax.json")
    }
    assert all(os.path.exists(path) for path in listed.values())
    assert status(out)[0].kind == "triton"
    assert (cache / KEY / "softmax.hsaco").read_bytes() == OBJECTS["softmax.co"]


def test_a_dump_gives_overrides(dump, softmax, tmp_path):
    out = tmp_path / "out"
    written = write_folder(dump, out, [softmax])
    assert written.kind is Kind.OVERRIDE
    assert sorted(str(p.relative_to(out)) for p in out.rglob("*.*") if ".asmevo" not in p.parts) == [f"{KEY}/softmax.hsaco"]


def test_what_cannot_be_a_folder_of_tritons_is_refused(cache, softmax, tmp_path):
    with pytest.raises(DiagnosticError, match="E0108"):
        write_folder(cache, cache, [softmax])
    with pytest.raises(DiagnosticError, match="E0906"):
        write_folder(tmp_path, tmp_path / "out", [softmax])
    listing = cache / KEY / "__grp__softmax.json"
    for text in ("", "[]", '{"child_paths": {"../../x": "y"}}', '{"child_paths": {"not there": "y"}}'):
        listing.write_text(text)
        with pytest.raises(DiagnosticError, match="E0906"):
            write_folder(cache, tmp_path / "out", [softmax])
        assert not (tmp_path / "out").exists()
        assert not list(tmp_path.glob(".asmevo-*"))


LOOKUP = """
import os, sys
from triton.runtime.cache import get_cache_manager, get_override_manager
key, name, override = sys.argv[1], sys.argv[2], sys.argv[3] == "override"
manager = get_override_manager(key) if override else get_cache_manager(key)
path = manager.get_file(f"{name}.hsaco") if override else manager.get_group(f"{name}.json")[f"{name}.hsaco"]
print(path)
"""


@pytest.mark.parametrize("kind", list(Kind))
def test_tritons_own_lookup_finds_the_new_object(cache, softmax, tmp_path, kind):
    """Triton's package is large and not a dependency of the tests: TRITON_PYTHON names an interpreter that has it."""
    python = os.environ.get("ASMEVO_TRITON_PYTHON", sys.executable)
    have = subprocess.run([python, "-c", "import triton"], capture_output=True, check=False)
    if have.returncode:
        pytest.skip("Triton is not installed; set ASMEVO_TRITON_PYTHON to an interpreter that has it")
    # Triton's managers are asked by the hash in hexadecimal, and name folders by it in base 32.
    made = "import sys; from triton.runtime.cache import _base32; print(_base32(sys.argv[1]))"
    digest = "00ff" * 16
    key = subprocess.run([python, "-c", made, digest], capture_output=True, text=True, check=True).stdout.strip()
    (cache / KEY).rename(cache / key)
    if kind is Kind.OVERRIDE:
        for listing in cache.rglob("__grp__*"):
            listing.unlink()
    else:
        listing = cache / key / "__grp__softmax.json"
        listing.write_text(listing.read_text().replace(KEY, key))
    out = tmp_path / "out"
    written = write_folder(cache, out, [softmax])
    assert written.kind is kind
    environment = {**os.environ, **kind.variables(out)}
    command = [python, "-c", LOOKUP, digest, "softmax", kind.value]
    found = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout.strip()
    assert found == str(out / key / "softmax.hsaco")
