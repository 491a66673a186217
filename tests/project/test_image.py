"""The Dockerfile: everything it names exists, and it makes the wheel of what the wheel
needs.
"""

import tomllib

from typer.testing import CliRunner

from counterpoise.cli import app
from tests.project.compose_file import ROOT, arguments, dockerfile, image_command

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_the_base_is_one_python_that_the_project_runs_on() -> None:
    (version,) = [argument.removeprefix("PYTHON=") for argument in arguments("ARG")]
    oldest = PROJECT["project"]["requires-python"].removeprefix(">=")
    assert tuple(map(int, version.split("."))) >= tuple(map(int, oldest.split(".")))
    assert {base.split()[0] for base in arguments("FROM")} == {
        "python:${PYTHON}-slim-bookworm"
    }


def test_the_build_copies_what_the_wheel_is_made_of() -> None:
    copied = set()
    for words in arguments("COPY"):
        if "--from" not in words:
            copied.update(words.split()[:-1])
    wheel = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {
        *wheel["packages"],
        *wheel["force-include"],
        PROJECT["project"]["readme"],
        "pyproject.toml",
    }
    assert copied == needed | {"locks/runtime.txt"}
    assert all((ROOT / source).exists() for source in copied)
    ignore = (ROOT / ".dockerignore").read_text().splitlines()
    assert {line.removeprefix("!") for line in ignore if line.startswith("!")} == copied


def test_the_image_runs_the_command_and_not_as_root() -> None:
    last = dockerfile()[
        max(i for i, (word, _) in enumerate(dockerfile()) if word == "FROM") :
    ]
    (user,) = [rest for word, rest in last if word == "USER"]
    assert int(user) > 0
    assert f"useradd --uid {user} " in " ".join(
        rest for word, rest in last if word == "RUN"
    )
    assert image_command("ENTRYPOINT") == list(PROJECT["project"]["scripts"])
    assert CliRunner().invoke(app, [*image_command("CMD"), "--help"]).exit_code == 0
    assert not any("apt-get" in run or "gcc" in run for run in arguments("RUN"))
