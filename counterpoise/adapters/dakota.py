"""Analysis drivers of Dakota, unmodified, as commands of a worker:
`python -m counterpoise.adapters.dakota --responses mass,drag -- ./driver`.

The driver gets a parameters file and the name of its results file, as Dakota's fork
interface passes them. Its active set vector requests the value of each response that
the job is for, and of no other. A results file that begins with FAIL is a failure.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

PARAMETERS, RESULTS = "params.in", "results.out"
VALUE = 1  # in an active set vector: the value, without gradient and Hessian
NUMBER = re.compile(
    r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eEdD][-+]?\d+)?|[-+]?(?:nan|inf)", re.I
)


class DriverFailed(Exception):
    """The driver reported a failure, or wrote no results that can be read."""


def parameters(
    x: Mapping[str, object],
    active: Mapping[str, bool],
    evaluation: int,
    *,
    aprepro: bool = False,
) -> str:
    """A parameters file; `active`: by response in the driver's order, whether it is
    requested.
    """
    asv = {
        f"ASV_{number}:{name}": VALUE if wanted else 0
        for number, (name, wanted) in enumerate(active.items(), 1)
    }
    dvv = {f"DVV_{number}:{name}": number for number, name in enumerate(x, 1)}
    if aprepro:
        fields = {"DAKOTA_VARS": len(x), **x, "DAKOTA_FNS": len(asv), **asv}
        fields |= {"DAKOTA_DER_VARS": len(dvv), **dvv, "DAKOTA_AN_COMPS": 0}
        fields["DAKOTA_EVAL_ID"] = evaluation
        lines = [
            f"{{ {name:<20} = {_quoted(value)} }}" for name, value in fields.items()
        ]
        return "\n".join(lines) + "\n"
    rows: list[tuple[object, str]] = [(len(x), "variables")]
    rows += [(value, name) for name, value in x.items()]
    rows += [(len(asv), "functions"), *((value, name) for name, value in asv.items())]
    rows += [(len(dvv), "derivative_variables")]
    rows += [(value, name) for name, value in dvv.items()]
    rows += [(0, "analysis_components"), (evaluation, "eval_id")]
    return "".join(f"{_text(value):>25} {name}\n" for value, name in rows)


def _quoted(value: object) -> str:
    """In an aprepro file, a text is in quotes."""
    return f'"{value}"' if isinstance(value, str) else _text(value)


def _text(value: object) -> str:
    return f"{value:.15e}" if isinstance(value, float) else str(value)


def read_results(text: str, requested: Sequence[str]) -> dict[str, float]:
    """The requested values: by descriptor where there is one, else by position."""
    if text.lstrip()[:4].upper() == "FAIL":
        raise DriverFailed("the driver reported a failure")
    named: dict[str, float] = {}
    values: list[float] = []
    for line in re.sub(r"\[.*?\]", "", text, flags=re.S).splitlines():
        number, _, descriptor = line.strip().partition(" ")
        if not NUMBER.fullmatch(number):
            continue
        value = float(re.sub("[dD]", "e", number))
        values.append(value)
        if descriptor.strip():
            named[descriptor.strip()] = value
    if all(name in named for name in requested):
        return {name: named[name] for name in requested}
    if len(values) < len(requested):
        raise DriverFailed(
            f"the results file has {len(values)} values, {len(requested)} were requested"
        )
    return dict(zip(requested, values, strict=False))


def wrapped(
    command: Sequence[str], responses: Sequence[str], *, aprepro: bool = False
) -> list[str]:
    """The command of a worker that runs a driver."""
    form = ["--aprepro"] if aprepro else []
    module = [sys.executable, "-P", "-m", "counterpoise.adapters.dakota"]
    files = ["--params", "{params}", "--results", "{results}"]
    return [*module, *files, "--responses", ",".join(responses), *form, "--", *command]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--params", type=Path, required=True)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--responses", required=True)
    parser.add_argument("--aprepro", action="store_true")
    parser.add_argument("driver", nargs="+")
    options = parser.parse_args()
    wanted = {os.environ["COUNTERPOISE_OBJECTIVE"]}
    wanted |= set(filter(None, os.environ.get("COUNTERPOISE_ALSO", "").split(",")))
    active = {name: name in wanted for name in options.responses.split(",")}
    x = json.loads(options.params.read_text())
    evaluation = int(os.environ.get("COUNTERPOISE_SAMPLE", "1"))
    text = parameters(x, active, evaluation, aprepro=options.aprepro)
    Path(PARAMETERS).write_text(text)
    code = subprocess.call([*options.driver, PARAMETERS, RESULTS])  # noqa: S603
    if code != 0:
        sys.exit(code if code > 0 else 1)
    requested = [name for name, is_active in active.items() if is_active]
    try:
        values = read_results(Path(RESULTS).read_text(), requested)
    except (OSError, DriverFailed) as error:
        sys.exit(str(error))
    options.results.write_text(json.dumps(values))


if __name__ == "__main__":
    main()
