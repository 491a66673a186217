"""Values that break a limit: what a cheap run rules out is not run any further."""

import pytest

from app.service.studies.explain_job import explain_job
from app.service.work.heartbeat import heartbeat
from app.service.work.tell import tell
from app.store.database import Database
from app.store.tables import events, samples
from counterpoise.wire.codes import CancelReason, JobState
from counterpoise.wire.work import Job, Tell
from tests.service.constrained_study import CONSTRAINED
from tests.service.lab import Lab
from tests.service.work.test_withdrawal import counts, job_of, sample


def job_state(lab: Lab, job: Job, output: str) -> str:
    return str(job_of(lab, job.sample, output)["state"])


def test_a_constraint_has_jobs_leases_and_counters(database: Database) -> None:
    lab = Lab(database, **CONSTRAINED)
    lab.plan()
    (job,) = lab.ask("drag")
    assert (job.objective, job.also) == ("drag", [])
    assert lab.tell(job, 0.2).status == 200
    drag, lift = lab.view().constraints
    assert (drag.name, drag.upper, drag.lower) == ("drag", 0.25, None)
    assert (drag.ratio, drag.cheap, drag.done, drag.ready) == (4.0, True, 1, 3)
    assert (lift.same_run_as, lift.ratio, lift.cheap) == ("crash", 1.0, False)
    lab.check_counters()


def test_the_slow_run_waits_for_cheap_limits(database: Database) -> None:
    lab = Lab(database, **CONSTRAINED)
    lab.plan()
    (job,) = lab.ask("drag")
    assert job_state(lab, job, "crash") == JobState.WAITING
    lab.tell(job, 0.25)  # on the limit: it is kept
    assert job_state(lab, job, "crash") == JobState.WAITING
    (mass,) = [each for each in lab.ask("mass", most=8) if each.sample == job.sample]
    lab.tell(mass)
    assert job_state(lab, job, "crash") == JobState.READY


def test_a_broken_cheap_limit_withdraws_the_sample(database: Database) -> None:
    lab = Lab(database, **CONSTRAINED)
    lab.plan()
    (job,) = lab.ask("drag")
    lab.tell(job, 0.26)
    assert job_state(lab, job, "crash") == JobState.SUPERSEDED
    assert job_state(lab, job, "mass") == JobState.SUPERSEDED
    assert job_state(lab, job, "drag") == JobState.DONE
    assert counts(lab) == (3, 0, 1)
    assert sample(lab, job.sample)["infeasible"]
    (withdrawn,) = [row for row in lab.rows(events) if row["kind"] == "withdrawn"]
    assert withdrawn["body"] == {"sample": job.sample, "jobs": 2}
    slow = job_of(lab, job.sample, "crash")["id"]
    assert "drag is 0.26, its upper limit 0.25" in explain_job(database, slow).why[0]
    assert "its upper limit 0.25" in explain_job(database, job.job).why[1]
    lab.check_counters()


def test_a_run_under_way_is_advised_to_cancel(database: Database) -> None:
    lab = Lab(database, **CONSTRAINED, cheap_first=False)
    lab.plan()
    (slow,) = lab.ask("crash")
    (job,) = [each for each in lab.ask("drag", most=8) if each.sample == slow.sample]
    lab.tell(job, 1.0)
    (alive,) = heartbeat(database, [slow.lease])
    assert (alive.cancel, alive.reason) == (True, CancelReason.SAMPLE_INFEASIBLE)


def test_a_broken_slow_limit_is_a_result_and_keeps_its_place(
    database: Database,
) -> None:
    lab = Lab(database, **CONSTRAINED, cheap_first=False)
    lab.plan()
    (slow,) = lab.ask("crash")
    assert slow.also == ["lift"]
    lab.tell(slow, 1.0, also={"lift": 0.05})
    assert job_state(lab, slow, "mass") == JobState.READY
    assert counts(lab) == (4, 0, 0)
    assert not sample(lab, slow.sample)["infeasible"]


def test_a_limit_of_a_value_that_comes_with_a_cheap_run(database: Database) -> None:
    constraint = {"name": "drag", "upper": 0.25, "same_run_as": "mass"}
    lab = Lab(database, **{**CONSTRAINED, "constraints": [constraint]})
    lab.plan()
    (job,) = lab.ask("mass")
    lab.tell(job, 1.0, also={"drag": 0.3})
    assert job_state(lab, job, "crash") == JobState.SUPERSEDED


def test_a_limit_of_an_objective(database: Database) -> None:
    objectives = [
        {"name": "mass", "evaluation_time_s": 1.0, "lower": 0.5},
        {"name": "crash", "evaluation_time_s": 4.0},
    ]
    lab = Lab(database, objectives=objectives)
    lab.plan()
    first, second = lab.ask("mass", most=2)
    lab.tell(first, 0.4)
    lab.tell(second, 0.6)
    assert job_state(lab, first, "crash") == JobState.SUPERSEDED
    assert job_state(lab, second, "crash") == JobState.READY


def test_without_a_cheap_run_nothing_is_withdrawn(database: Database) -> None:
    constraint = {"name": "drag", "upper": 0.25, "evaluation_time_s": 4.0}
    lab = Lab(database, **{**CONSTRAINED, "constraints": [constraint]})
    lab.plan()
    (job,) = lab.ask("drag")
    lab.tell(job, 1.0)
    assert job_state(lab, job, "crash") == JobState.READY


@pytest.mark.parametrize("together", [True, False])
def test_a_list_of_tells_equals_single_tells(
    database: Database, together: bool
) -> None:
    lab = Lab(database, **CONSTRAINED, cheap_first=False)
    lab.plan()
    jobs = sorted(lab.ask(most=20), key=lambda job: job.sample)
    values = {"drag": 0.5, "mass": 1.0, "crash": 2.0}
    told = [
        Tell(
            job=job.job,
            lease=job.lease,
            value=values[job.objective],
            also={"lift": 1.0} if job.also else {},
        )
        for job in jobs
    ]
    parts = [told] if together else [[item] for item in told]
    for part in parts:
        assert {answer.status for answer in tell(database, part)} == {200}
    assert all(row["infeasible"] for row in lab.rows(samples))
    assert counts(lab) == (4, 4, 0)
    lab.check_counters()
