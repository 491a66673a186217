"""One cache of compiled statements for the engines of all tests, because compiling them
again for each test's engine takes long.
"""

from typing import Any

from sqlalchemy import Engine


class SharedStatements(dict[Any, Any]):
    """SQLAlchemy's keys begin with an engine's dialect; these, with the dialect's class."""

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get(_of_all_engines(key), default)

    def __setitem__(self, key: Any, compiled: Any) -> None:
        super().__setitem__(_of_all_engines(key), compiled)


def _of_all_engines(key: Any) -> Any:
    dialect, *statement = key
    return (type(dialect), *statement)


def share_compiled_statements() -> None:
    shared = SharedStatements()
    # An engine sets an empty cache of its own, which is not used
    cache = property(lambda _: shared, lambda *_: None)
    Engine._compiled_cache = cache  # type: ignore[assignment]
