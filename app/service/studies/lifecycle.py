"""Studies: create, pause, resume, stop, extend, retry, delete."""

import secrets
from typing import Any

from sqlalchemy import Connection, Row
from sqlalchemy.exc import IntegrityError

from app.domain.changes import Change, Ledger, superseded
from app.domain.step_names import name_in
from app.errors import ObjectiveUnknown, RequestRefused, StudyBusy, StudyExists, StudyUnknown
from app.service.planning.ratios import declared_ratios
from app.service.planning.schedule import announce, make_due_what_is
from app.service.studies.health import ENDINGS
from app.store.database import Database
from app.store.events import feed_deletion
from app.store.sql.clock import database_now
from app.store.studies.steps import drop_due, make_due, steps_of
from app.store.studies.studies import (
    NewObjective,
    change_study,
    create_study,
    delete_study,
    find_study,
    find_study_by_id,
    guests,
    leased_counts,
    objectives_of,
    study_names,
)
from app.store.wakeups import notify
from app.store.work.apply import write
from app.store.work.row_locks import failed_jobs, lock_open_jobs, ready_jobs
from counterpoise.wire.codes import Ending
from counterpoise.wire.problems import did_you_mean
from counterpoise.wire.specification import Specification


def create(database: Database, spec: Specification, lease_s: float, *, paused: bool = False) -> bool:
    """Store a new study; False if the same one is there already, which goes on as it is."""
    try:
        return database.write(lambda connection: _create(connection, spec, lease_s, paused))
    except IntegrityError:  # somebody created it between our look and our insert
        return database.write(lambda connection: _create(connection, spec, lease_s, paused))


def _create(connection: Connection, spec: Specification, lease_s: float, paused: bool) -> bool:
    there = find_study(connection, spec.name)
    if there is not None:
        before = Specification.model_validate(there.spec)  # a database may give 1e23 back as an integer
        differing = sorted(name for name in Specification.model_fields if getattr(before, name) != getattr(spec, name))
        if not differing:
            return False
        raise StudyExists(
            f"study {spec.name!r} exists with another specification (it differs in {', '.join(differing)});"
            " choose another name, or delete it first"
        )
    ratios = declared_ratios(spec) or [1.0] * len(spec.objectives)
    leases = {o.name: o.lease_s or spec.lease_s or lease_s for o in spec.objectives}
    objectives = [
        NewObjective(o.name, leases[o.same_run_as or o.name], o.timeout_s, o.same_run_as, ratio)
        for o, ratio in zip(spec.objectives, ratios, strict=True)
    ]
    seed = spec.seed if spec.seed is not None else secrets.randbits(62)
    state = "paused" if paused else "active"
    study = create_study(connection, spec.name, spec.model_dump(mode="json"), spec.budget, seed, objectives, state)
    created = Ledger(events=[("created", {"budget": spec.budget})])
    write(connection, find_study_by_id(connection, study), created, {})
    plan_initial(connection, find_study_by_id(connection, study))
    return True


def plan_initial(connection: Connection, study: Row[Any]) -> None:
    """The design is due; if it was before, it is now due with what has been imported since."""
    drop_due(connection, study.id, ["initial"])
    # Numbered, for a study that was stopped with its design may be extended and needs another.
    number = len(steps_of(connection, study.id, "initial"))
    missing = Specification.model_validate(study.spec).initial_count - study.imported_complete
    inputs = {"size": max(missing, 0), "budget": study.budget}
    make_due(connection, study.id, "initial", number, study.sequence, inputs)
    announce(connection, study, [name_in(study, "initial", number)])


def find(connection: Connection, name: str, *, lock: bool = False) -> Row[Any]:
    study = find_study(connection, name, lock=lock)
    if study is None:
        raise StudyUnknown(f"there is no study {name!r}{did_you_mean(name, study_names(connection))}")
    return study


def pause(database: Database, name: str) -> None:
    """No new leases and no new steps; what runs goes on."""
    database.write(lambda connection: _switch(connection, name, "paused"))


def resume(database: Database, name: str) -> None:
    database.write(lambda connection: _switch(connection, name, "active"))


