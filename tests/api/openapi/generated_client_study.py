"""A study with a generated client: create, ask, tell, front. Runs in the environment of
the generator, with the folder of the generated package and the server's address.
"""

import importlib
import sys
import time
from types import ModuleType
from typing import Any

PACKAGE = "generated_counterpoise"
PATIENCE_S = 120.0
SPEC = {
    "name": "box",
    "variables": [{"name": "side", "low": 1.0, "high": 2.0}],
    "objectives": [{"name": "volume", "direction": "maximize"}, {"name": "surface"}],
    "budget": 4,
    "initial_samples": 4,
}


def load(name: str) -> ModuleType:
    return importlib.import_module(f"{PACKAGE}.{name}")


def run(url: str) -> None:
    models = load("models")
    Client = load("client").Client
    with Client(base_url=url, raise_on_unexpected_status=True) as client:

        def call(operation: str, *arguments: Any, **options: Any) -> Any:
            module = load(f"api.{operation}")
            return module.sync(*arguments, client=client, **options)

        specification = models.Specification.from_dict(SPEC)
        check(call("studies.post_study", body=specification).name == "box")
        jobs: list[Any] = []
        deadline = time.monotonic() + PATIENCE_S
        while len(jobs) < 8:
            check(time.monotonic() < deadline)
            body = models.Ask(
                worker="generated", studies=["box"], objectives=["*"], max_jobs=8
            )
            jobs += call("work.post_ask", body=body).jobs
        tells = [
            models.Tell(job=job.job, lease=job.lease, value=job.x.to_dict()["side"])
            for job in jobs
        ]
        check(call("work.post_tell", body=tells[0]).status == 200)
        told = call("work.post_tell", body=tells[1:])
        check([result.status for result in told] == [200] * 7)
        front = call("studies.get_front", "box").items
        check(len(front) > 0)
        check(set(front[0].values.to_dict()) == {"volume", "surface"})
        print(len(jobs), "jobs")  # noqa: T201  (what the test reads)


def check(is_true: bool) -> None:
    if not is_true:
        raise AssertionError


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    run(sys.argv[2])
