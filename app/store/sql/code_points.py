"""Text in the order of its code points."""

from typing import Any

from sqlalchemy import (
    String,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement


class by_code_points(FunctionElement[str]):  # noqa: N801  (reads as a function in queries)
    """Text in the order of Python's `sorted`, whatever the database's language, so that
    all lock in one order.
    """

    type = String()
    inherit_cache = True


@compiles(by_code_points)
def _plain(element: by_code_points, compiler: SQLCompiler, **options: Any) -> str:
    return compiler.process(element.clauses, **options)


@compiles(by_code_points, "postgresql")
def _collated(element: by_code_points, compiler: SQLCompiler, **options: Any) -> str:
    return f'{compiler.process(element.clauses, **options)} COLLATE "C"'
