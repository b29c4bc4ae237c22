import pytest

from deployments import OBJECTS, changed, evidence_of


@pytest.fixture
def library(tmp_path):
    """A folder such as an inference library's: three objects at different depths, and files that are none."""
    folder = tmp_path / "library"
    (folder / "gfx942" / "fmha").mkdir(parents=True)
    for name, place in (("softmax.co", "a.co"), ("layer_norm.co", "gfx942/b.co"), ("histogram.co", "gfx942/fmha/c.co")):
        (folder / place).write_bytes(OBJECTS[name])
    (folder / "readme.txt").write_text("no object")
    return folder


@pytest.fixture
def new_objects(tmp_path):
    """Replacements of two of them with their evidence, as files."""
    paths = []
    for name in ("softmax.co", "histogram.co"):
        path = tmp_path / f"new_{name}"
        path.write_bytes(changed(OBJECTS[name]))
        path.with_name(path.name + ".evidence.json").write_text(evidence_of(OBJECTS[name], path.read_bytes()))
        paths.append(path)
    return paths
