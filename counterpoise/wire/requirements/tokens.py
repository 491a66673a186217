"""The words of a requirement."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from counterpoise.wire.text import printable

MOST_CHARACTERS = 1000
TOKEN = re.compile(
    r"(?P<space>\s+)"
    r"|(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[A-Za-z][A-Za-z0-9_.]*|`[^`]*`)"
    r"|(?P<symbol>\*\*|<=|>=|==|!=|[-+*/(),<>=^])"
)


class RequirementInvalid(ValueError):
    """The text is no requirement. `position` counts characters from 1."""

    def __init__(self, position: int, detail: str) -> None:
        self.position = position
        self.detail = detail
        super().__init__(f"at character {position}: {detail}")


class TokenKind(StrEnum):
    NUMBER = "number"
    NAME = "name"
    SYMBOL = "symbol"
    END = "end"


@dataclass(frozen=True, slots=True)
class Token:
    kind: TokenKind
    text: str
    position: int

    def __str__(self) -> str:
        if self.kind is TokenKind.END:
            return "the end"
        return repr(self.text if len(self.text) <= 40 else self.text[:37] + "…")


def tokens_of(text: str) -> Iterator[Token]:
    """The words, then one of kind END. Raises RequirementInvalid."""
    if len(text) > MOST_CHARACTERS:
        raise RequirementInvalid(
            MOST_CHARACTERS + 1,
            f"{len(text)} characters; there can be at most {MOST_CHARACTERS}",
        )
    start = 0
    while start < len(text):
        match = TOKEN.match(text, start)
        if match is None:
            raise RequirementInvalid(start + 1, _unknown_character(text[start]))
        if match.lastgroup != "space":
            yield _token(match)
        start = match.end()
    yield Token(TokenKind.END, "", len(text) + 1)


def _token(match: re.Match[str]) -> Token:
    kind = TokenKind(str(match.lastgroup))
    return Token(kind, match.group().strip("`"), match.start() + 1)


def _unknown_character(character: str) -> str:
    hints = {
        "`": "a name in backquotes needs a second backquote",
        "[": "use parentheses",
        "{": "use parentheses",
        "≤": "write <=",
        "≥": "write >=",
        "&": "write two requirements instead of joining them",
        "|": "only requirements that all hold are possible",
        '"': "only numbers can be compared",
        "'": "only numbers can be compared",
    }
    hint = hints.get(character)
    shown = printable(repr(character))
    return f"{shown} has no meaning here" + (f"; {hint}" if hint else "")
