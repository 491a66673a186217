"""Other libraries by name. Each evaluates the same design, then the same number of full
samples; all objectives of a point are evaluated together, but by `hvkg`.
"""

from collections.abc import Callable
from time import process_time

import numpy as np
from numpy.typing import NDArray

from app.optimizer.random_streams import NO_OBJECTIVE, generator
from app.optimizer.search.design import initial_design
from benchmarks.paper.evaluations import ratios
from benchmarks.paper.protocol import instance_of, outcome
from benchmarks.paper.results import Outcome, Spec
from benchmarks.peers import botorch_peers, hvkg_peer, optuna_peers, pymoo_peers
from benchmarks.problems.catalogue import Instance
from counterpoise.wire.codes import StepKind

Array = NDArray[np.float64]
# Instance, design (n, d), budget, seed -> values of all full samples (budget, m), CPU
# time of each step
Peer = Callable[[Instance, Array, int, int], tuple[Array, list[float]]]
COUPLED: dict[str, Peer] = {
    "optuna-tpe": optuna_peers.tpe,
    "optuna-gp": optuna_peers.gaussian_process,
    "pymoo-nsga3": pymoo_peers.nsga3,
    "pymoo-rvea": pymoo_peers.rvea,
    "qlognehvi": botorch_peers.qlognehvi,
}
HVKG = "hvkg"
PEERS = (*COUPLED, HVKG)
NEEDS_TORCH = ("optuna-gp", "qlognehvi", HVKG)


def run(spec: Spec, code: str = "") -> Outcome:
    instance = instance_of(spec)
    all_ratios = ratios(instance, spec.ratios or spec.rc)
    declared = instance.declare(all_ratios)
    rng = generator(spec.seed, StepKind.INITIAL, NO_OBJECTIVE, 0)
    X = initial_design(declared, min(instance.n, spec.budget), rng)
    before = process_time()
    if spec.strategy == HVKG:
        F, seconds = hvkg_peer.hvkg(instance, X, spec.budget, spec.seed, all_ratios)
    else:
        F, seconds = COUPLED[spec.strategy](instance, X, spec.budget, spec.seed)
    return outcome(spec, instance, F, seconds, process_time() - before, code)
