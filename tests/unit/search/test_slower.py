from pathlib import Path

import pytest

from asmevo.frontend.codeobject import load_file
from asmevo.frontend.parser import parse_source
from asmevo.frontend.recover import recover
from asmevo.ir.printer import print_kernel
from asmevo.search.slower import SlowerIn
from asmevo.verify.launch.dispatches import load_launches

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


@pytest.fixture(scope="module")
def kernel():
    return recover(load_file(EXAMPLES / "kernels" / "vector_add.co"))


@pytest.fixture(scope="module")
def launches(kernel):
    return load_launches(EXAMPLES / "launches" / "vector_add.toml", kernel)


def test_a_kernel_is_not_slower_than_itself(kernel, launches):
    assert SlowerIn(kernel, launches).reason(kernel) is None


def test_a_kernel_with_sleep_is_slower(kernel, launches):
    slow = parse_source(print_kernel(kernel).replace("\ts_endpgm", "\ts_sleep 20\n\ts_endpgm", 1))
    assert slow != kernel
    said = SlowerIn(kernel, launches).reason(slow)
    assert said is not None
    assert said.startswith("slower by the model: ")
    assert SlowerIn(slow, launches).reason(kernel) is None


def test_a_launch_that_cannot_be_modelled_is_named_and_left_out(kernel, launches):
    text = print_kernel(kernel)
    head, body = text.split("\n\ts_", 1)
    endless = parse_source(f"{head}\nforever:\n\ts_branch forever\n\ts_{body}")
    found = SlowerIn(endless, launches[:1])
    assert len(found.left_out) == 1
    assert launches[0].name in found.left_out[0]
    assert found.reason(kernel) is None
    said = SlowerIn(kernel, launches[:1]).reason(endless)
    assert said is not None
    assert "cannot be modelled" in said
