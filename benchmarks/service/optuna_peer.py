"""Optuna's ask + tell on RDB storage, the peer of `bench service`.

Its cheapest sampler, so that what is measured is its storage; as many processes, the
same PostgreSQL server.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import optuna
from optuna.distributions import BaseDistribution, FloatDistribution

from benchmarks.service.worker_processes import Share

STUDY = "peer"
SPACE: dict[str, BaseDistribution] = {
    f"x{k}": FloatDistribution(0.0, 1.0) for k in range(10)
}
OBJECTIVES = 3


@dataclass(frozen=True, slots=True)
class Trials:
    """What each process does."""

    url: str
    count: int


def make(url: str) -> None:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    storage = optuna.storages.RDBStorage(url)
    optuna.create_study(
        study_name=STUDY, storage=storage, directions=["minimize"] * OBJECTIVES
    )
    storage.engine.dispose()


def work(trials: Trials, number: int, start: Callable[[], object]) -> Share:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.RandomSampler(seed=number)
    study = optuna.load_study(study_name=STUDY, storage=trials.url, sampler=sampler)
    _cycle(study, Share())  # connections and statements are ready before it is measured
    share = Share()
    start()
    share.began = time.monotonic()
    for _ in range(trials.count):
        _cycle(study, share)
        share.done += 1
    share.ended = time.monotonic()
    return share


def _cycle(study: optuna.Study, share: Share) -> None:
    began = time.monotonic()
    trial = study.ask(SPACE)
    share.timed("ask", began)
    began = time.monotonic()
    study.tell(trial, [1.5] * OBJECTIVES)
    share.timed("tell", began)
