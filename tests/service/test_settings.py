"""Limits and token from the environment: options win, and the token is never shown."""

from __future__ import annotations

import inspect
import logging

import pytest
from typer.testing import CliRunner

from condrank.cli import app as cli
from condrank.cli.serve import serve
from service.served import Limits, ModelHolder, SecretStr, TestClient, create_app, service, settings_module

ServiceSettings = service.ServiceSettings
PREFIX, read_settings = settings_module.PREFIX, settings_module.read_settings
SECRET = "s3cret-and-long"


@pytest.fixture(autouse=True)
def empty_environment(monkeypatch):
    for name in ServiceSettings.model_fields:
        monkeypatch.delenv(PREFIX + name.upper(), raising=False)


@pytest.fixture
def started(folder, monkeypatch):
    """Runs the command up to the moment it would serve; gives the limits and token of its guard."""
    seen = []

    def run(app, holder, listening, **more):
        listening.close()
        seen.append((app.user_middleware[0].kwargs, more["grace"]))

    monkeypatch.setattr("condrank.service.server.run", run)

    def start(*options):
        done = CliRunner().invoke(cli, ["serve", str(folder), "--port", "0", *options])
        assert done.exit_code == 0, done.output
        assert SECRET not in done.output
        given, grace = seen[-1]
        assert grace == given["limits"].seconds
        return given["limits"], given["token"]

    return start


def test_defaults_are_those_of_limits():
    assert read_settings().limits == Limits()
    assert read_settings().token is None


def test_the_command_has_the_same_defaults():
    names = {"max_body": "body", "max_k": "k", "max_queries": "queries", "timeout": "seconds", "workers": "workers"}
    options = inspect.signature(serve).parameters
    assert {name: options[name].default for name in names} == {
        name: getattr(Limits(), limit) for name, limit in names.items()
    }


def test_every_limit_can_be_set_in_the_environment(monkeypatch):
    given = {"MAX_BODY": 5, "MAX_K": 6, "MAX_QUERIES": 7, "TIMEOUT": 0.5, "WORKERS": 8, "MAX_WAITING": 0}
    given |= {"HEAD_TIMEOUT": 0.25, "MAX_CONNECTIONS": 9, "MAX_PER_CLIENT": 4}
    for name, value in given.items():
        monkeypatch.setenv(PREFIX + name, str(value))
    assert read_settings().limits == Limits(5, 6, 7, 0.5, 8, 0, 0.25, 9, 4)


def test_an_option_wins_over_the_environment_and_that_over_the_default(started, monkeypatch):
    monkeypatch.setenv("CONDRANK_MAX_K", "7")
    monkeypatch.setenv("CONDRANK_TIMEOUT", "3")
    limits, token = started()
    assert (limits.k, limits.seconds, limits.queries, token) == (7, 3.0, 100, None)
    assert started("--max-k", "9")[0].k == 9
    assert started("--max-k", "1000")[0].k == 1000  # the default, but typed


def test_a_token_file_wins_over_the_environment(started, monkeypatch, tmp_path):
    monkeypatch.setenv("CONDRANK_TOKEN", "other")
    assert started()[1] == SecretStr("other")
    (tmp_path / "token").write_text(f"{SECRET}\n")
    assert started("--token-file", str(tmp_path / "token"))[1] == SecretStr(SECRET)
    monkeypatch.setenv("CONDRANK_TOKEN", "")
    assert started()[1] is None


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("MAX_K", "many", "CONDRANK_MAX_K must be a valid integer.* got 'many'"),
        ("MAX_K", "0", "CONDRANK_MAX_K must be greater than or equal to 1, got '0'"),
        ("TIMEOUT", "inf", "CONDRANK_TIMEOUT must be a finite number, got 'inf'"),
        ("MAX_WAITING", "-1", "CONDRANK_MAX_WAITING must be greater than or equal to 0, got '-1'"),
        ("TOKEN", f"{SECRET} and more", "CONDRANK_TOKEN must be one or more ASCII characters without spaces$"),
    ],
)
def test_a_wrong_value_is_refused_by_the_name_of_its_variable(folder, monkeypatch, name, value, message):
    monkeypatch.setenv(PREFIX + name, value)
    with pytest.raises(ValueError, match=message) as caught:
        read_settings()
    assert caught.value.__cause__ is caught.value.__context__ is None  # neither of which could hide the token
    done = CliRunner().invoke(cli, ["serve", str(folder)])
    assert done.exit_code == 1
    assert PREFIX + name in done.stderr
    assert SECRET not in done.output


def test_a_wrong_given_value_is_refused_by_its_own_name():
    with pytest.raises(ValueError, match=r"^workers must be greater than or equal to 1, got 0$"):
        read_settings({"workers": 0})
    with pytest.raises(ValueError, match=r"^token must be one or more ASCII characters without spaces$"):
        read_settings({"token": "two words"})


def test_the_token_is_in_no_repr_and_no_log(folder, monkeypatch, caplog):
    monkeypatch.setenv("CONDRANK_TOKEN", SECRET)
    settings = read_settings()
    assert settings.token is not None
    assert settings.token.get_secret_value() == SECRET
    caplog.set_level(logging.DEBUG)
    for token in (settings.token, SECRET):
        app = create_app(ModelHolder(folder), settings.limits, token=token)
        with TestClient(app) as client:
            assert client.get("/nodes").status_code == 401
            right = {"Authorization": f"Bearer {SECRET}"}
            assert client.get("/nodes", headers=right).status_code == 200
        for shown in (repr(settings), str(settings), settings.model_dump_json(), repr(app.user_middleware)):
            assert SECRET not in shown
    assert SECRET not in caplog.text
