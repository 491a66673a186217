"""The view of a study, which every watcher polls."""

from typing import Any

from app.service.studies.progress import study_view
from app.store.database import Database
from tests.executed_statements import executed_statements
from tests.service.lab import Lab


def count_statements(database: Database, study: str) -> int:
    with executed_statements() as executed:
        study_view(database, study)
    return len(executed)


def test_the_number_of_statements_does_not_depend_on_the_size_of_the_study(
    database: Database,
) -> None:
    small = Lab(database)
    small.plan()
    twelve: list[dict[str, Any]] = [
        {"name": f"f{number}", "evaluation_time_s": 1.0} for number in range(12)
    ]
    large = Lab(
        database, name="large", objectives=twelve, initial_samples=20, budget=40
    )
    large.plan()
    held = large.ask(*(f"f{number}" for number in range(6)), most=30, worker="a")
    for job in held[::2]:
        large.tell(job, 1.0)
    large.ask("f7", worker="b")
    assert count_statements(database, "large") == count_statements(database, "wing")
