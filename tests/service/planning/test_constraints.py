"""Constrained studies, from the specification to the front."""

from typing import Any, ClassVar, get_args

import pytest

from app.service.files.csv_reader import read_csv
from app.service.files.export import export
from app.service.files.import_evaluations import import_evaluations
from app.service.files.json_reader import read_json
from app.service.planning.replay import replay
from app.service.studies.front import front_view
from app.service.studies.lifecycle import retry
from app.service.studies.listings import list_samples
from app.store.database import Database
from app.store.tables import steps
from counterpoise.wire.codes import FrontCode, HealthCode
from counterpoise.wire.specification import Strategy
from counterpoise.wire.views import SampleView
from counterpoise.wire.work import Job, Tell
from tests.service.constrained_study import CONSTRAINED, CONSTRAINTS
from tests.service.lab import Lab

# All apply to two objectives of different cost and floats
ANY = get_args(Strategy)
# One of each way to follow limits
REPLAYED = ("sbp-bo", "k-rvea", "counterpoise")


def full_samples(lab: Lab) -> list[SampleView]:
    return [view for _, view in list_samples(lab.database, lab.name, 0, 1000, True)]


@pytest.mark.parametrize("backend", ["sqlite"])
@pytest.mark.parametrize("strategy", ANY)
def test_every_strategy_ends_with_a_feasible_front(
    database: Database, strategy: str
) -> None:
    shorter = {**CONSTRAINED, "budget": 7, "batch_size": 3}
    lab = Lab(database, **shorter, strategy=strategy)
    view = lab.run()
    assert (view.phase, view.ending) == ("finished", "budget_used")
    complete = [each for each in full_samples(lab) if len(each.values) == 4]
    feasible = [
        each
        for each in complete
        if each.values["drag"] <= 0.25 and each.values["lift"] >= 0.1
    ]
    front = front_view(database, lab.name)
    assert {item.sample for item in front.items} <= {each.sample for each in feasible}
    assert front.items
    assert front.code is None
    assert view.feasible == len(feasible)
    assert view.hypervolume is not None
    assert set(view.hypervolume.reference_point) == {"mass", "crash"}
    if strategy in REPLAYED:
        assert all(again.equal for again in replay(database, lab.name, None))
    lab.check_counters()


def test_a_sample_lists_the_limits_that_it_breaks(database: Database) -> None:
    lab = Lab(database, **CONSTRAINED, cheap_first=False)
    lab.run()
    for sample in full_samples(lab):
        broken = [
            name
            for name, is_broken in (
                ("drag", sample.values.get("drag", 0.0) > 0.25),
                ("lift", sample.values.get("lift", 1.0) < 0.1),
            )
            if is_broken
        ]
        assert sample.broken_limits == broken
        assert sample.infeasible == bool(broken)
    assert any(sample.infeasible for sample in full_samples(lab))
    # Their values are known: there is nothing to run again
    assert retry(database, lab.name, None, infeasible=True) == 0


def test_a_front_is_of_feasible_samples_by_hand(database: Database) -> None:
    lab = Lab(database, **{**CONSTRAINED, "initial_samples": 4})
    values = [  # mass, crash, drag, lift
        (1.0, 4.0, 0.20, 0.5),  # front
        (2.0, 3.0, 0.25, 0.1),  # front, on both limits
        (0.5, 0.5, 0.26, 0.5),  # would dominate all
        (2.0, 5.0, 0.10, 0.5),  # dominated
    ]
    rows = ["a,b,mass,crash,drag,lift"]
    for number, row in enumerate(values, 1):
        rows.append(",".join(map(str, (number / 10, 0.5, *row))))
    content = "\n".join(rows).encode()
    imported = import_evaluations(
        database,
        lab.name,
        lambda spec: read_csv(spec, content),
        evaluate=False,
        dry_run=False,
    )
    assert imported.complete == 4
    front = front_view(database, lab.name)
    assert [item.values["mass"] for item in front.items] == [1.0, 2.0]
    assert front.least_violating == []
    lab.plan()  # search begins with what was imported
    assert lab.view().feasible == 3
    (step,) = [row for row in lab.rows(steps) if row["kind"] == "search"]
    recorded = step["record"]["hypervolume"]
    # The reference point: the worst of all four, and a tenth of the range beyond
    assert recorded["reference"] == pytest.approx([2.15, 5.45])
    area = (2.15 - 1.0) * (5.45 - 4.0) + (2.15 - 2.0) * (4.0 - 3.0)
    assert recorded["value"] == pytest.approx(area)
    assert recorded["front"] == 2


