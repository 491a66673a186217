"""A point that several steps propose is one sample."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from app.domain.planning.joining import Join, joins_of
from app.domain.samples import NewSample, Sample
from app.planner.planner import claim_due_step
from app.service.files.import_evaluations import import_evaluations
from app.service.files.json_reader import read_json
from app.service.planning.commit_step import commit_step
from app.service.planning.compute_step import compute_step
from app.service.planning.plan import Plan
from app.service.planning.replay import replay
from app.service.studies.evaluate_point import evaluate_point
from app.store.database import Database
from app.store.tables import jobs, objectives, samples, steps
from counterpoise.wire.codes import JobState, StepKind
from counterpoise.wire.points import EvaluatePoint
from counterpoise.wire.work import Job
from tests.service.lab import Lab

# 49 points, of which each of two streams wants 16 beside the design
GRID: dict[str, Any] = {
    "variables": [{"name": name, "type": "int", "low": 0, "high": 6} for name in "ab"],
    "objectives": [
        {"name": "mass", "evaluation_time_s": 1.0},
        {"name": "drag", "evaluation_time_s": 1.0},
        {"name": "crash", "evaluation_time_s": 5.0},
    ],
    "budget": 8,
    "batch_size": 1,
    "generations": 2,
    "overlap": 0,
}


def points(lab: Lab) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row["x"]) for row in lab.rows(samples))


def recorded(lab: Lab) -> list[tuple[str, dict[str, Any]]]:
    return [
        (row["kind"], join)
        for row in lab.rows(steps)
        for join in (row["record"] or {}).get("joined", [])
    ]


def test_no_point_is_proposed_twice_and_every_step_replays(database: Database) -> None:
    lab = Lab(database, **GRID)
    view = lab.run()
    assert view.phase == "finished"
    assert set(points(lab).values()) == {1}
    joins = recorded(lab)
    assert {kind for kind, _ in joins} == {"stream", "search"}
    assert all(again.equal for again in replay(database, lab.name, None))
    lab.check_counters()
    wanted = Counter((row["sample_id"], row["objective_id"]) for row in lab.rows(jobs))
    assert set(wanted.values()) == {1}
    for _, join in joins:
        assert all(wanted[join["sample"], run] for run in join["runs"])


def test_streams_do_not_depend_on_which_is_planned_first(database: Database) -> None:
    """With two generations each, on 225 points."""
    large: dict[str, Any] = {
        "variables": [{**variable, "high": 14} for variable in GRID["variables"]],
        "objectives": [
            *GRID["objectives"][:2],
            {"name": "crash", "evaluation_time_s": 20.0},
        ],
    }
    first = Lab(database, **{**GRID, **large}, name="first")
    second = Lab(database, **{**GRID, **large}, name="second")
    proposed = stream_proposals(first, list)
    assert proposed == stream_proposals(second, reverse)
    assert max(number for _, number in proposed) == 2
    joins = [[join["sample"] for _, join in recorded(lab)] for lab in (first, second)]
    assert min(len(found) for found in joins) > 10
    assert all(again.equal for again in replay(database, "second", None))


def reverse(steps: list[Any]) -> list[Any]:
    return steps[::-1]


def stream_proposals(
    lab: Lab, order: Callable[[list[Any]], list[Any]]
) -> dict[tuple[int, int], list[Any]]:
    """What each generation proposes, if those that are due together are committed in
    this order and all cheap results come in the order of their points.
    """
    proposed = {}
    lab.plan()
    got: list[Job] = [True]  # type: ignore[list-item]
    while got:
        due = [step for _ in range(2) if (step := claim_due_step(lab.database))]
        for step in order(due):
            plan = compute_step(lab.database, step)
            proposed[step.objective, step.number] = [one.x for one in plan.samples]
            assert commit_step(lab.database, step, plan)
        got = lab.ask("mass", "drag", most=100)
        for job in sorted(got, key=lambda job: (job.objective, *job.x.values())):
            lab.tell(job, float(job.x["a"] // 2))
    return proposed


@pytest.fixture
def lab(database: Database) -> Lab:
    """A study whose first search step is due; drag has no values beside the design."""
    lab = Lab(database, **GRID)
    lab.plan()
    for job in lab.ask("mass", most=4) + lab.ask("drag", most=4):
        lab.tell(job)
    lab.plan()
    for job in lab.ask("mass", most=50) + lab.ask("crash", most=50):
        lab.tell(job)
    return lab


def execute(lab: Lab, change: Callable[[Plan], None]) -> Plan:
    step = claim_due_step(lab.database)
    assert step is not None
    assert step.kind is StepKind.SEARCH
    plan = compute_step(lab.database, step)
    change(plan)
    assert commit_step(lab.database, step, plan)
    return plan


def own_jobs(lab: Lab, sample: int) -> dict[str, dict[str, Any]]:
    names = {row["id"]: row["name"] for row in lab.rows(objectives)}
    mine = [row for row in lab.rows(jobs) if row["sample_id"] == sample]
    return {names[row["objective_id"]]: row for row in mine}


def cheap_only_of_mass(lab: Lab) -> dict[str, Any]:
    return next(
        row
        for row in lab.rows(samples)
        if not row["full"] and set(own_jobs(lab, row["id"])) == {"mass"}
    )


def test_a_search_step_adds_the_missing_run(lab: Lab) -> None:
    sample = cheap_only_of_mass(lab)
    drag = lab.rows(objectives)[1]["id"]

    def propose_it_again(plan: Plan) -> None:
        plan.samples = [NewSample(sample["x"], (drag,), full=False)]

    execute(lab, propose_it_again)
    lab.check_counters()
    found = own_jobs(lab, sample["id"])
    assert set(found) == {"mass", "drag"}
    assert (found["drag"]["state"], found["drag"]["step"]) == (JobState.READY, 1)
    assert found["drag"]["cheap_only"]
    (job,) = lab.ask("drag", most=9)
    assert job.sample == sample["id"]
    lab.tell(job)
    lab.check_counters()


def test_a_run_of_a_sample_that_is_ruled_out_is_superseded(database: Database) -> None:
    lab = Lab(database, **GRID)
    lab.plan()
    for job in lab.ask("mass", most=4) + lab.ask("drag", most=4):
        lab.tell(job)
    lab.plan()
    for job in lab.ask("crash", most=50):
        lab.tell(job)
    sample = cheap_only_of_mass(lab)
    for job in lab.ask("mass", most=50):
        if job.sample == sample["id"]:
            lab.fail(job, "infeasible")
    drag = lab.rows(objectives)[1]["id"]

    def propose_it_again(plan: Plan) -> None:
        plan.samples = [NewSample(sample["x"], (drag,), full=False)]

    execute(lab, propose_it_again)
    assert own_jobs(lab, sample["id"])["drag"]["state"] == JobState.SUPERSEDED
    lab.check_counters()


@pytest.mark.parametrize("way", ["imported", "requested"])
def test_a_point_that_came_while_the_step_was_computed_is_not_repeated(
    lab: Lab, way: str
) -> None:
    """Its place in the budget is the next step's."""
    planned = lab.view().planned_full

    def add_it(plan: Plan) -> None:
        x = dict(zip("ab", plan.samples[0].x, strict=True))
        if way == "requested":
            request = EvaluatePoint(x=x, outside_budget=True)
            evaluate_point(lab.database, lab.name, request)
            return
        content = (
            f'[{{"x": {{"a": {x["a"]}, "b": {x["b"]}}}, "values": {{"mass": 2.5}}}}]'
        )
        import_evaluations(
            lab.database,
            lab.name,
            lambda spec: read_json(spec, content.encode()),
            evaluate=False,
            dry_run=False,
        )

    execute(lab, add_it)
    assert set(points(lab).values()) == {1}
    assert lab.view().planned_full == planned
    (join,) = [join for _, join in recorded(lab) if join["full"]]
    assert (join["position"], join["runs"]) == (0, [])
    lab.run()
    lab.check_counters()
    assert lab.view().phase == "finished"
    assert all(again.equal for again in replay(lab.database, lab.name, None))


def a_sample(number: int, **changes: Any) -> Sample:
    fields: dict[str, Any] = {
        "x": [1.0],
        "full": False,
        "open": 1,
        "given_up": False,
        "infeasible": False,
        "imported_seq": None,
        "kind": StepKind.STREAM,
        "number": 1,
        "objective": 0,
    }
    return Sample(number, **{**fields, **changes})


@pytest.mark.parametrize(
    ("existing", "full", "promoted", "runs"),
    [
        (a_sample(7), False, [], (2,)),
        (a_sample(7), True, [], ()),
        (a_sample(7, full=True), False, [], ()),
        (a_sample(7, imported_seq=3), False, [], ()),
        (a_sample(7), False, [7], ()),
    ],
)
def test_which_runs_an_existing_sample_gets(
    existing: Sample, full: bool, promoted: list[int], runs: tuple[int, ...]
) -> None:
    new = [NewSample([2.0], (1,), full=False), NewSample([1.0], (1, 2), full)]
    (join,) = joins_of(new, {(1.0,): [existing]}, {7: {1}}, promoted, newest=9)
    assert join == Join(1, 7, full, (1, 2), runs, ruled_out=False, after=9)
