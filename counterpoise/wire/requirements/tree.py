"""The tree of a requirement."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain


@dataclass(frozen=True, slots=True)
class Number:
    value: float


@dataclass(frozen=True, slots=True)
class Name:
    """A variable, and the place in the text where it is used."""

    name: str
    position: int


@dataclass(frozen=True, slots=True)
class Negation:
    operand: "Expression"


@dataclass(frozen=True, slots=True)
class Operation:
    """left + right; the operator is one of + - * / **."""

    operator: str
    left: "Expression"
    right: "Expression"


@dataclass(frozen=True, slots=True)
class Call:
    function: str
    arguments: tuple["Expression", ...]


Expression = Number | Name | Negation | Operation | Call


@dataclass(frozen=True, slots=True)
class Requirement:
    """`a <= b`, or a chain `a <= b < c`: one operator between each two operands."""

    text: str
    operands: tuple[Expression, ...]
    operators: tuple[str, ...]

    @property
    def names(self) -> tuple[Name, ...]:
        """Every use of a variable, from left to right."""
        return tuple(
            chain.from_iterable(names_in(operand) for operand in self.operands)
        )


def children_of(expression: Expression) -> tuple[Expression, ...]:
    match expression:
        case Negation(operand):
            return (operand,)
        case Operation(_, left, right):
            return (left, right)
        case Call(_, arguments):
            return arguments
        case _:
            return ()


def names_in(expression: Expression) -> Iterator[Name]:
    if isinstance(expression, Name):
        yield expression
    for child in children_of(expression):
        yield from names_in(child)
