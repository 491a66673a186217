"""A worker in one script; start it on any number of machines."""

from collections.abc import Mapping

import counterpoise

work = counterpoise.Worker(study="beam", slots=2, until_finished=True)


@work.objective("mass")
def mass(x: Mapping[str, float]) -> float:
    return 7850 * x["width"] * x["height"]


if __name__ == "__main__":
    work.run()
