"""Arguments that a type alone does not check."""

from collections.abc import Iterable
from typing import Literal

import typer

from app.optimizer.strategies.catalogue import STRATEGIES
from benchmarks.paper.evaluations import ratios
from benchmarks.paper.protocol import instance_of
from benchmarks.paper.results import Spec
from counterpoise.wire.specification import BENCHMARK_ONLY


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


def check_applies(specs: Iterable[Spec]) -> None:
    """Refuses a strategy for problems that it does not apply to."""
    seen = {(spec.strategy, spec.problem, spec.m): spec for spec in specs}
    for (name, problem, m), spec in seen.items():
        if name not in STRATEGIES:
            continue
        instance = instance_of(spec)
        declared = instance.declare(ratios(instance, spec.ratios or spec.rc))
        refusal = STRATEGIES[name].refusal(declared)
        if name == BENCHMARK_ONLY and spec.slots:
            refusal = f"{name} calls the cheap objectives; in virtual time workers do"
        if refusal is not None:
            raise typer.BadParameter(
                f"{name} on {problem}, m = {m}: {refusal}", param_hint="--strategy"
            )


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
