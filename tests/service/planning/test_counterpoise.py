"""The strategy `counterpoise` in the service: common cheap points, promotion, the record
of its models, replay.
"""

from collections import Counter
from typing import Any, get_args

import numpy as np
import pytest

from app.domain.planning.stepping_progress import COMMON_POINTS
from app.optimizer.strategies.catalogue import SERVICE_MODELS, STRATEGIES
from app.service.planning.compute_step import strategy_of
from app.service.planning.past_samples import Past
from app.service.planning.replay import replay
from app.service.planning.snapshot import problem_of, read_past, search_snapshot
from app.service.studies.explain_job import explain_job
from app.store.database import Database
from app.store.studies.steps import steps_of
from app.store.tables import jobs, samples, steps
from counterpoise.wire.codes import JobState, StepKind
from counterpoise.wire.contradictions import WITH_EVIDENCE
from counterpoise.wire.specification import (
    SpecificationInvalid,
    Strategy,
    parse_specification,
)
from tests.service.lab import SPEC, Lab, also_of

OBJECTIVES = [
    {"name": "mass", "evaluation_time_s": 1.0},
    {"name": "drag", "evaluation_time_s": 2.0},
    {"name": "crash", "evaluation_time_s": 4.0},
]
STUDY: dict[str, Any] = {
    "strategy": "counterpoise",
    "objectives": OBJECTIVES,
    "budget": 12,
    "initial_samples": 5,
    "batch_size": 2,
    "overlap": 0,
}
SQLITE = pytest.mark.parametrize("backend", ["sqlite"])  # what no database changes


def unequal(lab: Lab) -> list[str]:
    return [one.step for one in replay(lab.database, lab.name, None) if not one.equal]


def promotions(lab: Lab) -> list[dict[str, Any]]:
    return [
        row["record"]
        for row in lab.rows(steps)
        if row["kind"] == StepKind.SEARCH and row["record"]
    ]


def test_the_whole_study_promotes_and_is_the_same_again(database: Database) -> None:
    lab = Lab(database, **STUDY)
    view = lab.run()
    assert view.phase == "finished"
    lab.check_counters()
    assert unequal(lab) == []
    records = promotions(lab)
    promoted = [sample for record in records for sample in record["promoted"]]
    full = [row for row in lab.rows(samples) if row["full"]]
    assert len(full) == 12
    # Every pool sample has cheap values that are known: all of the search is promoted
    assert len(promoted) == len(set(promoted)) == 12 - 5
    for record in records:
        assert len(record["full_samples"]) == len(record["promoted"])
        assert record["models"][0]["warm_start"]["model"]["fitted"]
        assert record["co_models"][2] is not None
    slow = next(job for job in reversed(lab.rows(jobs)) if not job["cheap_only"])
    promotion = explain_job(database, slow["id"]).promotion
    report = records[-1]["full_samples"][
        records[-1]["promoted"].index(slow["sample_id"])
    ]
    assert promotion is not None
    assert (promotion.gain, promotion.predicted, promotion.deviation) == (
        report["gain"],
        report["mean"][2],
        report["deviation"][2],
    )
    assert promotion.observed is not None
    assert promotion.step == f"search:{len(records)}"


def test_initial_cheap_points_are_common_and_respect_unequal_ratios(
    database: Database,
) -> None:
    lab = Lab(database, **STUDY)
    lab.plan()
    for job in lab.ask("mass", most=50):
        lab.tell(job)
    lab.plan()
    stream = {row["id"] for row in lab.rows(steps) if row["kind"] == StepKind.STREAM}
    points = [row["id"] for row in lab.rows(samples) if row["step_id"] in stream]
    # (r - 1) n: 15 of mass, 5 of drag, at the first of the same points
    assert len(points) == 15
    counts = Counter(job["sample_id"] for job in lab.rows(jobs))
    assert sorted(counts[point] for point in points) == [1] * 10 + [2] * 5
    assert len(stream) == 1


