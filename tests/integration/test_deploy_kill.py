"""A process that deploys and rolls back again and again is killed at any moment: nothing is lost, and both ways lead on."""

import random
import subprocess
import sys
import time
from hashlib import sha256

import pytest

from asmevo.deploy.files import State, deploy, rollback, status
from asmevo.deploy.manifest import read_manifest
from asmevo.deploy.replacement import from_evidence
from deployments import OBJECTS, changed, evidence_of

KILLS = 8
WORK = """
import sys
from pathlib import Path
from asmevo.deploy.files import deploy, rollback
from asmevo.deploy.replacement import from_evidence
folder, *new = map(Path, sys.argv[1:])
items = [from_evidence(path, path.read_bytes()) for path in new]
print("ready", flush=True)
while True:
    deploy(folder, items)
    rollback(folder)
"""


@pytest.mark.parametrize("seed", range(KILLS))
def test_kill_at_any_moment(tmp_path, seed):
    library = tmp_path / "library"
    library.mkdir()
    new = []
    for name, data in OBJECTS.items():
        (library / name).write_bytes(data)
        path = tmp_path / name
        path.write_bytes(changed(data))
        path.with_name(name + ".evidence.json").write_text(evidence_of(data, path.read_bytes()))
        new.append(path)
    command = [sys.executable, "-c", WORK, str(library), *map(str, new)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        time.sleep(random.Random(seed).uniform(0.0, 0.15))
        process.kill()
    known = {sha256(data).hexdigest() for old in OBJECTS.values() for data in (old, changed(old))}
    assert {sha256((library / name).read_bytes()).hexdigest() for name in OBJECTS} <= known
    if read_manifest(library) is None or seed % 2:
        deploy(library, [from_evidence(path, path.read_bytes()) for path in new])
        assert all(s.state is State.DEPLOYED and s.kept for s in status(library)[1])
    rollback(library)
    assert all((library / name).read_bytes() == data for name, data in OBJECTS.items())
