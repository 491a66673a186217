"""How far models are from the truth where the search goes: today's ensemble beside the
models chosen by evidence.

Runs of `sbp-bo` in the paper's protocol are stopped at some steps. At each, both kinds
of model predict points near the nondominated set, whose true values are known. Models
by evidence follow the run for a few steps before each moment, so that warm starts and
challengers have their effect.

nrmse: root mean square error over the standard deviation of the true values · nlpd:
negative log predictive density of values in those deviations · within: share of true
values within 2 predicted standard deviations

Example: python -m benchmarks.paper.model_error --problem dtlz2 --seed 100
"""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from time import process_time

import numpy as np
from moocore import is_nondominated
from threadpoolctl import threadpool_limits

from app.optimizer.arrays import Floats
from app.optimizer.models.evidence.leave_one_out import log_normal
from app.optimizer.models.evidence.structure_choice import (
    Candidate,
    Choice,
    choose_model,
)
from app.optimizer.models.evidence.training_rows import Told
from app.optimizer.models.fit_task import FrozenModels
from app.optimizer.models.step_models import Models
from app.optimizer.problem import Problem
from app.optimizer.propose import propose
from app.optimizer.random_streams import NO_OBJECTIVE, generator
from app.optimizer.search.operators import breed
from app.optimizer.snapshot import Data, Snapshot
from app.optimizer.strategies.strategy import Strategy
from benchmarks.paper.protocol import begin, choose, tell
from benchmarks.paper.results import Settings
from benchmarks.problems.catalogue import NAMES, Instance, problem
from counterpoise.wire.codes import StepKind

MOMENTS = (1, 20, 40, 60)  # numbers of steps
LEAD = 4  # steps for which the models by evidence follow the run before a moment
POINTS = 300
Row = dict[str, object]


@dataclass(frozen=True, slots=True, eq=False)
class Moment:
    """What the models of one step can see, today's models, and points near its
    nondominated set.
    """

    snapshot: Snapshot
    today: Models
    X: Floats  # (N, d)
    F: Floats  # (N, m), the truth


def follow(
    instance: Instance, strategy: Strategy, seed: int, rc: int, steps: Iterable[int]
) -> Iterator[Moment]:
    """The given steps of one run."""
    wanted = set(steps)
    declared, snapshot = begin(instance, rc, seed)
    frozen: FrozenModels = ()
    while snapshot.step <= max(wanted):
        rng = generator(seed, StepKind.SEARCH, NO_OBJECTIVE, snapshot.step)
        proposal = propose(declared, snapshot, strategy, rng, frozen=frozen)
        frozen = proposal.models.frozen
        if snapshot.step in wanted:
            X = near_front(
                declared, snapshot, np.random.default_rng([seed, snapshot.step])
            )
            yield Moment(snapshot, proposal.models, X, instance.evaluate(X))
        snapshot = tell(instance, snapshot, proposal)


def near_front(
    declared: Problem, snapshot: Snapshot, rng: np.random.Generator
) -> Floats:
    """Children of nondominated samples, by the search's own operators."""
    parents = snapshot.X[is_nondominated(snapshot.F)]
    pool = parents[rng.integers(len(parents), size=POINTS)]
    return breed(declared.variables, pool[: POINTS // 2], pool[POINTS // 2 :], rng)


def measure(
    instance: Instance, strategy: Strategy, seed: int, rc: int, moments: Sequence[int]
) -> Iterator[Row]:
    """Rows of one run: for every moment, objective and kind of model."""
    choices: list[Choice | None] = [None] * instance.m
    for moment in follow(instance, strategy, seed, rc, _with_lead(moments)):
        step = moment.snapshot.step
        before = process_time()
        candidates = [_by_evidence(moment, i, choices, seed) for i in range(instance.m)]
        seconds = process_time() - before
        if step not in moments:
            continue
        where: Row = {
            "problem": instance.name,
            "m": instance.m,
            "seed": seed,
            "step": step,
        }
        mean, variance = moment.today.means_and_variances(moment.X)  # (N, m) each
        for i, candidate in enumerate(candidates):
            today = errors(moment.F[:, i], mean[:, i], variance[:, i])
            yield where | {"objective": i, "models": "today"} | today
            mu, std = candidate.posterior.mean_and_std(moment.X)
            chosen: Row = {
                "structure": candidate.structure.value,
                "stream": candidate.stream,
                "cpu_s": seconds,
            }
            yield (
                where
                | {"objective": i, "models": "evidence"}
                | errors(moment.F[:, i], mu, std**2)
                | chosen
            )


def errors(truth: Floats, mean: Floats, variance: Floats) -> Row:
    scale = max(float(truth.std()), 1e-12)
    residual = (mean - truth) / scale
    scaled_variance = np.maximum(variance / scale**2, 1e-12)
    return {
        "nrmse": float(np.sqrt(np.mean(residual**2))),
        "nlpd": -float(np.mean(log_normal(residual, scaled_variance))),
        "within": float(np.mean(residual**2 <= 4.0 * scaled_variance)),
    }


def told(snapshot: Snapshot, i: int) -> Told:
    """All values of objective i at this step."""
    stream = snapshot.frozen[i] or Data(snapshot.X[:0], snapshot.F[:0, i])
    return Told(
        Data(snapshot.X, snapshot.F[:, i]),
        snapshot.extra[i],
        snapshot.extra_steps[i],
        stream,
    )


def _by_evidence(
    moment: Moment, i: int, choices: list[Choice | None], seed: int
) -> Candidate:
    step = moment.snapshot.step
    rng = np.random.default_rng([seed, step, i])
    candidate, choices[i] = choose_model(
        told(moment.snapshot, i), choices[i], step + i, rng
    )
    return candidate


def _with_lead(moments: Sequence[int]) -> set[int]:
    steps: set[int] = set()
    for moment in moments:
        steps.update(range(max(1, moment - LEAD + 1), moment + 1))
    return steps


def summary(rows: Sequence[Row]) -> list[Row]:
    """Means over all rows of each kind of model; of nrmse also the geometric mean and
    the median.
    """
    result = []
    for kind in ("today", "evidence"):
        mine = [row for row in rows if row["models"] == kind]
        nrmse = [float(str(row["nrmse"])) for row in mine]
        total: Row = {
            "models": kind,
            "rows": len(mine),
            "nrmse_mean": fmean(nrmse),
            "nrmse_median": median(nrmse),
        }
        total["nrmse_geometric"] = float(np.exp(np.mean(np.log(nrmse))))
        for name in ("nlpd", "within"):
            total[name] = fmean(float(str(row[name])) for row in mine)
        result.append(total)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Errors of models near the nondominated set, as JSON lines."
    )
    parser.add_argument(
        "--problem", action="append", choices=NAMES, help="all unless given"
    )
    parser.add_argument("--m", type=int, default=3)
    parser.add_argument("--rc", type=int, default=5)
    parser.add_argument("--seed", type=int, action="append", help="100 unless given")
    arguments = parser.parse_args()
    strategy = choose("sbp-bo", Settings(keep_extra="all"))
    rows: list[Row] = []
    with threadpool_limits(limits=1):
        for seed in arguments.seed or [100]:
            for name in arguments.problem or NAMES:
                for row in measure(
                    problem(name, arguments.m), strategy, seed, arguments.rc, MOMENTS
                ):
                    rows.append(row)
                    sys.stdout.write(json.dumps(row) + "\n")
    for total in summary(rows):
        sys.stderr.write(json.dumps(total) + "\n")


if __name__ == "__main__":
    main()
