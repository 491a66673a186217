"""Exports: all that a study has, page by page, so that neither memory nor a connection
is held while a client reads.
"""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal

from pydantic import BaseModel

from app.domain.studies import Study
from app.errors import StateChanged
from app.service.files.cells import text_cell
from app.service.files.columns import ABOUT, columns_of
from app.service.files.evaluation_reader import INFEASIBLE
from app.service.require_study import require_study
from app.service.studies.front import front
from app.service.studies.listings import list_attempts, list_samples, list_steps
from app.store.database import Database
from counterpoise.wire.specification import Specification
from counterpoise.wire.text import visible
from counterpoise.wire.views import AttemptView, FrontItem, SampleView, StepView

What = Literal["samples", "jobs", "steps", "front"]
Format = Literal["csv", "json"]
PAGE = 1000
STEPS_PAGE = 50  # their records are large
Pages = Iterable[Sequence[BaseModel]]


def export(database: Database, name: str, what: What, form: Format) -> Iterator[str]:
    """A file in parts. An unknown study raises now, not when the first part is read."""
    with database.read() as connection:
        study = require_study(connection, name)
    pages = _of_same_study(database, study, _pages(database, name, what))
    return _csv(pages, *_layout(study.spec, what)) if form == "csv" else _json(pages)


def _pages(database: Database, name: str, what: What) -> Pages:
    match what:
        case "samples":
            return _following(
                lambda after: list_samples(database, name, after, PAGE, None)
            )
        case "jobs":
            return _following(lambda after: list_attempts(database, name, after, PAGE))
        case "steps":
            return _following(
                lambda after: list_steps(database, name, after, STEPS_PAGE)
            )
        case "front":
            return iter([front(database, name)])


def _of_same_study(
    database: Database, study: Study, pages: Pages
) -> Iterator[Sequence[BaseModel]]:
    """The pages; StateChanged as soon as another study has taken the name."""
    for page in pages:
        with database.read() as connection:
            if require_study(connection, study.name).id != study.id:
                raise StateChanged(
                    f"study {study.name!r} was deleted and created again during its export"
                )
        yield page


def _following(
    page: Callable[[int], Sequence[tuple[int, BaseModel]]],
) -> Iterator[list[BaseModel]]:
    rows = page(0)
    while rows:
        yield [item for _, item in rows]
        rows = page(rows[-1][0])
    yield []


def _layout(
    spec: Specification, what: What
) -> tuple[list[str], Callable[[Any], Iterable[Any]]]:
    """The headings, and a function that returns the cells of an item."""
    if what in ("jobs", "steps"):
        names = list((AttemptView if what == "jobs" else StepView).model_fields)
        return names, lambda item: [getattr(item, name) for name in names]
    about = [
        name
        for name in ABOUT
        if name in (SampleView if what == "samples" else FrontItem).model_fields
    ]
    floats = {variable.name for variable in spec.variables if variable.type == "float"}

    def cells(item: Any) -> Iterator[Any]:
        yield from (getattr(item, name) for name in about)
        yield from (
            float(value) if name in floats else value for name, value in item.x.items()
        )
        failures = getattr(item, "failures", {})
        for name in spec.output_names:
            infeasible = INFEASIBLE if failures.get(name) == INFEASIBLE else None
            yield item.values.get(name, infeasible)

    return [*about, *columns_of(spec).headings], cells


def _csv(
    pages: Pages, headings: list[str], cells: Callable[[Any], Iterable[Any]]
) -> Iterator[str]:
    """As in RFC 4180: commas, CRLF, quotes where they are needed."""
    yield _lines([headings])
    for page in pages:
        rows = [list(map(_cell, cells(item))) for item in page]
        yield _lines(rows)


def _lines(rows: Iterable[Sequence[str]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool | dict):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, str):
        return text_cell(visible(value))
    return repr(value) if isinstance(value, float) else str(value)


def _json(pages: Pages) -> Iterator[str]:
    """One item a line, as the lists of the API have them."""
    start = '{"items": [\n'
    for page in pages:
        if page:
            yield start + ",\n".join(item.model_dump_json() for item in page)
            start = ",\n"
    yield ("" if start == ",\n" else start) + '\n], "next": null}\n'
