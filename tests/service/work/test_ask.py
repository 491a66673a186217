"""Asks: whose jobs, in which order, and why there are none."""

import pytest

from app.service.studies.lifecycle import extend, pause, resume, retry, stop
from app.service.work.ask import any_jobs_for, serve_asks
from app.service.work.empty_ask import explain_empty_ask
from app.store.database import Database
from app.store.studies.studies import find_queues, open_queues
from app.store.tables import attempts, workers
from counterpoise.wire.work import Ask
from tests.service.lab import Lab


@pytest.fixture
def lab(database: Database) -> Lab:
    lab = Lab(database)
    lab.plan()
    return lab


def asking(
    worker: str = "w",
    studies: tuple[str, ...] = ("wing",),
    objectives: tuple[str, ...] = ("*",),
    **more: int,
) -> Ask:
    return Ask(
        worker=worker, studies=list(studies), objectives=list(objectives), **more
    )


def test_a_job_has_all_that_a_worker_needs(lab: Lab) -> None:
    (job,) = lab.ask("crash")
    assert (job.study, job.objective, job.attempt, job.also) == ("wing", "crash", 1, [])
    assert set(job.x) == {"a", "b"}
    assert job.heartbeat_s == 20.0
    assert job.expires_at.endswith("Z")
    assert 0 <= job.seed < 2**31


def test_the_seed_is_the_same_for_every_attempt_and_differs_between_jobs(
    lab: Lab,
) -> None:
    first, second = lab.ask("crash", most=2)
    lab.fail(first, "error")
    again = lab.ask("crash")[0]
    assert again.job == first.job
    assert again.seed == first.seed != second.seed


def test_queues_of_finished_and_paused_studies_are_not_read(
    lab: Lab, database: Database
) -> None:
    finished = Lab(database, name="finished")
    stop(database, finished.name, cancel_running=False)
    paused = Lab(database, name="paused", paused=True)
    with database.read() as connection:
        everything = find_queues(connection, None)
        found = open_queues(connection, None)
        of_some = open_queues(connection, ["finished", "paused", "wing"])
    assert {queue.study_name for queue in everything} == {
        "wing",
        finished.name,
        paused.name,
    }
    assert [queue.objective for queue in found] == ["mass", "crash"]
    assert {queue.study_name for queue in found} == {"wing"}
    assert of_some == found


def test_many_asks_are_served_in_one_transaction_one_each_in_turn(lab: Lab) -> None:
    asks = [asking(f"w{i}", objectives=("mass",), max_jobs=3) for i in range(3)]
    shares = serve_asks(lab.database, asks, 20.0)
    # Nine jobs are wanted, four are ready
    assert sorted(len(share) for share in shares) == [1, 1, 2]
    owner = {row["id"]: row["name"] for row in lab.rows(workers)}
    held = {row["lease"]: owner[row["worker_id"]] for row in lab.rows(attempts)}
    for ask, share in zip(asks, shares, strict=True):
        assert {held[job.lease] for job in share} == {ask.worker}


def test_an_earlier_ask_comes_before_one_for_fewer_queues(lab: Lab) -> None:
    lab.ask("mass", most=60)
    lab.ask("crash", most=3)  # all but one
    wants = (("mass",), ("*",), ("crash",))
    shares = serve_asks(
        lab.database,
        [asking(f"w{i}", objectives=want) for i, want in enumerate(wants)],
        20.0,
    )
    assert [len(share) for share in shares] == [0, 1, 0]


def test_asks_for_different_objectives_do_not_get_each_others(lab: Lab) -> None:
    mass, crash, both = serve_asks(
        lab.database,
        [
            asking("a", objectives=("mass",)),
            asking("b", objectives=("crash",)),
            asking("c", max_jobs=50),
        ],
        20.0,
    )
    assert [job.objective for job in mass] == ["mass"]
    assert [job.objective for job in crash] == ["crash"]
    assert len(both) == 6


def test_a_paused_study_takes_nothing_from_the_others(
    lab: Lab, database: Database
) -> None:
    other = Lab(database, name="car")
    other.plan()
    pause(database, "wing")
    for _ in range(6):
        (share,) = serve_asks(database, [asking(studies=("*",))], 20.0)
        assert [job.study for job in share] == ["car"]
    resume(database, "wing")
    assert lab.ask("mass")


def test_no_study_is_starved_by_another(lab: Lab, database: Database) -> None:
    Lab(database, name="car").plan()
    seen = {
        serve_asks(
            database, [asking(studies=("wing", "car"), objectives=("mass",))], 20.0
        )[0][0].study
        for _ in range(8)
    }
    assert seen == {"wing", "car"}


def test_any_jobs_for_finds_ready_jobs(lab: Lab) -> None:
    assert any_jobs_for(lab.database, [asking()])
    assert not any_jobs_for(lab.database, [asking(objectives=("nothing",))])
    lab.ask(most=100)
    assert not any_jobs_for(lab.database, [asking()])


@pytest.mark.parametrize(
    ("ask", "reason", "words"),
    [
        (asking(studies=("wng",)), "no_such_study", "did you mean 'wing'?"),
        (asking(objectives=("crsh",)), "no_such_objective", "did you mean 'crash'?"),
        (asking(), "all_leased", "all jobs are with workers"),
    ],
)
def test_an_empty_response_has_a_reason(
    lab: Lab, ask: Ask, reason: str, words: str
) -> None:
    lab.ask(most=100)
    answer = explain_empty_ask(lab.database, ask)
    assert (answer.jobs, answer.reason) == ([], reason)
    assert words in (answer.detail or "")
    assert answer.retry_after_s


