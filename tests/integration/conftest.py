import pytest

from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from asmevo.verify.launch.dispatches import load_launches
from support import EXAMPLES, SHIPPED


@pytest.fixture(scope="session")
def shipped():
    """Name to (path, code object, kernel, dispatches) of each shipped kernel."""
    found = {}
    for name in SHIPPED:
        path = EXAMPLES / "kernels" / f"{name}.co"
        code_object = load_file(path)
        kernel = recover(code_object)
        found[name] = (path, code_object, kernel, load_launches(EXAMPLES / "launches" / f"{name}.toml", kernel))
    return found


def pytest_generate_tests(metafunc):
    if "shipped_name" in metafunc.fixturenames:
        metafunc.parametrize("shipped_name", SHIPPED)
