"""requirements-dev.lock is one that `make lock` made of today's pyproject.toml."""

import re
import sys
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LOCK = (ROOT / "requirements-dev.lock").read_text(encoding="utf-8")


def wanted(texts):
    """The requirements with those of this project's own extras in their place."""
    for requirement in map(Requirement, texts):
        if requirement.name == PROJECT["name"]:
            for extra in requirement.extras:
                yield from wanted(PROJECT["optional-dependencies"][extra])
        else:
            yield requirement


def pins():
    found = {}
    for name, version in re.findall(r"^([A-Za-z0-9._-]+)==([^ ;\n]+)", LOCK, re.MULTILINE):
        found.setdefault(canonicalize_name(name), []).append(version)
    return found


def test_everything_that_development_asks_for_is_pinned_within_its_bounds():
    pinned = pins()
    for requirement in wanted([*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["dev"]]):
        versions = pinned.get(canonicalize_name(requirement.name))
        assert versions, f"{requirement.name} is not pinned: run `make lock`"
        # Several where Python versions differ: each must do.
        assert all(requirement.specifier.contains(version, prereleases=True) for version in versions), requirement


def test_every_line_is_a_pin_or_says_where_it_comes_from():
    lines = [line for line in LOCK.splitlines() if line and not line.lstrip().startswith("#")]
    assert len(lines) > 60
    assert all(re.match(r"[A-Za-z0-9._-]+(\[[a-z,]+\])?==\S+( ; .+)?$", line) for line in lines)
    assert "make lock" in LOCK.splitlines()[1]