@SQLITE
def test_forecasts_are_those_of_earlier_steps_with_what_was_told(
    database: Database,
) -> None:
    lab = Lab(database, **STUDY)
    lab.run()
    past, snapshot = last_snapshot(lab)
    records = promotions(lab)[:-1]
    expected = []
    for record in records:
        for sample, report in zip(
            record["promoted"], record["full_samples"], strict=True
        ):
            told = past.values[2][sample][0]
            expected.append((told, report["plain"][2], report["co"][2]))
    found = snapshot.forecasts[2]
    table = np.stack([found.told, found.plain, found.co], axis=1)
    assert sorted(map(tuple, table.tolist())) == sorted(expected)
    assert len(expected) > 4
    assert len(snapshot.forecasts[0].told) == 0  # a cheap objective has no co-model
    asked_in = dict(zip(past.complete(), snapshot.full_steps.tolist(), strict=True))
    for number, record in enumerate(records, 1):
        assert {asked_in[sample] for sample in record["promoted"]} <= {number}


def last_snapshot(lab: Lab) -> tuple[Past, Any]:
    with lab.database.read() as connection:
        step = steps_of(connection, 1, StepKind.SEARCH)[-1]
        spec = parse_specification({**SPEC, **STUDY})
        assert step.inputs.ratios is not None
        problem = problem_of(spec, step.inputs.ratios, step.inputs.cheap)
        past = read_past(connection, spec, problem, step)
        return past, search_snapshot(connection, problem, past, step)


@pytest.mark.parametrize(
    "changes",
    [
        {"objectives": [{"name": "crash"}]},  # m = 1, nothing is cheap
        {"ratios": {"mass": 1, "drag": 1}, "objectives": OBJECTIVES},
        {
            "objectives": [
                *OBJECTIVES[:2],
                {"name": "lift", "same_run_as": "drag", "direction": "maximize"},
                OBJECTIVES[2],
            ]
        },
        {
            "variables": [
                {"name": "a", "type": "int", "low": 0, "high": 9},
                {"name": "b", "low": 0.0, "high": 1.0},
                {"name": "c", "type": "categorical", "choices": ["x", "y", "z"]},
            ]
        },
        {"models": "paper"},
        {"overlap": 3},
        {
            "objectives": [OBJECTIVES[0], OBJECTIVES[2]],
            "constraints": [{**OBJECTIVES[1], "upper": 0.3}],
        },
    ],
    ids=["one", "none-cheap", "shared", "mixed", "paper", "overlap", "constraint"],
)
@SQLITE
def test_other_studies_end_and_are_the_same_again(
    database: Database, changes: dict[str, Any]
) -> None:
    lab = Lab(database, **{**STUDY, "budget": 9, **changes})
    assert lab.run().phase == "finished"
    lab.check_counters()
    assert unequal(lab) == []


@SQLITE
def test_failed_and_infeasible_runs_leave_the_pool(database: Database) -> None:
    lab = Lab(database, **STUDY)
    refused = 0
    for _ in range(1000):
        planned, got = lab.plan(), lab.ask(most=8)
        for job in got:
            if job.objective == "mass" and job.x["a"] > 0.7:
                lab.fail(job, "infeasible")
                refused += 1
            else:
                lab.tell(job, also=also_of(job))
        if not got and not planned:
            break
    assert refused > 3
    assert lab.view().phase == "finished"
    lab.check_counters()
    assert unequal(lab) == []
    infeasible = {
        job["sample_id"]
        for job in lab.rows(jobs)
        if job["state"] == JobState.INFEASIBLE
    }
    promoted = {one for record in promotions(lab) for one in record["promoted"]}
    assert not infeasible & promoted


def test_one_definition_of_common_points_and_of_models_to_choose() -> None:
    common = {name for name in get_args(Strategy) if STRATEGIES[name].initial.common}
    assert common == COMMON_POINTS
    assert set(SERVICE_MODELS) == set(WITH_EVIDENCE)


@pytest.mark.parametrize(
    ("declared", "models"),
    [
        ({}, "evidence"),
        ({"models": "paper"}, "paper"),
        ({"strategy": "counterpoise"}, "evidence"),
        ({"strategy": "counterpoise", "models": "paper"}, "paper"),
        ({"strategy": "sbp-bo-r"}, "paper"),
    ],
)
def test_models_of_a_study(declared: dict[str, Any], models: str) -> None:
    spec = parse_specification({**SPEC, **declared})
    assert strategy_of(spec).models == models


def test_models_by_evidence_are_refused_where_a_strategy_has_its_own() -> None:
    with pytest.raises(SpecificationInvalid) as error:
        parse_specification({**SPEC, "strategy": "k-rvea", "models": "evidence"})
    assert [fault.pointer for fault in error.value.faults] == ["#/models"]
