"""The parser of requirements.

requirement  sum (("<=" | "<" | ">=" | ">") sum)+
sum          product (("+" | "-") product)*
product      factor (("*" | "/") factor)*
factor       "-" factor | power
power        atom ("**" factor)?
atom         number | name | function "(" sum ("," sum)* ")" | "(" sum ")"
"""

import math
from collections.abc import Callable

from counterpoise.wire.problems import did_you_mean
from counterpoise.wire.requirements.tokens import (
    RequirementInvalid,
    Token,
    TokenKind,
    tokens_of,
)
from counterpoise.wire.requirements.tree import (
    Call,
    Expression,
    Name,
    Negation,
    Number,
    Operation,
    Requirement,
)

COMPARISONS = ("<=", "<", ">=", ">")
# Fewest and most arguments
FUNCTIONS = {
    "abs": (1, 1),
    "sqrt": (1, 1),
    "exp": (1, 1),
    "log": (1, 1),
    "sin": (1, 1),
    "cos": (1, 1),
    "min": (2, 20),
    "max": (2, 20),
}
MOST_NODES, MOST_DEPTH = 500, 30
NO_EQUALITY = (
    "an equality leaves almost nothing to search; solve it for one variable, leave"
    " that one out of the study and compute it in the simulation, or write"
    " abs(a - b) <= tolerance"
)


def parse_requirement(text: str) -> Requirement:
    """Raises RequirementInvalid."""
    return _Parser(text).requirement()


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(tokens_of(text))
        self.next = 0
        self.nodes = 0
        self.depth = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.next]

    def requirement(self) -> Requirement:
        operands = [self._sum()]
        operators: list[str] = []
        while self._is_symbol(*COMPARISONS):
            operators.append(self._take().text)
            operands.append(self._sum())
        self._check_end(operators)
        return Requirement(self.text, tuple(operands), tuple(operators))

    def _check_end(self, operators: list[str]) -> None:
        token = self.token
        if self._is_symbol("=", "=="):
            raise RequirementInvalid(token.position, NO_EQUALITY)
        if self._is_symbol("!="):
            raise RequirementInvalid(
                token.position, "'!=' excludes almost nothing; leave it out"
            )
        if self._is_symbol("^"):
            raise RequirementInvalid(token.position, "write a power as a ** b")
        if token.kind is not TokenKind.END:
            raise RequirementInvalid(
                token.position, f"an operator or a comparison is missing before {token}"
            )
        if not operators:
            raise RequirementInvalid(
                token.position,
                "there is nothing to compare; write for instance x1 + x2 <= 1",
            )

    def _sum(self) -> Expression:
        return self._left_to_right(("+", "-"), self._product)

    def _product(self) -> Expression:
        return self._left_to_right(("*", "/"), self._factor)

    def _left_to_right(
        self, operators: tuple[str, ...], operand: Callable[[], Expression]
    ) -> Expression:
        left = operand()
        while self._is_symbol(*operators):
            operator = self._take().text
            left = self._node(Operation(operator, left, operand()))
        return left

    def _factor(self) -> Expression:
        # Everything that is nested passes here once for each level
        self._enter()
        if self._is_symbol("-"):
            self._take()
            factor: Expression = self._node(Negation(self._factor()))
        else:
            factor = self._power()
        self.depth -= 1
        return factor

    def _power(self) -> Expression:
        base = self._atom()
        if not self._is_symbol("**"):
            return base
        self._take()
        return self._node(Operation("**", base, self._factor()))

    def _atom(self) -> Expression:
        token = self._take()
        if token.kind is TokenKind.NUMBER:
            return self._node(_number(token))
        if token.kind is TokenKind.NAME:
            if self._is_symbol("("):
                return self._call(token)
            return self._node(Name(token.text, token.position))
        if token.kind is TokenKind.SYMBOL and token.text == "(":
            inner = self._sum()
            self._expect(")")
            return inner
        raise RequirementInvalid(
            token.position, f"a number, a variable or '(' is missing before {token}"
        )

    def _call(self, function: Token) -> Expression:
        if function.text not in FUNCTIONS:
            hint = did_you_mean(function.text, FUNCTIONS)
            known = hint or f"; there are {', '.join(FUNCTIONS)}"
            raise RequirementInvalid(
                function.position, f"there is no function {function}{known}"
            )
        self._expect("(")
        arguments = [self._sum()]
        while self._is_symbol(","):
            self._take()
            arguments.append(self._sum())
        self._expect(")")
        fewest, most = FUNCTIONS[function.text]
        if not fewest <= len(arguments) <= most:
            wanted = "1 argument" if most == 1 else f"{fewest} to {most} arguments"
            raise RequirementInvalid(
                function.position,
                f"{function.text} takes {wanted}, not {len(arguments)}",
            )
        return self._node(Call(function.text, tuple(arguments)))

    def _is_symbol(self, *symbols: str) -> bool:
        return self.token.kind is TokenKind.SYMBOL and self.token.text in symbols

    def _take(self) -> Token:
        token = self.token
        if token.kind is not TokenKind.END:
            self.next += 1
        return token

    def _expect(self, symbol: str) -> None:
        if not self._is_symbol(symbol):
            raise RequirementInvalid(
                self.token.position, f"{symbol!r} is missing before {self.token}"
            )
        self._take()

    def _enter(self) -> None:
        self.depth += 1
        if self.depth > MOST_DEPTH:
            raise RequirementInvalid(
                self.token.position,
                f"nested more than {MOST_DEPTH} deep; write shorter requirements",
            )

    def _node(self, expression: Expression) -> Expression:
        self.nodes += 1
        if self.nodes > MOST_NODES:
            raise RequirementInvalid(
                self.token.position,
                f"more than {MOST_NODES} numbers, names and operators",
            )
        return expression


def _number(token: Token) -> Number:
    value = float(token.text)
    if not math.isfinite(value):
        raise RequirementInvalid(token.position, f"{token} is too large a number")
    return Number(value)
