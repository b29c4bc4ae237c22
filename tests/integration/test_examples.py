"""The shipped objects: what the manifest says of them, their launches, and the static checks that production kernels pass."""

import hashlib
import json

import pytest

from asmevo.diagnostics import Severity
from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from asmevo.verify.launches import load_launches
from asmevo.verify.static_hazards import check_hazards
from asmevo.verify.static_waits import check_waits
from tests.support import EXAMPLES, SHIPPED

MANIFEST = json.loads((EXAMPLES / "kernels" / "MANIFEST.json").read_text())


def kernel(name):
    return recover(load_file(EXAMPLES / "kernels" / f"{name}.co"))


def test_the_manifest_lists_what_is_shipped():
    assert sorted(MANIFEST) == SHIPPED
    for name, entry in MANIFEST.items():
        data = (EXAMPLES / "kernels" / f"{name}.co").read_bytes()
        assert (entry["bytes"], entry["sha256"]) == (len(data), hashlib.sha256(data).hexdigest())
        assert (EXAMPLES / "sources" / entry["source"]).is_file()


@pytest.mark.parametrize("name", SHIPPED)
def test_the_launch_file_fits(name):
    for dispatch in load_launches(EXAMPLES / "launches" / f"{name}.toml", kernel(name)):
        assert dispatch.dynamic_lds_bytes == MANIFEST[name]["dynamic_lds_bytes"]
        assert any(buffer.writable for buffer in dispatch.buffers)


@pytest.mark.parametrize("name", SHIPPED)
def test_compiled_kernels_miss_no_wait_and_no_wait_state(name):
    found = [*check_waits(kernel(name)), *check_hazards(kernel(name))]
    assert [f for f in found if f.severity is Severity.ERROR] == []
