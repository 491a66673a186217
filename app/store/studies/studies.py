"""Studies and their objectives."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, func, insert, select, update

from app.store.sql.clock import database_now
from app.store.sql.in_array import among
from app.store.tables import LEASED, jobs, objectives, studies


@dataclass(frozen=True, slots=True)
class NewObjective:
    name: str
    lease_s: float
    timeout_s: float | None = None
    same_run_as: str | None = None
    ratio: float = 1.0


def create_study(
    connection: Connection,
    name: str,
    spec: dict[str, Any],
    budget: int,
    seed: int,
    wanted: Sequence[NewObjective],
    state: str = "active",
) -> int:
    """Store a study and its objectives, in the order given; answers the study's id."""
    row = {"name": name, "spec": spec, "budget": budget, "seed": seed, "state": state, "created_at": database_now()}
    study: int = connection.execute(insert(studies).values(row).returning(studies.c.id)).scalar_one()
    ids: dict[str, int] = {}
    # An objective that comes with another one's run refers to it, so the runs themselves are stored first.
    for position, objective in sorted(enumerate(wanted), key=lambda item: item[1].same_run_as is not None):
        ids[objective.name] = connection.execute(
            insert(objectives)
            .values(
                study_id=study,
                position=position,
                name=objective.name,
                same_run_as=ids[objective.same_run_as] if objective.same_run_as else None,
                lease_s=objective.lease_s,
                timeout_s=objective.timeout_s,
                ratio=objective.ratio,
            )
            .returning(objectives.c.id)
        ).scalar_one()
    return study


def find_study(connection: Connection, name: str, *, lock: bool = False) -> Row[Any] | None:
    query = select(studies).where(studies.c.name == name)
    return connection.execute(query.with_for_update() if lock else query).one_or_none()


def find_study_by_id(connection: Connection, study: int) -> Row[Any]:
    return connection.execute(_STUDY, {"study": study}).one()


_STUDY = select(studies).where(studies.c.id == bindparam("study"))
_OBJECTIVES = select(objectives).where(among(objectives.c.study_id, "studies")).order_by(objectives.c.position)


def objectives_of(connection: Connection, study: int) -> list[Row[Any]]:
    return objectives_of_all(connection, [study])[study]


def objectives_of_all(connection: Connection, ids: Sequence[int]) -> dict[int, list[Row[Any]]]:
    """By study, in the order of their positions."""
    found: dict[int, list[Row[Any]]] = {study: [] for study in ids}
    for row in connection.execute(_OBJECTIVES, {"studies": ids}):
        found[row.study_id].append(row)
    return found


def guests(rows: Sequence[Row[Any]]) -> dict[int, list[int]]:
    """The objectives that come with each objective's run."""
    found: dict[int, list[int]] = {row.id: [] for row in rows if row.same_run_as is None}
    for row in rows:
        if row.same_run_as is not None:
            found[row.same_run_as].append(row.id)
    return found


def queues(connection: Connection, study: int) -> dict[str, int]:
    """The study's objectives that have jobs of their own, by name."""
    return {row.name: row.id for row in objectives_of(connection, study) if row.same_run_as is None}


def leased_counts(connection: Connection, study: int) -> dict[int, int]:
    """How many jobs of each objective are leased; as many rows are looked at as there are busy slots."""
    ids = select(objectives.c.id).where(objectives.c.study_id == study)
    query = (
        select(jobs.c.objective_id, func.count().label("leased"))
        .where(jobs.c.objective_id.in_(ids), jobs.c.state == LEASED)
        .group_by(jobs.c.objective_id)
    )
    return {row.objective_id: row.leased for row in connection.execute(query)}


def cancelling(connection: Connection, ids: Collection[int]) -> set[int]:
    """Which of these studies were stopped with the advice to give up what runs."""
    query = select(studies.c.id).where(among(studies.c.id, "ids", ids), studies.c.cancel_running)
    return set(connection.execute(query).scalars())


def study_names(connection: Connection) -> list[str]:
    return list(connection.execute(select(studies.c.name).order_by(studies.c.id.desc()).limit(1000)).scalars())


def change_study(connection: Connection, study: int, **columns: Any) -> None:
    connection.execute(update(studies).where(studies.c.id == study).values(**columns))


def change_objective(connection: Connection, objective: int, **columns: Any) -> None:
    connection.execute(update(objectives).where(objectives.c.id == objective).values(**columns))


def delete_study(connection: Connection, study: int) -> None:
    connection.execute(delete(studies).where(studies.c.id == study))


def page_of_studies(connection: Connection, after: int, limit: int) -> list[Row[Any]]:
    query = select(studies).where(studies.c.id > after).order_by(studies.c.id).limit(limit)
    return list(connection.execute(query).all())


@dataclass(frozen=True, slots=True)
class Queue:
    """One objective's jobs, as an ask meets them."""

    id: int
    study: int
    study_name: str
    objective: str
    state: str
    phase: str
    open: int  # jobs neither done nor failed nor superseded
    ending: str | None  # how the study ended


def find_queues(connection: Connection, names: Sequence[str] | None) -> list[Queue]:
    """The queues of these studies (None: of all), by study and position."""
    query = _QUEUES if names is None else _QUEUES_OF
    rows = connection.execute(query, {} if names is None else {"names": list(names)})
    return [Queue(*row) for row in rows]


_QUEUES = (
    select(
        objectives.c.id,
        studies.c.id.label("study"),
        studies.c.name.label("study_name"),
        objectives.c.name,
        studies.c.state,
        studies.c.phase,
        (objectives.c.created - objectives.c.done - objectives.c.failed - objectives.c.superseded).label("open"),
        studies.c.ending,
    )
    .join(studies, studies.c.id == objectives.c.study_id)
    .where(objectives.c.same_run_as.is_(None))
    .order_by(studies.c.id, objectives.c.position)
)
_QUEUES_OF = _QUEUES.where(among(studies.c.name, "names"))
