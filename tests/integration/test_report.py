"""A real search of a shipped kernel, told as text, JSON and a page; the pictures of the docs are made here too."""

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from asmevo.cli.main import app
from browser import Browser, find_browser
from support import EXAMPLES

KERNEL = EXAMPLES / "kernels" / "softmax.co"
LAUNCH = EXAMPLES / "launches" / "softmax.toml"


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture(scope="module")
def lineage(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report") / "lineage"
    words = ("optimize", KERNEL, "--launch", LAUNCH, "--lineage", folder, "--attempts", "24", "--budget-s", "600", "-q")
    result = run(*words)
    assert result.exit_code == 0, result.stderr
    return folder


def test_text_and_json_tell_the_same(lineage):
    data = json.loads(run("report", lineage, "--format", "json").stdout)
    assert data["attempts"] == sum(data["statuses"].values())
    assert data["modelled_cycles"]["after"] == min(node["modelled_cycles"]["after"] for node in data["nodes"])
    assert data["speedup_modelled"] > 1.0
    assert all(node["stall_shares"]["before"] for node in data["nodes"])
    text = run("report", lineage, "--text", "--edits").stdout
    assert f"{data['attempts']} attempts" in text
    assert all(f"node {node['node']} from" in text for node in data["nodes"])
    assert "% of the chip's peak" in text


def test_the_page_is_written(lineage, tmp_path):
    path = tmp_path / "report.html"
    result = run("report", lineage, "-o", path)
    assert (result.exit_code, result.stdout) == (0, "")
    assert path.read_text().startswith("<!doctype html>")
    assert 50_000 < path.stat().st_size < 1_000_000


@pytest.mark.parametrize(
    ("words", "code"), [(("--run", "99"), "E0804"), (("--edits",), "E0208"), (("-o", "/nowhere/at/all"), "E0108")]
)
def test_bad_uses_are_refused(lineage, words, code):
    result = run("report", lineage, *words)
    assert result.exit_code == 2
    assert f"error[{code}]" in result.stderr


def test_the_pictures_of_the_docs(lineage, tmp_path):
    """Written where ASMEVO_PICTURES says; else only that they can be made."""
    browser = find_browser()
    if browser is None:
        pytest.skip("no Chromium found; install it, or name one in ASMEVO_BROWSER")
    folder = Path(os.environ.get("ASMEVO_PICTURES", tmp_path))
    report, analysis = tmp_path / "report.html", tmp_path / "analyze.html"
    assert run("report", lineage, "-o", report).exit_code == 0
    attention = EXAMPLES / "kernels" / "attention_fwd.co"
    assert run("analyze", attention, "--format", "html", "-o", analysis, "--fail-on", "never").exit_code == 0
    with Browser(browser, 1280, 800) as page:
        for name, path, dark in (("report", report, False), ("report-dark", report, True), ("analyze", analysis, False)):
            page.dark(dark)
            page.open(path)
            page.screenshot(folder / f"{name}.png")
            assert (folder / f"{name}.png").stat().st_size > 20_000
