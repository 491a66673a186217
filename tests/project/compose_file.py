"""docker-compose.yml and Dockerfile, read the way Docker reads them, as far as they are
used here.
"""

import json
import re
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
COMPOSE = ROOT / "docker-compose.yml"


def compose(**variables: str) -> dict[str, Any]:
    """The file with these variables for ${NAME:-default}, and the defaults of all
    others.
    """

    def value(match: re.Match[str]) -> str:
        return variables.get(match[1], match[2])

    found: dict[str, Any] = yaml.safe_load(
        re.sub(r"\$\{(\w+):-([^}]*)\}", value, COMPOSE.read_text())
    )
    return found


def ours(**variables: str) -> dict[str, dict[str, Any]]:
    """The services that run our image."""
    services: dict[str, dict[str, Any]] = compose(**variables)["services"]
    return {
        name: service
        for name, service in services.items()
        if service["image"] == "counterpoise:local"
    }


def pools() -> dict[str, dict[str, Any]]:
    """The services that evaluate, by name."""
    return {
        name: service
        for name, service in ours().items()
        if service["command"][0] == "worker"
    }


def dockerfile() -> list[tuple[str, str]]:
    """Instructions and their arguments, continued lines joined and comments left out."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.M).replace(
        "\\\n", " "
    )
    pairs = [line.split(maxsplit=1) for line in text.splitlines() if line.strip()]
    return [(word, " ".join(rest.split())) for word, rest in pairs]


def arguments(instruction: str) -> list[str]:
    return [rest for word, rest in dockerfile() if word == instruction]


def image_command(instruction: str) -> list[str]:
    """The JSON list of ENTRYPOINT, CMD or HEALTHCHECK."""
    (said,) = arguments(instruction)
    found: list[str] = json.loads(said[said.index("[") :])
    return found
