"""All rows of a database with one study, read once for all checks."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Table, select

from app.store import tables
from app.store.database import Database

Rows = list[Any]


@dataclass(frozen=True, slots=True)
class StudyTables:
    study: Any
    objectives: Rows
    samples: Rows
    jobs: Rows
    attempts: Rows
    values: Rows
    events: Rows
    steps: Rows
    workers: Rows


def read_tables(database: Database) -> StudyTables:
    with database.read() as connection:

        def rows(table: Table) -> Rows:
            return list(connection.execute(select(table).order_by(*table.primary_key)))

        (study,) = rows(tables.studies)
        return StudyTables(
            study=study,
            objectives=rows(tables.objectives),
            samples=rows(tables.samples),
            jobs=rows(tables.jobs),
            attempts=rows(tables.attempts),
            values=rows(tables.sample_values),
            events=rows(tables.events),
            steps=rows(tables.steps),
            workers=rows(tables.workers),
        )
