"""The example notebooks run from the first cell to the last, and show what they speak of."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from support import EXAMPLES

FOLDER = EXAMPLES / "notebooks"
SHOWN = {
    "write_a_pass": ["refuted", "proved", "E0521", "vmcnt(1)"],
    "compare_kernels": ["modelled cycles", "proved", "True ()"],
}


def output(notebook):
    """All that cells showed: what they printed, and the HTML of kernels, differences and verdicts."""
    found = []
    for cell in notebook.cells:
        for part in cell.get("outputs", ()):
            found += [part.get("text", ""), *part.get("data", {}).values()]
    return "\n".join(found)


def test_both_notebooks_are_there():
    assert sorted(path.stem for path in FOLDER.glob("*.ipynb")) == sorted(SHOWN)


@pytest.mark.parametrize("name", sorted(SHOWN))
def test_a_notebook_runs_and_shows(name, monkeypatch):
    notebook = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    nbformat.validate(notebook)
    # A kernel is a process of its own, which must find this checkout.
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[2]))
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(FOLDER)}}).execute()
    shown = output(notebook)
    for text in SHOWN[name]:
        assert text in shown, text
    assert "<table>" in shown
    assert not list(FOLDER.glob("*.co"))


@pytest.mark.parametrize("name", sorted(SHOWN))
def test_a_stored_notebook_has_no_output(name):
    for cell in nbformat.read(FOLDER / f"{name}.ipynb", as_version=4).cells:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None
