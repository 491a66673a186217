"""Commands against a fake API."""

import logging
from collections.abc import Callable, Iterator

import pytest
from typer.testing import CliRunner, Result

from counterpoise.cli import app
from tests.commands.fake_api import FakeApi, serving_api

Run = Callable[..., Result]


@pytest.fixture
def api() -> Iterator[FakeApi]:
    with serving_api() as api:
        yield api


@pytest.fixture
def run(api: FakeApi) -> Iterator[Run]:
    def invoke(*arguments: str, stdin: str | None = None, **environment: str) -> Result:
        unset = dict.fromkeys(
            ("COUNTERPOISE_TOKEN", "COUNTERPOISE_DATABASE_URL", "COLUMNS")
        )
        env = {**unset, "COUNTERPOISE_URL": api.url, **environment}
        return CliRunner().invoke(app, [*arguments], input=stdin, env=env)

    yield invoke
    # Commands of the server log to the stderr that they were invoked with: it is closed
    root = logging.getLogger()
    for handler in list(root.handlers):
        if type(handler) is logging.StreamHandler:
            root.removeHandler(handler)