def test_an_empty_response_is_paused_planning_or_finished(lab: Lab) -> None:
    for job in lab.ask("mass", most=100):
        lab.tell(job)
    assert (
        explain_empty_ask(lab.database, asking(objectives=("mass",))).reason
        == "planning"
    )
    pause(lab.database, "wing")
    assert explain_empty_ask(lab.database, asking()).reason == "paused"
    resume(lab.database, "wing")
    stop(lab.database, "wing", cancel_running=False)
    assert (
        explain_empty_ask(lab.database, asking(objectives=("mass",))).reason
        == "finished"
    )


def test_of_several_studies_the_unfinished_ones_give_the_reason(
    lab: Lab, database: Database
) -> None:
    both = asking(studies=("wing", "car"))
    other = Lab(database, name="car")
    pause(database, "wing")  # its jobs are ready, and may not be leased
    assert explain_empty_ask(database, both).reason == "planning"
    stop(database, "car", cancel_running=False)
    assert other.view().phase == "finished"
    assert explain_empty_ask(database, both).reason == "paused"


def test_unknown_names_are_reported_beside_the_reason(
    lab: Lab, database: Database
) -> None:
    lab.ask(most=100)
    answer = explain_empty_ask(
        database, asking(studies=("wing", "wnig"), objectives=("crash", "typo", "mas"))
    )
    assert answer.reason == "all_leased"
    assert answer.detail == (
        "all jobs are with workers, back off after a failure, or wait for cheap runs of their sample."
        " There is no study 'wnig'; did you mean 'wing'?"
        " There is no objective 'typo' in wing. There is no objective 'mas' in wing; did you mean 'mass'?"
    )
    both = explain_empty_ask(database, asking(studies=("car", "wnig")))
    assert both.reason == "no_such_study"
    assert (
        both.detail
        == "there is no study 'car'. There is no study 'wnig'; did you mean 'wing'?"
    )


@pytest.mark.parametrize(
    "ask",
    [
        asking(studies=("*", "nope")),
        asking(objectives=("typo", "*")),
        asking(
            studies=("wing", "car"), objectives=("mass", "crash", "lift")
        ),  # each is in one of them
    ],
)
def test_nothing_is_unknown_beside_a_star_or_in_another_study(
    lab: Lab, database: Database, ask: Ask
) -> None:
    other = Lab(database, name="car", objectives=[{"name": "lift"}])
    other.plan()
    for one in (lab, other):
        one.ask(most=100)
    assert explain_empty_ask(database, ask) == explain_empty_ask(database, asking())


def test_an_objective_that_comes_with_another_names_it(
    database: Database,
) -> None:
    more = [
        {"name": "drag", "evaluation_time_s": 1.0},
        {"name": "lift", "same_run_as": "drag"},
    ]
    lab = Lab(database, objectives=more)
    lab.plan()
    lab.ask(most=100)
    words = "bjective 'lift' has no jobs of its own; its value comes with 'drag'"
    alone = explain_empty_ask(database, asking(objectives=("lift",)))
    assert (alone.reason, alone.detail) == ("no_such_objective", f"o{words}")
    both = explain_empty_ask(database, asking(objectives=("drag", "lift")))
    assert both.reason == "all_leased"
    assert (both.detail or "").endswith(f"of their sample. O{words}")


def test_many_wrong_names_give_a_short_response(lab: Lab, database: Database) -> None:
    lab.ask(most=100)
    wrong = tuple(f"{number:04}" for number in range(99))
    answer = explain_empty_ask(
        database, asking(studies=("wing", *wrong), objectives=("mass", *wrong))
    )
    assert answer.reason == "all_leased"
    assert (answer.detail or "").count("There is no study") == 3
    assert "There are no jobs for 96 more of the studies either" in (
        answer.detail or ""
    )
    assert "There are no jobs for 96 more of the objectives either" in (
        answer.detail or ""
    )


def test_a_stopped_study_with_running_jobs_is_finished_to_an_ask(
    lab: Lab, database: Database
) -> None:
    (held,) = lab.ask("mass")
    assert (
        explain_empty_ask(database, asking(objectives=("mass",))).reason == "all_leased"
    )
    stop(database, "wing", cancel_running=False)
    answer = explain_empty_ask(database, asking(objectives=("mass",)))
    assert answer.reason == "finished"
    assert "do not come back" in (answer.detail or "")
    lab.expire(held)
    assert not lab.ask(most=100)  # it did not come back


def test_a_stopped_study_whose_failed_jobs_are_retried_has_jobs(
    lab: Lab, database: Database
) -> None:
    failed, _ = lab.ask("mass", most=2)
    lab.fail(failed, "infeasible")
    stop(database, "wing", cancel_running=False)
    pause(database, "wing")
    retry(database, "wing", ["mass"], infeasible=True)
    # And there is a job afterwards
    assert explain_empty_ask(database, asking()).reason == "paused"
    resume(database, "wing")
    assert len(lab.ask(most=3)) == 2  # with the run that was withdrawn for it
    assert explain_empty_ask(database, asking()).reason == "finished"
    extend(database, "wing", 11)
    assert explain_empty_ask(database, asking()).reason == "all_leased"


def test_of_two_studies_the_stopped_one_gives_no_reason_to_wait(
    lab: Lab, database: Database
) -> None:
    Lab(database, name="car")  # not planned yet
    lab.ask("mass")
    stop(database, "wing", cancel_running=False)
    assert (
        explain_empty_ask(database, asking(studies=("wing", "car"))).reason
        == "planning"
    )


def test_without_any_study_the_reason_is_that(database: Database) -> None:
    assert explain_empty_ask(database, asking(studies=("*",))).reason == "no_studies"
