"""Where a text begins in another one."""

from typing import Any

from sqlalchemy import Integer
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement


class position_of(FunctionElement[int]):  # noqa: N801  (reads as a function in queries)
    """`position_of(text, part)`: counted from 1; 0 where the part does not occur."""

    type = Integer()
    inherit_cache = True


@compiles(position_of, "sqlite")
def _instr(element: position_of, compiler: SQLCompiler, **options: Any) -> str:
    return f"instr({compiler.process(element.clauses, **options)})"


@compiles(position_of, "postgresql")
def _strpos(element: position_of, compiler: SQLCompiler, **options: Any) -> str:
    return f"strpos({compiler.process(element.clauses, **options)})"
