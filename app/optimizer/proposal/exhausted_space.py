"""What a step proposes where the space has no new point left: cheap-only samples become
full ones.
"""

from dataclasses import replace

import numpy as np

from app.optimizer.arrays import Ints
from app.optimizer.models.step_models import Models
from app.optimizer.proposal.acquisition import to_unit_range
from app.optimizer.proposal.proposal import Proposal
from app.optimizer.proposal.sources import Preference
from app.optimizer.samples import Samples
from app.optimizer.search.novelty import is_new
from app.optimizer.snapshot import Snapshot


def with_known_points(snapshot: Snapshot, proposal: Proposal) -> Proposal:
    """The proposal, completed with samples of the pool, the best first; they are no
    longer evaluated as cheap-only ones.
    """
    missing = snapshot.batch - len(proposal.full) - len(proposal.promoted)
    free = np.setdiff1d(np.arange(len(snapshot.pool)), proposal.promoted)
    if missing <= 0 or len(free) == 0:
        return proposal
    order = best_first(proposal.models, snapshot.pool.rows(free))
    chosen = free[order[:missing]]
    points = snapshot.pool.X[chosen]
    kept = [is_new(cheap, points) for cheap in proposal.cheap]
    cheap_sources = tuple(
        tuple(np.array(sources)[rows].tolist())
        for sources, rows in zip(proposal.diagnostics.cheap_sources, kept, strict=True)
    )
    shortfall = f"no new point was left: {len(chosen)} cheap-only samples became full"
    return replace(
        proposal,
        cheap=tuple(
            cheap[rows] for cheap, rows in zip(proposal.cheap, kept, strict=True)
        ),
        promoted=np.append(proposal.promoted, chosen),
        diagnostics=replace(
            proposal.diagnostics, cheap_sources=cheap_sources, full_samples=()
        ),
        shortfall=shortfall,
    )


def best_first(models: Models, samples: Samples) -> Ints:
    """Rows that probably keep the limits, by the sum of their values in units of their
    ranges, known or predicted; then the others, the most probable first.
    """
    preference = Preference(models.feasibility)
    X, total = samples.X, np.zeros(len(samples))
    m = len(models.surrogates)
    if m > 0:
        F = np.where(samples.known[:, :m], samples.F[:, :m], models.means(X))
        total = to_unit_range(F).sum(axis=1)
    is_likely = preference.is_likely(X)
    likely = np.flatnonzero(is_likely)
    likely = likely[np.argsort(total[likely], kind="stable")]
    others = np.flatnonzero(~is_likely)
    return np.append(likely, others[preference.most_probable_first(X[others])])