def test_without_a_feasible_sample_the_nearest_are_shown(database: Database) -> None:
    never = [{"name": "drag", "upper": -1.0, "evaluation_time_s": 1.0}]
    lab = Lab(database, **{**CONSTRAINED, "constraints": never})
    view = lab.run()
    assert view.phase == "finished"
    assert view.feasible == 0
    assert view.hypervolume is None
    assert HealthCode.NO_FEASIBLE_SAMPLE in [item.code for item in view.health]
    front = front_view(database, lab.name)
    assert (front.items, front.code) == ([], FrontCode.NO_FEASIBLE_SAMPLE)
    assert front.detail
    drags = sorted(sample.values["drag"] for sample in full_samples(lab))
    nearest = front.least_violating
    assert [item.values["drag"] for item in nearest] == drags[:10]
    spread = drags[-1] - drags[0]
    assert nearest[0].violation == pytest.approx((drags[0] + 1.0) / spread)
    assert nearest[0].broken_limits == ["drag"]
    assert all(again.equal for again in replay(database, lab.name, None))


def test_an_empty_study_has_another_code(database: Database) -> None:
    lab = Lab(database, **CONSTRAINED)
    assert front_view(database, lab.name).code is FrontCode.NO_SAMPLE


@pytest.mark.parametrize("form", ["csv", "json"])
def test_an_export_can_be_imported_into_another_study(
    database: Database, form: Any
) -> None:
    lab = Lab(database, **CONSTRAINED)
    lab.run()
    content = "".join(export(database, lab.name, "samples", form)).encode()
    again = Lab(database, **CONSTRAINED, name="again")
    read = read_csv if form == "csv" else read_json
    import_evaluations(
        database,
        again.name,
        lambda spec: read(spec, content),
        evaluate=False,
        dry_run=False,
    )
    fronts = [front_view(database, name).items for name in (lab.name, again.name)]
    before, after = [[(item.x, item.values) for item in items] for items in fronts]
    assert before == after
    again.run()
    again.check_counters()


class OtherUnits(Lab):
    """Whose limited outputs are told in other units."""

    factors: ClassVar = {"drag": 1024.0, "lift": 0.125}

    def tell_of(self, job: Job, told: float | None = None, **more: Any) -> Tell:
        exact = super().tell_of(job, told, **more)
        also = {name: y * self.factors[name] for name, y in exact.also.items()}
        value = (exact.value or 0.0) * self.factors.get(job.objective, 1.0)
        return exact.model_copy(update={"value": value, "also": also})


def proposals(lab: Lab) -> list[tuple[str | None, list[Any]]]:
    listed = list_samples(lab.database, lab.name, 0, 1000, None)
    return [(view.step, sorted(view.x.items())) for _, view in listed]


@pytest.mark.parametrize("backend", ["sqlite"])
def test_another_unit_of_a_constrained_output_changes_nothing(
    database: Database,
) -> None:
    lab = Lab(database, **CONSTRAINED)
    lab.run()
    constraints = [
        {**CONSTRAINTS[0], "upper": 256.0},
        {**CONSTRAINTS[1], "lower": 0.0125},
    ]
    other = OtherUnits(
        database, **{**CONSTRAINED, "constraints": constraints, "name": "other"}
    )
    other.run()
    assert proposals(other) == proposals(lab)
    volumes = [each.view().hypervolume for each in (lab, other)]
    assert volumes[0] == volumes[1]


@pytest.mark.parametrize("backend", ["sqlite"])
def test_the_order_of_choices_constraints_and_requirements_is_free(
    database: Database,
) -> None:
    """What is listed in another order is proposed in the same."""
    variables: list[dict[str, Any]] = [
        {"name": "a", "low": 0.0, "high": 1.0},
        {"name": "b", "low": 0.0, "high": 1.0},
        {"name": "metal", "type": "categorical", "choices": ["alu", "steel", "cfrp"]},
    ]
    swapped = [*variables[:2], {**variables[2], "choices": ["steel", "cfrp", "alu"]}]
    rules = ["a + b <= 1.5", "a >= 0.1 * b"]
    lab = Lab(database, **CONSTRAINED, variables=variables, requirements=rules)
    other = Lab(
        database,
        **CONSTRAINED,
        variables=swapped,
        requirements=rules[::-1],
        name="other",
    )
    lab.run()
    other.run()
    assert proposals(other) == proposals(lab)
