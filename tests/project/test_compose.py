"""docker-compose.yml agrees with the specification of such files, with the program and
with the image.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml
from typer.main import get_command
from typer.testing import CliRunner

from app.settings import PREFIX, Settings, load_settings
from benchmarks.service.postgresql import PostgreSQL
from counterpoise.cli import app
from tests.project.compose_file import (
    COMPOSE,
    ROOT,
    arguments,
    compose,
    image_command,
    ours,
    pools,
)

SERVICES = compose()["services"]


def test_the_file_follows_the_compose_specification() -> None:
    checker = Path(sys.executable).with_name("check-jsonschema")
    subprocess.run(
        [checker, "--builtin-schema", "vendor.compose-spec", COMPOSE], check=True
    )


@pytest.mark.parametrize("name", ours())
def test_every_command_and_option_exists(name: str) -> None:
    # Options are parsed before --help is obeyed, so an unknown one is an error all the
    # same.
    result = CliRunner().invoke(app, [*ours()[name]["command"], "--help"])
    assert result.exit_code == 0, result.output


def options(command: Any) -> Iterator[Any]:
    yield from command.params
    for each in getattr(command, "commands", {}).values():
        yield from options(each)


def test_every_variable_is_one_that_the_program_reads() -> None:
    settings = {PREFIX + name.upper() for name in Settings.model_fields}
    known = settings | {
        option.envvar
        for option in options(get_command(app))
        if isinstance(option.envvar, str)
    }
    given: set[str] = set()
    for service in ours().values():
        given.update(service["environment"])
    given |= set(re.findall(r"COUNTERPOISE_\w+(?==)", " ".join(arguments("ENV"))))
    assert given - known == set()


def test_the_defaults_are_a_server_that_warns_of_its_tokens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in ours()["api"]["environment"].items():
        monkeypatch.setenv(name, value)
    settings = load_settings()
    assert settings.has_public_tokens
    assert [token.get_secret_value() for token in settings.admin_tokens] == [
        token_of("study")
    ]
    assert {token.get_secret_value() for token in settings.worker_tokens} == {
        token_of(name) for name in pools()
    }
    assert token_of("study") in (ROOT / "docs/operations.md").read_text()


def token_of(name: str) -> str:
    return str(ours()[name]["environment"]["COUNTERPOISE_TOKEN"])


def test_your_own_secrets_take_the_place_of_every_public_one() -> None:
    own = compose(
        ADMIN_TOKEN="a" * 16,
        READ_TOKEN="r" * 16,
        WORKER_TOKEN="w" * 16,
        POSTGRES_PASSWORD="p" * 16,
    )
    assert "demo-" not in str(own)
    url = own["services"]["api"]["environment"]["COUNTERPOISE_DATABASE_URL"]
    assert own["services"]["db"]["environment"]["POSTGRES_PASSWORD"] in url


def test_ports_are_published_on_loopback_only() -> None:
    published = []
    for service in SERVICES.values():
        published += service.get("ports", [])
    assert published == ["127.0.0.1:8000:8000"]


def test_our_containers_can_write_nothing_but_their_volumes() -> None:
    for name, service in ours().items():
        assert service["read_only"], name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert [mount.partition(":")[0] for mount in service["tmpfs"]] == ["/tmp"]  # noqa: S108


def test_every_container_is_limited() -> None:
    for name, service in SERVICES.items():
        assert service["mem_limit"] == "2g", name
        assert service["pids_limit"] == 512, name


def test_workers_cannot_reach_the_database() -> None:
    networks = {name: service["networks"] for name, service in SERVICES.items()}
    with_database = {name for name, own in networks.items() if "database" in own}
    assert with_database == {"db", "migrate", "api", "planner"}
    assert {tuple(networks[name]) for name in pools()} == {("workers",)}
    assert compose()["networks"]["database"] == {"internal": True}


def test_the_image_is_built_once_and_never_taken_from_a_registry() -> None:
    # Two services that build the same tag at once fail; one that does not build would
    # ask a registry for it.
    assert [name for name, service in ours().items() if "build" in service] == [
        "migrate"
    ]
    policies = {name: service["pull_policy"] for name, service in ours().items()}
    assert policies == {**dict.fromkeys(ours(), "never"), "migrate": "build"}


def test_services_wait_for_what_can_happen() -> None:
    for name, service in SERVICES.items():
        for other, awaited in service.get("depends_on", {}).items():
            if awaited["condition"] == "service_healthy":
                assert "test" in SERVICES[other]["healthcheck"], name
            else:
                assert awaited["condition"] == "service_completed_successfully"
                assert SERVICES[other]["restart"].startswith("on-failure"), name


def test_what_is_mounted_exists() -> None:
    for service in SERVICES.values():
        for source in (volume.split(":")[0] for volume in service.get("volumes", [])):
            assert source in compose()["volumes"] or (ROOT / source).is_file(), source
    made = " ".join(arguments("RUN"))
    for name, service in pools().items():
        folder = service["command"][service["command"].index("--spool") + 1]
        assert service["volumes"] == [f"spool-{name}:{folder}"]
        assert re.search(rf"chown counterpoise .*{folder}\b", made)


def test_every_objective_of_the_study_has_a_pool() -> None:
    (mount,) = [
        volume
        for volume in ours()["study"]["volumes"]
        if volume.endswith(":/study.yaml:ro")
    ]
    study = yaml.safe_load((ROOT / mount.split(":")[0]).read_text())
    for name, service in pools().items():
        said = dict(
            zip(service["command"][1::2], service["command"][2::2], strict=True)
        )
        assert said["--study"] == study["name"]
        assert said["--objective"].split("=")[0] == name
    assert set(pools()) == {objective["name"] for objective in study["objectives"]}


def test_a_stopped_worker_has_the_time_that_it_gives_its_jobs() -> None:
    (grace,) = [
        option.default
        for option in options(get_command(app))
        if option.name == "grace_s"
    ]
    for service in pools().values():
        assert int(service["stop_grace_period"].removesuffix("s")) > grace
        assert "--grace-s" not in service["command"]
        assert "--name" not in service["command"]  # replicas would share it


def test_postgresql_is_the_one_that_the_tests_use(postgresql: PostgreSQL) -> None:
    with psycopg.connect(postgresql.server.get_uri()) as connection:
        tested = connection.info.server_version // 10_000
    assert SERVICES["db"]["image"].startswith(f"postgres:{tested}-")
    page = (ROOT / "docs/operations.md").read_text()
    assert f"PostgreSQL {tested}" in page
    assert f"`docker-compose.yml` use {tested}" in page


def test_only_the_server_has_the_images_health_check() -> None:
    assert ours()["api"]["healthcheck"]["test"] == [
        "CMD",
        *image_command("HEALTHCHECK"),
    ]
    others = [
        service["healthcheck"] for name, service in ours().items() if name != "api"
    ]
    assert others == [{"disable": True}] * len(others)
