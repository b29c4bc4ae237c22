import sys
from contextlib import ExitStack

import pytest

from asmevo.config import ModelSettings
from asmevo.diagnostics import DiagnosticError
from asmevo.search.llm.starting import Sources, check_address, key_for, model_proposer

LOCAL = "http://127.0.0.1:8000/v1"


def settings(**changes):
    return ModelSettings(**{"name": "m", "base_url": LOCAL, **changes})


def code(call, *arguments, **options):
    with pytest.raises(DiagnosticError) as caught:
        call(*arguments, **options)
    return caught.value.diagnostics[0].code


def started(chosen, sources=Sources()):  # noqa: B008
    with ExitStack() as open_now:
        return model_proposer(chosen, 1, sources, open_now)


def test_no_model_no_proposer():
    assert started(ModelSettings()) is None


def test_a_model_on_this_machine_needs_no_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    one = started(settings())
    assert one is not None
    assert one.manners.model == "m"


def test_the_key_is_only_in_the_environment(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-0123456789")
    one = started(settings())
    assert "sk-secret" not in repr(one)
    assert key_for(settings(key_env="OTHER_API_KEY"), {"OTHER_API_KEY": " k "}) == "k"


@pytest.mark.parametrize("environment", [{}, {"OPENAI_API_KEY": " "}])
def test_a_server_elsewhere_needs_a_key(environment):
    assert code(key_for, settings(base_url="https://api.example.com/v1"), environment) == "E0957"


def test_a_key_with_odd_characters_is_refused_without_being_shown():
    with pytest.raises(DiagnosticError) as caught:
        key_for(settings(), {"OPENAI_API_KEY": "abc\ndef"})
    assert "abc" not in str(caught.value)


@pytest.mark.parametrize("name", ["HOME", "AWS_SECRET_ACCESS_KEY", "api_key", "X_API_KEY_2"])
def test_a_settings_file_cannot_have_any_variable_sent(name):
    with pytest.raises(ValueError, match="key_env"):
        settings(key_env=name)


@pytest.mark.parametrize(
    "url",
    ["", "api.openai.com", "ftp://x/v1", "http://", "file:///etc/passwd", "http://u:p@x/v1", "http://x/v1?key=1", "http://x/#a",
     "http://x:99999/v1", "http://[::1"],
)  # fmt: skip
def test_addresses_that_are_none_are_refused(url):
    assert code(check_address, url) == "E0956"


def test_an_address_with_a_key_is_not_shown():
    with pytest.raises(DiagnosticError) as caught:
        check_address("http://me:hunter2@x/v1")
    assert "hunter2" not in str(caught.value)


def test_a_budget_of_money_needs_prices():
    assert code(started, settings(max_cost=1.0)) == "E0958"
    assert started(settings(max_cost=1.0, price_in=1.0)) is not None


def test_a_session_without_a_model_is_a_mistake(tmp_path):
    assert code(started, ModelSettings(), Sources(replay=tmp_path / "x")) == "E0208"


def test_without_the_package_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "openai", None)
    monkeypatch.delitem(sys.modules, "asmevo.search.llm.transport", raising=False)
    assert code(started, settings()) == "E0959"


def test_the_settings_in_the_documents_are_right(tmp_path):
    import re
    from pathlib import Path

    from asmevo.config import resolve

    page = (Path(__file__).resolve().parents[4] / "docs" / "llm.md").read_text()
    (shown,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    file = tmp_path / "asmevo.toml"
    file.write_text(shown)
    model = resolve(file).settings.model
    assert (model.name, model.max_cost) == ("NAME", 2.0)
    for name in re.findall(r"`model\.(\w+)", page):
        assert name in ModelSettings.model_fields


def test_settings_from_a_file_are_strict(tmp_path):
    from asmevo.config import resolve

    file = tmp_path / "asmevo.toml"
    file.write_text('version = 1\n[model]\nname = "m"\napi_key = "sk-x"\n')
    with pytest.raises(DiagnosticError, match="unknown setting"):
        resolve(file)
    file.write_text('version = 1\n[model]\nname = "m"\nmax_tokens = 5\n')
    assert resolve(file, flags={"model.name": "other"}).settings.model.name == "other"
