"""The environment of evaluations."""

import os


def inherited_environment() -> dict[str, str]:
    """The worker's, without its own settings, such as a token: simulations print their
    environment into logs, and need not be trusted with it.
    """
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("COUNTERPOISE_")
    }
