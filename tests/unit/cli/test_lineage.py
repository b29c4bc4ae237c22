"""The lineage commands on a search that was really made."""

import hashlib
import json

import pytest
from typer.testing import CliRunner

from asmevo.cli.main import app
from support import EXAMPLES

OBJECT, LAUNCH = EXAMPLES / "kernels" / "softmax.co", EXAMPLES / "launches" / "softmax.toml"


def asmevo(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("lineage") / "runs"
    words = ("--launch", LAUNCH, "--attempts", 5, "--budget", 600, "--lineage", made, "--quiet")
    assert asmevo("optimize", OBJECT, *words).exit_code == 0
    return made


def nodes(folder):
    (run,) = json.loads(asmevo("lineage", "list", folder, "--format", "json").stdout)
    return run["nodes"]


def test_list_and_show(folder):
    first = nodes(folder)[0]
    listed = asmevo("lineage", "list", folder).stdout
    assert "softmax (gfx942)" in listed
    assert f"node {first['id']} from K0" in listed
    shown = asmevo("lineage", "show", folder, first["id"])
    assert shown.exit_code == 0
    assert first["artifact"] in shown.stdout
    assert "static waits: proved" in shown.stdout
    assert "as before, in this order" in shown.stdout


def test_diff_tells_by_its_exit_code(folder):
    number = nodes(folder)[0]["id"]
    assert asmevo("lineage", "diff", folder, number).exit_code == 1
    assert asmevo("lineage", "diff", folder, number, "--against", number).exit_code == 0


def test_replay_makes_the_same_bytes_and_judges_them(folder):
    made = asmevo("lineage", "replay", folder, nodes(folder)[-1]["id"], "--format", "json")
    found = json.loads(made.stdout)
    assert (made.exit_code, found["same_bytes"], found["outcome"]) == (0, True, "proved")


def test_export_writes_the_best_object_and_the_pairs(folder, tmp_path):
    best = nodes(folder)[-1]
    assert asmevo("lineage", "export", folder, "-o", tmp_path / "best.co").exit_code == 0
    assert hashlib.sha256((tmp_path / "best.co").read_bytes()).hexdigest() == best["artifact"]
    assert asmevo("lineage", "export", folder, "--pairs", "-o", tmp_path / "pairs.jsonl").exit_code == 0
    rows = [json.loads(line) for line in (tmp_path / "pairs.jsonl").read_text().splitlines()]
    assert [row["artifact_sha256"] for row in rows] == [node["artifact"] for node in nodes(folder)]


@pytest.mark.parametrize("words", [("show", 99), ("diff", 99), ("replay", 99), ("export", "-o", "never.co", "--node", 99)])
def test_a_node_that_is_not_there(folder, words):
    made = asmevo("lineage", words[0], folder, *words[1:])
    assert made.exit_code == 2
    assert "E0804" in made.stderr


def test_a_folder_that_is_no_lineage(tmp_path):
    made = asmevo("lineage", "list", tmp_path)
    assert made.exit_code == 2
    assert "E0801" in made.stderr
