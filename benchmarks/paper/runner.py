"""Many runs: those already on file are kept, the others are spread over processes with
one BLAS thread each.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

from benchmarks.paper import results
from benchmarks.paper.fingerprint import fingerprint
from benchmarks.paper.protocol import run
from benchmarks.paper.results import Outcome, Spec
from counterpoise.blas_threads import ONE_BLAS_THREAD
from counterpoise.child_processes import end_with_parent


def run_all(
    specs: Iterable[Spec],
    file: Path,
    jobs: int,
    *,
    fresh: bool = False,
    report: Callable[[Outcome], None],
) -> dict[Spec, Outcome]:
    """Outcomes of all specs, or with 0 jobs of those on file; `report` is told each as
    it is there, kept ones first.
    """
    wanted = list(dict.fromkeys(specs))
    kept = {} if fresh else results.read(file)
    outcomes = {spec: kept[spec] for spec in wanted if spec in kept}
    for outcome in outcomes.values():
        report(outcome)
    missing = [spec for spec in wanted if spec not in outcomes] if jobs else []
    for outcome in _in_processes(_in_order(missing), jobs):
        results.append(file, outcome)
        outcomes[outcome.spec] = outcome
        report(outcome)
    return {spec: outcomes[spec] for spec in wanted if spec in outcomes}


def _in_order(specs: list[Spec]) -> list[Spec]:
    """Every instance once before any a second time, long runs first: what an
    interruption leaves is balanced.
    """
    return sorted(specs, key=lambda spec: (spec.seed, -spec.m))


def _in_processes(specs: Sequence[Spec], jobs: int) -> Iterable[Outcome]:
    if not specs:
        return
    os.environ.update(ONE_BLAS_THREAD)
    code = fingerprint()
    context = get_context("spawn")
    with ProcessPoolExecutor(
        max_workers=jobs, mp_context=context, initializer=end_with_parent
    ) as pool:
        futures = [pool.submit(run, spec, code) for spec in specs]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
