"""Counterpoise for every node: wire shapes, client, worker and command line. Needs no numerical stack."""

from importlib.metadata import version

__version__ = version("counterpoise")
