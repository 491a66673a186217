"""`among(column, "ids")`: the column is one of the values given as `ids`, however many.

They travel as one parameter: the statement is the same for one and for ten thousand, so that PostgreSQL reads and plans
it once, and no limit on the number of parameters matters.
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
        return dialect.type_descriptor(ARRAY(self.item) if dialect.name == "postgresql" else Text())

    def process_bind_param(self, value: Iterable[Any] | None, dialect: Dialect) -> Any:
        values = list(value or ())
        return values if dialect.name == "postgresql" else json.dumps(values)


class _Among(FunctionElement[bool]):
    type = Boolean()
    inherit_cache = True
    name = "among"

    def self_group(self, against: Any = None) -> Any:  # noqa: ARG002  (the library's signature)
        """As it is. For SQLite, which has no booleans, a condition would become `(… IN …) = 1`: no index helps that."""
        return self


def among(column: Column[Any], parameter: str, values: Iterable[Any] | None = None) -> _Among:
    """`values` may be given at once, or with the statement's other parameters."""
    return _Among(column, bindparam(parameter, values, type_=_Values(column.type), required=values is None))


@compiles(_Among, "postgresql")
def _array(element: _Among, compiler: SQLCompiler, **options: Any) -> str:
    column, values = (compiler.process(part, **options) for part in element.clauses)
    return f"{column} = ANY ({values})"


@compiles(_Among, "sqlite")
def _json(element: _Among, compiler: SQLCompiler, **options: Any) -> str:
    column, values = (compiler.process(part, **options) for part in element.clauses)
    return f"{column} IN (SELECT value FROM json_each({values}))"  # noqa: S608  (compiled parts)
