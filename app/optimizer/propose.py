"""The optimiser's entry: one step of any strategy."""

from collections.abc import Callable, Mapping

from numpy.random import Generator

from app.optimizer.models.fit_task import FrozenModels, Map
from app.optimizer.models.surrogate import Truth
from app.optimizer.problem import Problem
from app.optimizer.proposal.exhausted_space import with_known_points
from app.optimizer.proposal.proposal import Proposal
from app.optimizer.proposal.repetition import with_repetition
from app.optimizer.snapshot import Snapshot
from app.optimizer.strategies.strategy import Resources, Strategy, no_clock


def propose(
    problem: Problem,
    snapshot: Snapshot,
    strategy: Strategy,
    rng: Generator,
    *,
    fit: Map = map,
    truth: Mapping[int, Truth] | None = None,
    frozen: FrozenModels = (),
    clock: Callable[[], float] = no_clock,
) -> Proposal:
    """The points to evaluate next: a pure function of the arguments and of the
    generator's state.

    `fit`: maps fits over objectives, in parallel if it is an executor's. `truth`: the
    cheap objectives themselves, for strategies that call them. `frozen`: an earlier
    proposal's `models.frozen`. `clock`: measures `Proposal.timings`. Neither the order
    of rows nor `fit`, `frozen` or `clock` changes the points.
    """
    refusal = strategy.refusal(problem)
    if refusal is not None:
        raise ValueError(refusal)
    resources = Resources(fit, truth or {}, frozen, clock)
    proposal = strategy.step(problem, snapshot, strategy, rng, resources)
    proposal = with_known_points(snapshot, proposal)
    return with_repetition(problem, snapshot, proposal)
