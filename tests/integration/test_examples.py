"""The shipped objects: what the manifest says of them, their launches, and the static checks that production kernels pass."""

import hashlib
import json
from dataclasses import replace

import pytest

from asmevo.diagnostics import Severity
from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from asmevo.ir.instruction import WaitCounts
from asmevo.verify.launch.dispatches import load_launches
from asmevo.verify.static.hazards import check_hazards
from asmevo.verify.static.waits import check_waits, new_wait_findings
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


def edited(kernel, block, index, body):
    changed = replace(block, instructions=block.instructions[:index] + body + block.instructions[index + 1 :])
    return replace(kernel, blocks=tuple(changed if b is block else b for b in kernel.blocks))


def weaker_waits(kernel):
    for block in kernel.blocks:
        for index, instruction in enumerate(block.instructions):
            counts = instruction.operands[0] if instruction.operands else None
            if not isinstance(counts, WaitCounts):
                continue
            for field, most in (("vmcnt", 62), ("lgkmcnt", 14)):
                count = getattr(counts, field)
                if count is not None and count <= most:
                    weaker = instruction.edited(operands=(replace(counts, **{field: count + 1}),))
                    yield f"{block.label}[{index}] {field}({count})", edited(kernel, block, index, (weaker,))


@pytest.mark.parametrize("name", SHIPPED)
def test_every_wait_weakened_by_one_is_refused_statically(name):
    original = kernel(name)
    mutants = list(weaker_waits(original))
    assert mutants
    silent = [what for what, mutant in mutants if not new_wait_findings(original, mutant).findings]
    assert silent == []
