"""Asks: whose jobs, in which order, and why there are none."""

import pytest

from app.service.ask import explain, peek, serve
from app.service.studies import pause, resume, stop
from app.store.database import Database
from app.store.tables import attempts, workers
from counterpoise.wire.work import Ask
from tests.service.lab import Lab


@pytest.fixture
def lab(database: Database) -> Lab:
    lab = Lab(database)
    lab.plan()
    return lab


def asking(
    worker: str = "w", studies: tuple[str, ...] = ("wing",), objectives: tuple[str, ...] = ("*",), **more: int
) -> Ask:
    return Ask(worker=worker, studies=list(studies), objectives=list(objectives), **more)


def test_a_job_says_all_that_a_worker_needs(lab: Lab) -> None:
    (job,) = lab.ask("crash")
    assert (job.study, job.objective, job.attempt, job.also) == ("wing", "crash", 1, [])
    assert set(job.x) == {"a", "b"}
    assert job.heartbeat_s == 20.0
    assert job.expires_at.endswith("Z")
    assert 0 <= job.seed < 2**31


def test_the_seed_is_the_same_for_every_attempt_and_differs_between_jobs(lab: Lab) -> None:
    first, second = lab.ask("crash", most=2)
    lab.fail(first, "error")
    again = lab.ask("crash")[0]
    assert again.job == first.job
    assert again.seed == first.seed != second.seed


def test_many_asks_are_served_in_one_transaction_one_each_in_turn(lab: Lab) -> None:
    asks = [asking(f"w{i}", objectives=("mass",), max_jobs=3) for i in range(3)]
    shares = serve(lab.database, asks, 20.0)
    assert sorted(len(share) for share in shares) == [1, 1, 2]  # four jobs for nine wishes
    owner = {row["id"]: row["name"] for row in lab.rows(workers)}
    held = {row["lease"]: owner[row["worker_id"]] for row in lab.rows(attempts)}
    for ask, share in zip(asks, shares, strict=True):
        assert {held[job.lease] for job in share} == {ask.worker}


def test_asks_for_different_objectives_do_not_get_each_others(lab: Lab) -> None:
    mass, crash, both = serve(
        lab.database,
        [asking("a", objectives=("mass",)), asking("b", objectives=("crash",)), asking("c", max_jobs=50)],
        20.0,
    )
    assert [job.objective for job in mass] == ["mass"]
    assert [job.objective for job in crash] == ["crash"]
    assert len(both) == 6


def test_a_paused_study_takes_nothing_from_the_others(lab: Lab, database: Database) -> None:
    other = Lab(database, name="car")
    other.plan()
    pause(database, "wing")
    for _ in range(6):
        (share,) = serve(database, [asking(studies=("*",))], 20.0)
        assert [job.study for job in share] == ["car"]
    resume(database, "wing")
    assert lab.ask("mass")


def test_no_study_is_starved_by_another(lab: Lab, database: Database) -> None:
    Lab(database, name="car").plan()
    seen = {
        serve(database, [asking(studies=("wing", "car"), objectives=("mass",))], 20.0)[0][0].study for _ in range(8)
    }
    assert seen == {"wing", "car"}


def test_a_look_says_whether_there_is_anything(lab: Lab) -> None:
    assert peek(lab.database, [asking()])
    assert not peek(lab.database, [asking(objectives=("nothing",))])
    lab.ask(most=100)
    assert not peek(lab.database, [asking()])


@pytest.mark.parametrize(
    ("ask", "reason", "words"),
    [
        (asking(studies=("wng",)), "no_such_study", "did you mean 'wing'?"),
        (asking(objectives=("crsh",)), "no_such_objective", "did you mean 'crash'?"),
        (asking(), "all_leased", "all jobs are with workers"),
    ],
)
def test_an_empty_answer_says_why(lab: Lab, ask: Ask, reason: str, words: str) -> None:
    lab.ask(most=100)
    answer = explain(lab.database, ask)
    assert (answer.jobs, answer.reason) == ([], reason)
    assert words in (answer.detail or "")
    assert answer.retry_after_s


def test_an_empty_answer_says_paused_planning_and_finished(lab: Lab) -> None:
    for job in lab.ask("mass", most=100):
        lab.tell(job)
    assert explain(lab.database, asking(objectives=("mass",))).reason == "planning"
    pause(lab.database, "wing")
    assert explain(lab.database, asking()).reason == "paused"
    resume(lab.database, "wing")
    stop(lab.database, "wing", cancel_running=False)
    assert explain(lab.database, asking(objectives=("mass",))).reason == "finished"


def test_of_several_studies_those_that_go_on_give_the_reason(lab: Lab, database: Database) -> None:
    both = asking(studies=("wing", "car"))
    other = Lab(database, name="car")
    pause(database, "wing")  # its jobs are ready, but with nobody
    assert explain(database, both).reason == "planning"
    stop(database, "car", cancel_running=False)
    assert other.view().phase == "finished"
    assert explain(database, both).reason == "paused"


def test_without_any_study_the_reason_is_that(database: Database) -> None:
    assert explain(database, asking(studies=("*",))).reason == "no_studies"
