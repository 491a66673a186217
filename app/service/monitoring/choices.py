"""Which designs of a study's front stand out."""

from app.domain.monitoring import choices
from app.errors import ObjectiveUnknown
from app.service.require_study import require_study
from app.service.studies.front import front
from app.store.database import Database
from counterpoise.wire.codes import Choice
from counterpoise.wire.monitoring.choices import ChoicesView, ChoiceView
from counterpoise.wire.problems import did_you_mean
from counterpoise.wire.specification import Specification
from counterpoise.wire.views import FrontItem


def list_choices(database: Database, name: str, target: str | None) -> ChoicesView:
    """`target` is "mass:3,drag:9" in the user's units; any subset of the objectives."""
    with database.read() as connection:
        spec = require_study(connection, name).spec
    target_values = parse_target(spec, target) if target else {}
    designs = front(database, name)
    if not designs:
        return ChoicesView(study=name, items=[])
    values = [minimised(spec, design) for design in designs]
    items = [
        to_view(Choice.BEST, designs[choices.best_in(values, index)], objective)
        for index, objective in enumerate(spec.objective_names)
    ]
    if len(spec.objectives) > 1:
        items.append(to_view(Choice.KNEE, designs[choices.knee(values)]))
    if target_values:
        nearest = choices.nearest(values, target_values)
        items.append(to_view(Choice.NEAREST, designs[nearest]))
    return ChoicesView(study=name, items=items)


def minimised(spec: Specification, design: FrontItem) -> list[float]:
    return [
        objective.sign * design.values[objective.name] for objective in spec.objectives
    ]


def to_view(
    code: Choice, design: FrontItem, objective: str | None = None
) -> ChoiceView:
    return ChoiceView(
        code=code,
        objective=objective,
        sample=design.sample,
        x=design.x,
        values=design.values,
    )


def parse_target(spec: Specification, target: str) -> dict[int, float]:
    """Minimised target values by the objective's position."""
    target_values: dict[int, float] = {}
    for part in target.split(","):
        name, _, value = part.partition(":")
        if name not in spec.objective_names:
            hint = did_you_mean(name, spec.objective_names)
            raise ObjectiveUnknown(f"{name!r} is not an objective of the study{hint}")
        index = spec.objective_names.index(name)
        target_values[index] = spec.objectives[index].sign * float(value)
    return target_values