def _switch(connection: Connection, name: str, state: str) -> None:
    study = find(connection, name, lock=True)
    if study.state == state:
        return
    change_study(connection, study.id, state=state)
    write(connection, study, Ledger(events=[("paused" if state == "paused" else "resumed", {})]), {})
    notify(connection)


def stop(database: Database, name: str, *, cancel_running: bool) -> None:
    """Finish now: ready jobs are superseded, running ones may finish or, on request, are advised to cancel.

    So it is with a study that had finished and whose failed jobs were retried: what runs does not return to ready.
    """

    def work(connection: Connection) -> None:
        study = find(connection, name, lock=True)
        also = guests(objectives_of(connection, study.id))
        drop_due(connection, study.id, ["initial", "stream", "search", "closing"])
        pointless = ready_jobs(connection, study.id, only_cheap=False)
        open_before = study.phase != "finished"
        said: list[tuple[str, dict[str, Any]]] = [
            ("stopped", {}),
            ("finished", {"reason": Ending.STOPPED, "detail": ENDINGS[Ending.STOPPED]}),
        ]
        write(connection, study, Ledger(changes=superseded(pointless), events=said if open_before else []), also)
        if open_before:
            change_study(connection, study.id, phase="finished", finished_at=database_now())
        if open_before or pointless or any(leased_counts(connection, study.id).values()):
            change_study(connection, study.id, ending=Ending.STOPPED)
        change_study(connection, study.id, cancel_running=cancel_running)

    database.write(work)


def extend(database: Database, name: str, budget: int) -> None:
    """A larger budget; reopens a finished study."""

    def work(connection: Connection) -> None:
        study = find(connection, name, lock=True)
        if budget <= study.budget:
            raise RequestRefused(
                f"study {name!r} has a budget of {study.budget} already; extend it to more than that, not to {budget}"
            )
        phase = study.phase if study.phase != "finished" else "search" if study.step else "initial"
        reopened = {"phase": phase, "finished_at": None, "ending": None, "cancel_running": False}
        change_study(connection, study.id, budget=budget, **reopened)
        write(connection, study, Ledger(events=[("extended", {"budget": budget, "phase": phase})]), {})
        drop_due(connection, study.id, ["closing"])
        now = find_study_by_id(connection, study.id)
        if now.phase == "initial" and now.planned_full == 0:
            plan_initial(connection, now)
        else:
            make_due_what_is(connection, now)

    database.write(work)


def retry(database: Database, name: str, objectives: list[str] | None) -> int:
    """Failed jobs are ready again, as if never tried; answers how many."""

    def work(connection: Connection) -> int:
        study = find(connection, name, lock=True)
        rows = objectives_of(connection, study.id)
        runs = {row.name: row.id for row in rows if row.same_run_as is None}
        unknown = [each for each in objectives or () if each not in runs]
        if unknown:
            raise ObjectiveUnknown(
                f"objective {unknown[0]!r} has no jobs of its own in study {name!r}{did_you_mean(unknown[0], runs)}"
            )
        wanted = [runs[each] for each in objectives] if objectives is not None else list(runs.values())
        found = failed_jobs(connection, study.id, wanted)
        said = [("retried", {"jobs": len(found)})] if found else []
        write(connection, study, Ledger(changes=[Change(job, "ready") for job in found], events=said), guests(rows))
        if found:
            change_study(connection, study.id, cancel_running=False)  # their values are wanted, though it was stopped
            notify(connection)
        return len(found)

    return database.write(work)


def delete(database: Database, name: str, *, force: bool) -> None:
    """Remove a study and all that belongs to it."""

    def work(connection: Connection) -> None:
        study = find(connection, name, lock=True)
        lock_open_jobs(connection, study.id)  # an ask locks no study, and would lease one behind our back
        leased = sum(leased_counts(connection, study.id).values())
        if leased and not force:
            jobs = "1 job is" if leased == 1 else f"{leased} jobs are"
            raise StudyBusy(
                f"{jobs} with workers and the values would be lost; stop study {name!r} and wait,"
                " or delete it with force"
            )
        delete_study(connection, study.id)
        feed_deletion(connection, study.id, name)

    database.write(work)
