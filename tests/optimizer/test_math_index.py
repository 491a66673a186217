"""docs/math.md names functions; they must exist, and every equation of the code must be in its index."""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "math.md").read_text(encoding="utf-8")
MODULES = {path.stem for path in (ROOT / "app" / "optimizer").glob("*.py")} - {"__init__"}
NAMED = sorted(
    {name for name in re.findall(r"`(\w+\.\w+)`", TEXT) if name.split(".")[0] in MODULES and not name.endswith(".py")}
)
# Words that are both a module and an example's variable in the notation.
FIELDS = {"problem.d", "problem.m", "problem.ratios", "problem.cheap_threshold", "models.X", "models.F"}
FIELDS |= {"snapshot.X", "snapshot.F", "snapshot.extra", "snapshot.frozen", "strategy.size", "strategy.w_max"}


@pytest.mark.parametrize("name", [name for name in NAMED if name not in FIELDS])
def test_a_function_named_in_the_index_exists(name: str) -> None:
    module, function = name.split(".")
    assert callable(getattr(importlib.import_module(f"app.optimizer.{module}"), function))


@pytest.mark.parametrize("name", sorted(FIELDS))
def test_a_field_named_in_the_notation_exists(name: str) -> None:
    module, field = name.split(".")
    record = getattr(importlib.import_module(f"app.optimizer.{module}"), module.capitalize())
    assert hasattr(record, field)
    assert f"`{name}`" in TEXT


def test_the_index_names_most_modules() -> None:
    """Guards the pattern above: were it to match nothing, the tests above would be empty."""
    assert len(NAMED) > 40
    assert {name.split(".")[0] for name in NAMED} >= {"propose", "rvea", "acquisition", "training", "ensemble", "gp"}


def test_every_departure_marked_in_the_code_is_listed() -> None:
    listed = TEXT.split("## Departures")[1]
    marked = {
        path.stem for path in (ROOT / "app" / "optimizer").glob("*.py") if "Differs from [" in path.read_text("utf-8")
    }
    assert len(marked) >= 8
    assert {module for module in marked if f"`{module}." not in listed} == set()


def test_every_equation_of_the_paper_that_is_referenced_in_the_code_is_in_the_index() -> None:
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "app" / "optimizer").glob("*.py"))
    referenced = set(re.findall(r"\[SBP-BO\] Eq\. \([\d)(-]+\)", code))
    assert len(referenced) >= 6
    assert {each for each in referenced if each not in TEXT} == set()
