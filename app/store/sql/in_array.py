"""`in_array(column, "ids")`: the column equals one of the values of the parameter
`ids`, however many there are.

All values are one parameter: the statement is the same for one and for ten thousand
values, so PostgreSQL parses and plans it once, and no limit on the number of parameters
applies.
"""

import json
from collections.abc import Iterable
from typing import Any

from sqlalchemy import ARRAY, Boolean, Column, Dialect, Text, bindparam
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeDecorator, TypeEngine


class _Values(TypeDecorator[Iterable[Any]]):
    """An array on PostgreSQL, a JSON list on SQLite."""

    impl = Text
    cache_ok = True

    def __init__(self, item: TypeEngine[Any]) -> None:
        super().__init__()
        self.item = item

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return dialect.type_descriptor(
            ARRAY(self.item) if dialect.name == "postgresql" else Text()
        )

    def process_bind_param(self, value: Iterable[Any] | None, dialect: Dialect) -> Any:
        values = list(value or ())
        return values if dialect.name == "postgresql" else json.dumps(values)


class _InArray(FunctionElement[bool]):
    type = Boolean()
    inherit_cache = True
    name = "in_array"

    def self_group(self, against: Any = None) -> Any:  # noqa: ARG002  (the library's signature)
        """Return it unchanged: for SQLite a condition would become `(… IN …) = 1`,
        which uses no index.
        """
        return self


def in_array(
    column: Column[Any], parameter: str, values: Iterable[Any] | None = None
) -> _InArray:
    """`values` may be given here, or with the statement's other parameters."""
    return _InArray(
        column,
        bindparam(
            parameter, values, type_=_Values(column.type), required=values is None
        ),
    )


@compiles(_InArray, "postgresql")
def _postgresql(element: _InArray, compiler: SQLCompiler, **options: Any) -> str:
    column, values = (compiler.process(part, **options) for part in element.clauses)
    return f"{column} = ANY ({values})"


@compiles(_InArray, "sqlite")
def _sqlite(element: _InArray, compiler: SQLCompiler, **options: Any) -> str:
    column, values = (compiler.process(part, **options) for part in element.clauses)
    return f"{column} IN (SELECT value FROM json_each({values}))"  # noqa: S608  (compiled parts)
