"""Studies with noise: points that are evaluated again, and what is shown of them."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from app.service.files.csv_reader import read_csv
from app.service.files.export import export
from app.service.files.import_evaluations import import_evaluations
from app.service.planning.replay import replay
from app.service.studies.listings import list_samples
from app.store.database import Database
from counterpoise.wire.work import Job, Tell
from tests.service.lab import Lab

OBJECTIVES: list[dict[str, Any]] = [
    {"name": "mass", "evaluation_time_s": 1.0},
    {"name": "crash", "evaluation_time_s": 4.0, "noise": 0.5},
]
NOISY: dict[str, Any] = {
    "objectives": OBJECTIVES,
    "variables": [
        {"name": "a", "low": 0.0, "high": 1.0},
        {"name": "b", "type": "discrete", "values": [0, 1]},
    ],
    "budget": 16,
    "generations": 5,
}


class NoisyLab(Lab):
    """Whose slow run gives another value each time."""

    rng = np.random.default_rng(5)

    def tell_of(self, job: Job, told: float | None = None, **more: Any) -> Tell:
        exact = super().tell_of(job, told, **more)
        if job.objective != "crash" or exact.value is None:
            return exact
        noise = 0.5 * self.rng.standard_normal()
        return exact.model_copy(update={"value": exact.value + noise})


def points(lab: Lab) -> list[tuple[tuple[Any, ...], dict[str, float]]]:
    listed = list_samples(lab.database, lab.name, 0, 1000, True)
    return [(tuple(view.x.values()), view.values) for _, view in listed]


@pytest.mark.parametrize("backend", ["sqlite"])
def test_a_noisy_study_repeats_points_keeps_all_values_and_replays(
    database: Database,
) -> None:
    lab = NoisyLab(database, **NOISY)
    view = lab.run()
    assert (view.phase, view.evaluated_full) == ("finished", 16)
    found = points(lab)
    often = Counter(x for x, _ in found)
    assert max(often.values()) > 1
    x, _ = often.most_common(1)[0]
    crashes = {values["crash"] for point, values in found if point == x}
    assert len(crashes) == often[x]
    assert all(again.equal for again in replay(database, lab.name, None))
    lab.check_counters()
    # An export has every value, and can be imported, once
    content = "".join(export(database, lab.name, "samples", "csv")).encode()
    copy = Lab(database, **NOISY, name="copy")
    for _ in range(2):
        imported = import_evaluations(
            database,
            copy.name,
            lambda spec: read_csv(spec, content),
            evaluate=False,
            dry_run=False,
        )
    assert (imported.complete, imported.values_added) == (0, 0)
    with_slow = [item for item in points(copy) if "crash" in item[1]]
    assert sorted(map(str, with_slow)) == sorted(map(str, found))
