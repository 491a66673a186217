"""Studies and their objectives."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import (
    Connection,
    Engine,
    Select,
    and_,
    bindparam,
    delete,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from app.domain.studies import Definition, NewObjective, Objective, Queue, Run, Study
from app.store.records import objective_from_row, study_from_row
from app.store.sql.clock import database_now
from app.store.sql.in_array import in_array
from app.store.tables import LEASED, jobs, objectives, studies
from counterpoise.wire.codes import Ending, Phase, StudyState
from counterpoise.wire.specification import AUTO, Specification

MOST_CACHED = 1000
STUDY_COLUMNS = [column for column in studies.c if column.name != "spec"]
_cache: WeakKeyDictionary[Engine, dict[int, Definition]] = WeakKeyDictionary()


def definitions_of(
    connection: Connection, ids: Collection[int]
) -> dict[int, Definition]:
    """What never changes about these studies; each process reads and parses it once.

    A study that was deleted meanwhile is left out. Not to be called in the transaction
    that creates a study: SQLite would reuse the id after a rollback.
    """
    cached = _cache.setdefault(connection.engine, {})
    # A dictionary of its own: other threads may clear the cache.
    found: dict[int, Definition] = {}
    for study in ids:
        definition = cached.get(study)
        if definition is not None:
            found[study] = definition
    missing = [study for study in ids if study not in found]
    if missing:
        read = read_definitions(connection, missing)
        if len(cached) + len(read) > MOST_CACHED:
            cached.clear()
        cached.update(read)
        found.update(read)
    return found


def read_definitions(
    connection: Connection, ids: Collection[int]
) -> dict[int, Definition]:
    objectives_by_study = objectives_of_all(connection, ids)
    found = {}
    for row in connection.execute(_DEFINITIONS, {"ids": ids}):
        spec = Specification.model_validate(row.spec)
        runs = {}
        for objective in objectives_by_study[row.id]:
            if objective.has_jobs:
                also = list(spec.also(objective.name))
                declared = spec.outputs[objective.position].timeout_s
                # An automatic limit changes; its worker learns of it by a heartbeat.
                timeout_s = None if declared == AUTO else objective.timeout_s
                runs[objective.id] = Run(
                    objective.name, also, objective.lease_s, timeout_s
                )
        found[row.id] = Definition(row.name, row.seed, spec, runs)
    return found


_DEFINITIONS = select(
    studies.c.id, studies.c.name, studies.c.seed, studies.c.spec
).where(in_array(studies.c.id, "ids"))


def study_records(connection: Connection, rows: Sequence[Any]) -> list[Study]:
    """Records of rows with STUDY_COLUMNS; a study deleted meanwhile is left out."""
    definitions = definitions_of(connection, [row.id for row in rows])
    existing = [row for row in rows if row.id in definitions]
    return [study_from_row(row, definitions[row.id].spec) for row in existing]


def create_study(
    connection: Connection,
    spec: Specification,
    seed: int,
    wanted: Sequence[NewObjective],
    state: StudyState = StudyState.ACTIVE,
) -> Study | None:
    """Store a study and its objectives, in the order given; None if the name is taken."""
    row = {
        "name": spec.name,
        "spec": spec.model_dump(mode="json"),
        "budget": spec.budget,
        "seed": seed,
        "state": state,
        "created_at": database_now(),
    }
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    statement = (
        dialect.insert(studies)
        .values(row)
        .on_conflict_do_nothing(index_elements=["name"])
    )
    study: int | None = connection.execute(
        statement.returning(studies.c.id)
    ).scalar_one_or_none()
    if study is None:
        return None
    _add_objectives(connection, study, wanted)
    return study_from_row(connection.execute(_STUDY, {"study": study}).one(), spec)


def _add_objectives(
    connection: Connection, study: int, wanted: Sequence[NewObjective]
) -> None:
    ids: dict[str, int] = {}
    # Objectives that come with another one's run refer to it, so the runs are stored
    # first.
    for position, objective in sorted(
        enumerate(wanted), key=lambda item: item[1].same_run_as is not None
    ):
        row = {
            "study_id": study,
            "position": position,
            "name": objective.name,
            "same_run_as": ids[objective.same_run_as]
            if objective.same_run_as
            else None,
            "lease_s": objective.lease_s,
            "timeout_s": objective.timeout_s,
            "ratio": objective.ratio,
        }
        statement = insert(objectives).values(row).returning(objectives.c.id)
        ids[objective.name] = connection.execute(statement).scalar_one()


def find_study(
    connection: Connection, name: str, *, lock: bool = False
) -> Study | None:
    query = select(*STUDY_COLUMNS).where(studies.c.name == name)
    rows = connection.execute(query.with_for_update() if lock else query).all()
    return next(iter(study_records(connection, rows)), None)


def find_study_by_id(connection: Connection, study: int) -> Study:
    return study_records(
        connection, [connection.execute(_STUDY, {"study": study}).one()]
    )[0]


_STUDY: Select[Any] = select(*STUDY_COLUMNS).where(studies.c.id == bindparam("study"))


def page_of_studies(connection: Connection, after: int, limit: int) -> list[Study]:
    query = (
        select(*STUDY_COLUMNS)
        .where(studies.c.id > after)
        .order_by(studies.c.id)
        .limit(limit)
    )
    return study_records(connection, connection.execute(query).all())


def active_studies(connection: Connection) -> list[Study]:
    """Studies that are neither paused nor finished."""
    query = select(*STUDY_COLUMNS).where(
        studies.c.state == StudyState.ACTIVE, studies.c.phase != Phase.FINISHED
    )
    return study_records(connection, connection.execute(query).all())


def study_names(connection: Connection) -> list[str]:
    return list(
        connection.execute(
            select(studies.c.name).order_by(studies.c.id.desc()).limit(1000)
        ).scalars()
    )


def change_study(connection: Connection, study: int, **columns: Any) -> None:
    connection.execute(update(studies).where(studies.c.id == study).values(**columns))


def finish_study(connection: Connection, study: int, ending: Ending) -> None:
    change_study(
        connection,
        study,
        phase=Phase.FINISHED,
        finished_at=database_now(),
        ending=ending,
    )


def delete_study(connection: Connection, study: int) -> None:
    connection.execute(delete(studies).where(studies.c.id == study))


def studies_to_cancel(connection: Connection, ids: Iterable[int]) -> set[int]:
    """Which of these studies were stopped with the advice to cancel running jobs."""
    query = select(studies.c.id).where(
        in_array(studies.c.id, "ids", ids), studies.c.cancel_running
    )
    return set(connection.execute(query).scalars())


def objectives_of(connection: Connection, study: int) -> list[Objective]:
    return objectives_of_all(connection, [study])[study]


def objectives_of_all(
    connection: Connection, ids: Collection[int]
) -> dict[int, list[Objective]]:
    """By study, in the order of their positions."""
    found: dict[int, list[Objective]] = {study: [] for study in ids}
    for row in connection.execute(_OBJECTIVES, {"studies": ids}):
        found[row.study_id].append(objective_from_row(row))
    return found


_OBJECTIVES = (
    select(objectives)
    .where(in_array(objectives.c.study_id, "studies"))
    .order_by(objectives.c.position)
)


def change_objective(connection: Connection, objective: int, **columns: Any) -> None:
    connection.execute(
        update(objectives).where(objectives.c.id == objective).values(**columns)
    )


def leased_counts(connection: Connection, study: int) -> dict[int, int]:
    """Leased jobs by objective; reads as many rows as there are busy slots."""
    ids = select(objectives.c.id).where(objectives.c.study_id == study)
    query = (
        select(jobs.c.objective_id, func.count().label("leased"))
        .where(jobs.c.objective_id.in_(ids), jobs.c.state == LEASED)
        .group_by(jobs.c.objective_id)
    )
    return {row.objective_id: row.leased for row in connection.execute(query)}


def find_queues(connection: Connection, names: Collection[str] | None) -> list[Queue]:
    """The queues of these studies (None: of all), by study and position."""
    return _queues(connection, names, _QUEUES, _QUEUES_OF)


def open_queues(connection: Connection, names: Collection[str] | None) -> list[Queue]:
    """The queues of these studies (None: of all) that may have jobs to lease.

    Those of finished studies are left out, because a server has many of them in time.
    """
    return _queues(connection, names, _OPEN_QUEUES, _OPEN_QUEUES_OF)


def _queues(
    connection: Connection,
    names: Collection[str] | None,
    of_all: Select[Any],
    of_some: Select[Any],
) -> list[Queue]:
    query = of_all if names is None else of_some
    parameters = {} if names is None else {"names": list(names)}
    return [_queue(row) for row in connection.execute(query, parameters)]


def _queue(row: Any) -> Queue:
    return Queue(
        id=row.id,
        study=row.study_id,
        study_name=row.study_name,
        objective=row.name,
        state=StudyState(row.state),
        phase=Phase(row.phase),
        unsettled=row.unsettled,
        ending=Ending(row.ending) if row.ending is not None else None,
    )


_unsettled = (
    objectives.c.created
    - objectives.c.done
    - objectives.c.infeasible
    - objectives.c.failed
    - objectives.c.superseded
)
_QUEUES = (
    select(
        objectives.c.id,
        objectives.c.study_id,
        studies.c.name.label("study_name"),
        objectives.c.name,
        studies.c.state,
        studies.c.phase,
        _unsettled.label("unsettled"),
        studies.c.ending,
    )
    .join(studies, studies.c.id == objectives.c.study_id)
    .where(objectives.c.same_run_as.is_(None))
    .order_by(studies.c.id, objectives.c.position)
)
_QUEUES_OF = _QUEUES.where(in_array(studies.c.name, "names"))
_is_open = and_(studies.c.state == StudyState.ACTIVE, _unsettled > 0)
_OPEN_QUEUES, _OPEN_QUEUES_OF = _QUEUES.where(_is_open), _QUEUES_OF.where(_is_open)
