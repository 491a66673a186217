"""Runs of a campaign, spread over processes or over a Dask cluster.

A finished run is on file before the next one is waited for, so a campaign that is
interrupted goes on where it was.
"""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from functools import cache
from multiprocessing import get_context
from pathlib import Path

from benchmarks.campaign.run_spec import run
from benchmarks.campaign.variants import VARIANTS
from benchmarks.paper import results
from benchmarks.paper.fingerprint import (
    PEER_RUNS,
    VARIANT_RUNS,
    VIRTUAL_TIME,
    fingerprint,
)
from benchmarks.paper.results import Outcome, Spec
from benchmarks.peers.catalogue import PEERS
from counterpoise.blas_threads import ONE_BLAS_THREAD
from counterpoise.child_processes import end_with_parent

DASK = "dask://"


def run_missing(
    specs: Sequence[Spec],
    file: Path,
    executor: Executor,
    report: Callable[[Outcome], None],
    known: Collection[Spec] = (),
) -> None:
    """Runs that are neither known nor in the file: every instance once before any a
    second time, small ones first.
    """
    kept = {*known, *results.read(file)}
    missing = [spec for spec in dict.fromkeys(specs) if spec not in kept]
    missing.sort(key=lambda spec: (spec.seed, spec.m))
    futures = [
        executor.submit(run, spec, _fingerprint(more_sources(spec))) for spec in missing
    ]
    try:
        for future in as_completed(futures):
            outcome = future.result()
            results.append(file, outcome)
            report(outcome)
    finally:
        for future in futures:
            future.cancel()


def more_sources(spec: Spec) -> tuple[str, ...]:
    """What can change this run beside the sources of every run."""
    if spec.slots:
        return VIRTUAL_TIME
    if spec.strategy in VARIANTS:
        return VARIANT_RUNS
    return PEER_RUNS if spec.strategy in PEERS else ()


@cache
def _fingerprint(more: tuple[str, ...]) -> str:
    return fingerprint(more=more)


@contextmanager
def open_executor(address: str, jobs: int) -> Iterator[Executor]:
    """`processes`, each with one BLAS thread, or `dask://host:port`."""
    if address.startswith(DASK):
        # A run without a cluster does not need the package
        from counterpoise.worker.evaluators.dask_executor import DaskExecutor

        cluster = DaskExecutor(address)
        try:
            yield cluster
        finally:
            cluster.shutdown()
        return
    if address != "processes":
        raise ValueError(
            f"no executor {address!r}; there are 'processes' and 'dask://host:port'"
        )
    os.environ.update(ONE_BLAS_THREAD)
    context = get_context("spawn")
    with ProcessPoolExecutor(
        max_workers=jobs, mp_context=context, initializer=end_with_parent
    ) as pool:
        yield pool


def on_file(specs: Iterable[Spec], files: Iterable[Path]) -> dict[Spec, Outcome]:
    """The finished runs of all files; of equal ones that of the last file."""
    kept: dict[Spec, Outcome] = {}
    for file in files:
        kept |= results.read(file)
    return {spec: kept[spec] for spec in specs if spec in kept}
