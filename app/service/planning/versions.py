"""Versions of all that proposals depend on besides a study's data: where they are the
same, so is every bit.
"""

import platform
from functools import cache
from importlib.metadata import version

from threadpoolctl import threadpool_info

PACKAGES = ("counterpoise", "numpy", "scipy", "scikit-learn", "moocore")


def versions() -> dict[str, str]:
    return {**_installed(), "blas": ", ".join(sorted(_blas()))}


@cache  # reading them takes longer than planning a small step
def _installed() -> dict[str, str]:
    return {
        "python": platform.python_version(),
        **{name: version(name) for name in PACKAGES},
    }


def _blas() -> set[str]:
    """BLAS kernels are chosen by the processor, and sum in another order with another
    number of threads.
    """
    found = set()
    for library in threadpool_info():
        if library["user_api"] == "blas":
            architecture = library.get("architecture", "any")
            name = f"{library['internal_api']} {library['version']}"
            found.add(f"{name} on {architecture}, threads: {library['num_threads']}")
    return found
