"""Arguments that a type alone does not check."""

from typing import Literal

import typer


def check_names(
    given: list[str] | None, known: tuple[str, ...], option: str
) -> list[str]:
    if not given:
        raise typer.BadParameter("name at least one, or use --all", param_hint=option)
    for name in given:
        if name not in known:
            raise typer.BadParameter(
                f"no {name!r}; there are {', '.join(known)}", param_hint=option
            )
    return given


def parse_seeds(text: str) -> list[int]:
    """ "0-2,7" -> [0, 1, 2, 7]"""
    seeds: list[int] = []
    try:
        for part in text.split(","):
            first, _, last = part.partition("-")
            seeds += range(int(first), int(last or first) + 1)
    except ValueError as error:
        raise typer.BadParameter(
            f"{text!r} is not like 0-4 or 0,2,7", param_hint="--seeds"
        ) from error
    if not seeds:
        raise typer.BadParameter(f"{text!r} has no seed", param_hint="--seeds")
    return seeds


def count_or_auto(text: str, option: str, least: int) -> int | Literal["auto"]:
    if text == "auto":
        return "auto"
    if not text.isdecimal() or int(text) < least:
        raise typer.BadParameter(
            f"must be auto or a whole number from {least} on, not {text!r}",
            param_hint=option,
        )
    return int(text)
