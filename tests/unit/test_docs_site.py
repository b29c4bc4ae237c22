"""The documentation site: every page is in its contents, made pages tell all of the code, the strict build has no complaint."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from asmevo.cli.main import app
from asmevo.config import Settings
from asmevo.config import resolve as resolve_settings
from asmevo.passes.base import options_of
from asmevo.passes.registry import available_passes
from asmevo.verify.launch.file import read_launch_file
from tools.docs import hooks, reference, ten_minutes

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))
WITH_TOML = [ROOT / "README.md", DOCS / "tutorial.md", *sorted((DOCS / "howto").glob("*.md"))]


def in_contents(tree):
    if isinstance(tree, str):
        return [tree]
    return [page for part in (tree.values() if isinstance(tree, dict) else tree) for page in in_contents(part)]


def test_every_page_is_in_the_contents_once():
    contents = in_contents(yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"])
    assert sorted(contents) == sorted([*PAGES, *reference.pages()])


def test_every_command_is_told_with_each_of_its_options():
    told = reference.commands_page()
    for command in reference.commands():
        help = CliRunner().invoke(app, [*command.path, "--help"], env={"COLUMNS": "300", "NO_COLOR": "1"}).stdout
        section = told.split(f"\n## `{command.title}`\n")[1].split("\n## ")[0]
        flags = set(re.findall(r"--[a-z][a-z0-9-]*", " ".join(re.findall(r"^│ .*?(?=  [A-Z]|$)", help, re.MULTILINE)))) - {
            "--help"
        }
        assert flags, command.title
        for flag in flags:
            assert flag in section, (command.title, flag)


def test_the_readme_and_the_changelog_name_every_command():
    readme, changelog = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "CHANGELOG.md"))
    for name in {command.path[0] for command in reference.commands()}:
        assert f"asmevo {name}" in readme, name
        assert f"`{name}`" in changelog, name


def test_every_pass_option_and_setting_is_told():
    passes = reference.passes_page()
    for name, kind in available_passes().items():
        assert f"\n## `{name}`\n" in passes
        for each in options_of(kind):
            assert f"| `{each.name}` |" in passes
    settings = reference.settings_page()
    for name in Settings.model_fields:
        assert f"`{name}`" in settings or f"`{name}." in settings


def test_links_out_of_the_site_become_paths():
    outside = "See [bench/suite](../bench/suite), [the plugin](../tests/plugin), [R](../README.md), "
    inside = "[passes](passes.md), [of docs](../docs/a.md), ![a](../b.png)."
    assert hooks.unlinked(outside + inside) == "See `bench/suite`, the plugin (`tests/plugin`), R (`README.md`), " + inside


@pytest.mark.parametrize("path", WITH_TOML, ids=lambda p: p.name)
def test_files_shown_are_accepted(path, tmp_path):
    for shown in re.findall(r"```toml\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL):
        file = tmp_path / "shown.toml"
        file.write_text(shown)
        if "workgroup" in shown:
            assert read_launch_file(file).tree.args
        else:
            assert resolve_settings(file).settings.passes


def test_the_ten_minutes_are_found_in_the_readme():
    typed = ten_minutes.lines((ROOT / "README.md").read_text(encoding="utf-8"))
    assert ten_minutes.ADDRESS.match(typed[0])
    assert [line.split()[1] for line in typed if line.startswith("asmevo ")][-3:] == ["optimize", "report", "deploy"]
    with pytest.raises(ValueError, match="no section"):
        ten_minutes.lines("# Nothing\n")


def test_the_strict_build_has_no_complaint(tmp_path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    page = (tmp_path / "reference" / "commands.html").read_text(encoding="utf-8")
    assert "asmevo optimize" in page
    assert "https://fonts" not in (tmp_path / "index.html").read_text(encoding="utf-8")
