"""Every step of a deployment is a place where it can be cut off: afterwards nothing is lost and both ways lead on."""

import json
import os
import shutil
from hashlib import sha256

import pytest

from asmevo.deploy import files
from asmevo.deploy.files import State, deploy, matching, rollback, status
from asmevo.deploy.manifest import read_manifest
from asmevo.deploy.replacement import from_evidence
from asmevo.diagnostics import DiagnosticError
from deployments import OBJECTS, changed


def contents(folder):
    """Relative path to bytes of every file outside the kept ones."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".asmevo" not in path.relative_to(folder).parts
    }


@pytest.fixture
def replacements(new_objects):
    return [from_evidence(path, path.read_bytes()) for path in new_objects]


def test_originals_are_found_by_hash_whatever_their_name(library, replacements):
    found = {str(path.relative_to(library)): item.original for path, item in matching(library, replacements)}
    assert found == {"a.co": replacements[0].original, "gfx942/fmha/c.co": replacements[1].original}


def test_a_link_is_no_original(library, replacements):
    (library / "link.co").symlink_to(library / "a.co")
    assert "link.co" not in {path.name for path, _ in matching(library, replacements)}


def test_files_are_exchanged_and_put_back(library, replacements):
    before = contents(library)
    (library / "a.co").chmod(0o600)
    manifest = deploy(library, replacements)
    assert manifest.state == "done"
    assert (library / "a.co").read_bytes() == changed(OBJECTS["softmax.co"])
    assert (library / "a.co").stat().st_mode & 0o777 == 0o600
    assert (library / "gfx942/b.co").read_bytes() == OBJECTS["layer_norm.co"]
    assert [(s.state, s.kept) for s in status(library)[1]] == [(State.DEPLOYED, True)] * 2
    rollback(library)
    assert contents(library) == before
    assert read_manifest(library) is None


def test_a_missing_original_is_refused_before_anything_changes(library, replacements):
    (library / "a.co").unlink()
    before = contents(library)
    with pytest.raises(DiagnosticError, match="E0902"):
        deploy(library, replacements)
    assert contents(library) == before


def test_a_file_changed_meanwhile_stops_rollback(library, replacements):
    deploy(library, replacements)
    (library / "a.co").write_bytes(b"\x7fELF somebody else's")
    assert status(library)[1][0].state is State.CHANGED
    before = contents(library)
    with pytest.raises(DiagnosticError, match="E0903"):
        rollback(library)
    assert contents(library) == before


def test_a_damaged_kept_original_is_told_and_never_put_back(library, replacements):
    deploy(library, replacements)
    kept = library / ".asmevo" / "objects" / replacements[0].original
    kept.write_bytes(b"\x7fELF damaged")
    assert status(library)[1][0].kept is False
    with pytest.raises(DiagnosticError, match="E0904"):
        rollback(library)
    assert (library / "a.co").read_bytes() == replacements[0].data


def test_a_second_deployment_adds_files_but_never_hides_an_original(library, replacements, tmp_path):
    deploy(library, replacements[:1])
    deploy(library, replacements[1:])
    assert [e.path for e in status(library)[0].entries] == ["a.co", "gfx942/fmha/c.co"]
    twice = files.Replacement(replacements[0].digest, replacements[0].data + b"\0", "k", "gfx942", "proved", ())
    with pytest.raises(DiagnosticError, match="E0905"):
        deploy(library, [twice])
    rollback(library)
    assert (library / "a.co").read_bytes() == OBJECTS["softmax.co"]


def test_one_deployment_at_a_time(library, replacements):
    with files._locked(library), pytest.raises(DiagnosticError, match="E0905"):
        deploy(library, replacements)


def manifest_with(path="a.co", before="0" * 64, **fields):
    entry = {"path": path, "before": before, "after": "1" * 64, "kernel": "k", "target": "t", "verdict": "proved", "basis": []}
    tree = {"version": 1, "asmevo": "0", "kind": "files", "state": "done", "created": "", "entries": [entry]}
    return json.dumps({**tree, **fields})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        manifest_with(version=2),
        manifest_with(state="half"),
        manifest_with(extra=1),
        manifest_with(path="../x"),
        manifest_with(path="a/../../x"),
        manifest_with(path="/etc/x"),
        manifest_with(path=""),
        manifest_with(path=".asmevo/manifest.json"),
        manifest_with(before="../a"),
        manifest_with(before="0" * 64 + "\n"),
    ],
)
def test_a_hostile_manifest_is_refused(library, text):
    (library / ".asmevo").mkdir()
    (library / ".asmevo" / "manifest.json").write_text(text)
    for action in (rollback, status):
        with pytest.raises(DiagnosticError, match="E0904"):
            action(library)


class CutOff(BaseException):
    """Stands for the end of the process: nothing after it runs but what the language itself guarantees."""


def cut_after(monkeypatch, count):
    """Lets `count` changes of the file system happen, then ends everything, as kill -9 would between two of them."""
    left = [count]

    def limited(function):
        def call(*arguments, **options):
            if left[0] == 0:
                raise CutOff
            left[0] -= 1
            return function(*arguments, **options)

        return call

    for module, name in ((os, "replace"), (os, "unlink"), (os, "chmod"), (shutil, "rmtree"), (os, "mkdir")):
        monkeypatch.setattr(module, name, limited(getattr(module, name)))


@pytest.mark.parametrize("count", range(24))
@pytest.mark.parametrize("then", ["again", "rollback"])
def test_a_deployment_cut_off_anywhere_can_go_on_or_back(library, replacements, monkeypatch, count, then):
    before = contents(library)
    with monkeypatch.context() as patched:
        cut_after(patched, count)
        try:
            deploy(library, replacements)
        except CutOff:
            pass
    allowed = {sha256(data).hexdigest() for data in before.values()} | {item.digest for item in replacements}
    assert {sha256(data).hexdigest() for data in contents(library).values() if data[:4] == b"\x7fELF"} <= allowed
    if then == "again" or read_manifest(library) is None:
        deploy(library, replacements)
        assert all(s.state is State.DEPLOYED and s.kept for s in status(library)[1])
    rollback(library)
    assert {name: data for name, data in contents(library).items() if ".asmevo-" not in name} == before


@pytest.mark.parametrize("count", range(12))
def test_a_rollback_cut_off_anywhere_can_go_on(library, replacements, monkeypatch, count):
    before = contents(library)
    deploy(library, replacements)
    with monkeypatch.context() as patched:
        cut_after(patched, count)
        try:
            rollback(library)
        except CutOff:
            pass
    if read_manifest(library) is not None:
        rollback(library)
    assert {name: data for name, data in contents(library).items() if ".asmevo-" not in name} == before
    deploy(library, replacements)
