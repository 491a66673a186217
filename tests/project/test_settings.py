"""Settings: a wrong value is one clear sentence, and every setting is documented."""

import re
from pathlib import Path

import pytest
from pydantic import ValidationError

from app.errors import SettingsInvalid
from app.settings import PREFIX, Settings, load_settings

OPERATIONS = Path(__file__).parents[2] / "docs" / "operations.md"


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(PREFIX + name.upper(), raising=False)


def test_defaults_are_a_sqlite_file_here_and_loopback() -> None:
    settings = load_settings()
    assert settings.database_url == "sqlite:///counterpoise.db"
    assert settings.on_loopback
    assert not settings.has_tokens


def test_environment_then_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COUNTERPOISE_PORT", "9000")
    monkeypatch.setenv("COUNTERPOISE_WORKER_TOKENS", "a" * 20 + ", " + "b" * 20)
    assert load_settings(port=None).port == 9000
    assert load_settings(port=9001).port == 9001
    assert [token.get_secret_value() for token in load_settings().worker_tokens] == [
        "a" * 20,
        "b" * 20,
    ]


@pytest.mark.parametrize("role", ["worker", "read", "admin"])
def test_a_token_that_everybody_knows_is_noticed(
    monkeypatch: pytest.MonkeyPatch, role: str
) -> None:
    monkeypatch.setenv(f"COUNTERPOISE_{role.upper()}_TOKENS", "a" * 20)
    assert not load_settings().has_public_tokens
    monkeypatch.setenv(
        f"COUNTERPOISE_{role.upper()}_TOKENS", "a" * 20 + ",demo-token-of-everybody"
    )
    assert load_settings().has_public_tokens


def test_settings_are_frozen() -> None:
    with pytest.raises(ValidationError):
        load_settings().port = 1  # type: ignore[misc]


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        (
            "PORT",
            "abc",
            "COUNTERPOISE_PORT = 'abc' is not usable: Input should be a valid integer",
        ),
        ("PORT", "70000", "less than or equal to 65535"),
        (
            "LEASE_S",
            "0",
            "COUNTERPOISE_LEASE_S = '0' is not usable: Input should be greater than 0",
        ),
        ("LEASE_S", "inf", "COUNTERPOISE_LEASE_S"),
        ("HEARTBEAT_S", "nan", "COUNTERPOISE_HEARTBEAT_S"),
        ("HEARTBEAT_S", "50", "must be at most half of COUNTERPOISE_LEASE_S"),
        ("LOG_FORMAT", "xml", "Input should be 'auto', 'json' or 'pretty'"),
        (
            "DATABASE_URL",
            "mysql://root:hunter2@db/x",
            "it must be sqlite:///FILE or postgresql://",
        ),
        ("DATABASE_URL", "sqlite:///:memory:", "it must be sqlite:///FILE"),
        ("DATABASE_URL", "sqlite:///x.db?mode=memory", "it must be sqlite:///FILE"),
        (
            "DATABASE_URL",
            "postgresql://me@db/x?password=hunter2",
            "the password goes before the host",
        ),
        ("DATABASE_URL", "postgresql://me:p@hunter2@db/x", "written as %40"),
        ("DATABASE_URL", "postgresql://me@db:abc/x", "the port is not a number"),
        ("ADMIN_TOKENS", "hunter2", "a token needs at least 16 characters"),
    ],
)
def test_a_wrong_value_is_one_sentence_without_secrets(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, says: str
) -> None:
    monkeypatch.setenv(PREFIX + name, value)
    with pytest.raises(SettingsInvalid) as caught:
        load_settings()
    message = str(caught.value)
    assert says in message
    assert "\n" not in message
    assert "hunter2" not in message


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+psycopg"])
def test_postgresql_is_always_reached_through_psycopg_3(scheme: str) -> None:
    settings = load_settings(database_url=f"{scheme}://me@db/counterpoise")
    assert settings.database_url == "postgresql+psycopg://me@db/counterpoise"


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),  # noqa: S104
        ("example.org", False),
    ],
)
def test_what_counts_as_loopback(host: str, loopback: bool) -> None:
    assert load_settings(host=host).on_loopback is loopback


def test_every_setting_is_documented_with_its_default() -> None:
    documented = {
        match[1]: match[2]
        for match in re.finditer(
            r"^\| `(COUNTERPOISE_\w+)` \| `?([^|`]*)`? \|", OPERATIONS.read_text(), re.M
        )
    }
    declared = {
        PREFIX + name.upper(): field.default
        for name, field in Settings.model_fields.items()
    }
    assert set(documented) == set(declared)
    for name, default in declared.items():
        assert documented[name].strip() == (
            "none"
            if default in ((), None)
            else f"{default:g}"
            if isinstance(default, float)
            else str(default)
        ), name


def test_a_password_is_not_shown_by_accident() -> None:
    assert "hunter2" not in repr(
        load_settings(database_url="postgresql://me:hunter2@db/x")
    )


@pytest.mark.parametrize("password", ["qx1@qx2/qx3", "qx1/qx2@qx3", "qx1@qx2@qx3"])
def test_a_password_with_special_characters_is_not_printed(password: str) -> None:
    url = f"postgresql://user:{password}@host/database"
    with pytest.raises(SettingsInvalid) as caught:
        load_settings(database_url=url)
    assert not any(part in str(caught.value) for part in re.split("[@/]", password))


def test_tokens_come_from_files_too(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"{'a' * 20}\nwing:{'b' * 20}\n")
    settings = load_settings(worker_tokens="c" * 20, worker_tokens_file=str(file))
    entries = {token.get_secret_value() for token in settings.worker_tokens}
    assert entries == {"a" * 20, f"wing:{'b' * 20}", "c" * 20}
    with pytest.raises(SettingsInvalid, match="cannot be read"):
        load_settings(admin_tokens_file=str(tmp_path / "none"))


def test_a_study_does_not_count_for_the_length_of_a_token() -> None:
    with pytest.raises(SettingsInvalid, match="at least"):
        load_settings(worker_tokens="a-long-name-of-a-study:short")
    with pytest.raises(SettingsInvalid, match="only worker tokens"):
        load_settings(read_tokens=f"wing:{'a' * 20}")
