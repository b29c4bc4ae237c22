import sys

import pytest

from asmevo.diagnostics import DiagnosticError
from asmevo.passes.pipeline import parse_pipeline, pipeline_text
from asmevo.passes.registry import available_passes, find_pass, register_pass

PLUGIN = '''
from dataclasses import dataclass
from typing import ClassVar

from asmevo.passes.base import option


@dataclass(frozen=True, slots=True)
class Plugged:
    """Does nothing.

    Rewrite:  a --> a
    Legality: nothing is changed.
    Preserves: all.
    """

    name: ClassVar[str] = "{name}"
    depth: int = option(1, help="how far", ge=0)

    def run(self, kernel, ctx):
        return ctx.finish()
'''


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Installs a package with one pass as a wheel would: a module and its metadata on the path."""
    monkeypatch.syspath_prepend(str(tmp_path))
    available_passes.cache_clear()

    def make(entry, text, module="plugged_pass"):
        (tmp_path / f"{module}.py").write_text(text)
        info = tmp_path / "plugged-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugged\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[asmevo.passes]\n{entry} = {module}:Plugged\n")
        monkeypatch.delitem(sys.modules, module, raising=False)

    yield make
    sys.modules.pop("plugged_pass", None)
    available_passes.cache_clear()


def test_a_plugin_pass_is_a_pass_like_any_other(install):
    shipped = list(available_passes())
    install("plugged", PLUGIN.format(name="plugged"))
    available_passes.cache_clear()
    assert "nop-trim" in shipped
    assert list(available_passes()) == [*shipped, "plugged"]
    text = "nop-trim,plugged{depth=4}"
    assert pipeline_text(parse_pipeline(text)) == text


@pytest.mark.parametrize(("entry", "name"), [("nop-trim", "nop-trim"), ("nop-trim", "mine"), ("mine", "other")])
def test_a_plugin_may_not_take_a_name_that_is_not_its_own(install, entry, name):
    install(entry, PLUGIN.format(name=name))
    with pytest.raises(DiagnosticError) as caught:
        available_passes()
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "E0204"
    assert entry in diagnostic.message


@pytest.mark.parametrize(
    "text",
    [PLUGIN.format(name="plugged").replace("Legality", "Hope"), "Plugged = 3\n", "import no_such_module\n"],
    ids=["no contract", "no class", "does not load"],
)
def test_a_plugin_that_is_no_pass_is_told(install, text):
    install("plugged", text)
    with pytest.raises(DiagnosticError) as caught:
        available_passes()
    assert caught.value.diagnostics[0].code == "E0204"


def test_an_unknown_name_gets_the_nearest():
    with pytest.raises(DiagnosticError) as caught:
        find_pass("nop-trm")
    assert caught.value.diagnostics[0].code == "E0203"
    assert "'nop-trim'" in caught.value.diagnostics[0].help
    with pytest.raises(DiagnosticError) as caught:
        find_pass("zzz")
    assert "did you mean" not in caught.value.diagnostics[0].help


def test_a_class_without_run_is_refused():
    with pytest.raises(TypeError, match="run"):

        @register_pass
        class NoRun:
            """Rewrite: a. Legality: b. Preserves: c."""

            name = "no-run"
