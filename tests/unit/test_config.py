import pytest

from asmevo.config import resolve
from asmevo.diagnostics import DiagnosticError
from support import EXAMPLES


def _error(path, sets=()):
    with pytest.raises(DiagnosticError) as caught:
        resolve(path, sets)
    return caught.value.diagnostics[0]


def _file(tmp_path, text):
    path = tmp_path / "asmevo.toml"
    path.write_text(text)
    return path


def test_order_is_defaults_file_set_flag(tmp_path):
    path = _file(tmp_path, "version = 1\n[search]\nseed = 3\nattempts = 5\nbudget_s = 2.0\n")
    resolved = resolve(path, ["search.attempts=6", "search.budget_s=4.0"], {"search.budget_s": 8.0, "search.windows": None})
    search = resolved.settings.search
    assert (search.seed, search.attempts, search.budget_s, search.windows) == (3, 6, 8.0, 4)
    assert resolved.origins["search.seed"] == str(path)
    assert resolved.origins["search.attempts"] == "--set"
    assert resolved.origins["search.budget_s"] == "--budget-s"
    assert resolved.origins["search.windows"] == "default"


def test_unknown_key_names_the_nearest_with_a_caret(tmp_path):
    diagnostic = _error(_file(tmp_path, "version = 1\n[search]\nsead = 3\n"))
    assert diagnostic.code == "E0210"
    assert (diagnostic.span.line, diagnostic.span.column) == (3, 8)
    assert "did you mean 'seed'" in diagnostic.help


@pytest.mark.parametrize(
    "text", ['[search]\nseed = "3"\n', "[search]\nseed = -1\n", "version = 2\n", '[verify]\nlevel = "maybe"\n']
)
def test_wrong_type_or_range_is_refused(tmp_path, text):
    assert _error(_file(tmp_path, text)).code == "E0211"


def test_missing_file_is_an_error_not_a_default(tmp_path):
    assert _error(tmp_path / "none.toml").code == "E0207"


def test_broken_toml_has_a_line(tmp_path):
    diagnostic = _error(_file(tmp_path, "version = 1\npasses = \n"))
    assert diagnostic.code == "E0209"
    assert diagnostic.span.line == 2


def test_set_without_value_is_refused():
    assert _error(None, ["search.seed"]).code == "E0208"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda p: p.name)
def test_every_shipped_settings_file_loads(path):
    settings = resolve(path).settings
    assert (path.parent / settings.input).exists()
    assert (path.parent / settings.launch).exists()


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("version = 1\nx = " + "[" * 2000, "E0209", (2, 69)),
        ('version = 1\ny = "[[[" # [[[\nx = ' + "[{a=" * 40, "E0209", (3, 133)),
        ("version = 1\n[search]\nseed = " + "9" * 5000, "E0209", (1, 1)),
        ("version = 1\nx = {}\n", "E0210", (2, 5)),
        ('version = 1\n"a\\tb" = 2', "E0210", (1, 1)),
        ("search = [{}]\n", "E0211", (1, 10)),
        ("version = 1\n[search]\nbudget_s = inf", "E0211", (3, 12)),
    ],
)
def test_what_is_wrong_in_a_file_has_a_place(tmp_path, text, code, place):
    found = _error(_file(tmp_path, text))
    assert found.code == code
    assert (found.span.line, found.span.column) == place


def test_a_file_that_is_no_text_or_too_large_is_refused(tmp_path):
    path = tmp_path / "asmevo.toml"
    path.write_bytes(b"version = 1\nx = \xff")
    assert (_error(path).code, _error(path).span.line, _error(path).span.column) == ("E0207", 2, 5)
    path.write_bytes(b"#" * (2 << 20))
    assert _error(path).code == "E0207"
