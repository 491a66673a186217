"""Every constant of the strategy `counterpoise`, with its meaning."""

from dataclasses import dataclass, replace
from typing import Literal

from app.optimizer.models.belief import Belief
from app.optimizer.search.reference_vectors import Lattice


@dataclass(frozen=True, slots=True)
class CounterpoiseSettings:
    # Scale
    # a front's range below this share of the data's range is replaced by the latter
    smallest_range: float = 0.05
    # all objectives are divided by the largest range, where they share one unit: only
    # with `scaling: paper`, as a study's objectives rarely do
    common_unit: bool = False

    # Directions
    lattice: Lattice = "large"  # 105 / 126 / 275 directions at m = 3 / 5 / 10
    # Where rays start, on the scale on which the front spans [0, 1]
    ray_origin: float = 1.1
    smallest_weight: float = 0.001  # of an objective in a ray's direction
    pbi_penalty: float = 5.0  # weight of the distance from the direction
    # also search where all objectives but one are small, so that ranges can grow
    corners: bool = False

    # Search on the predicted means
    generations: int = 40
    brood: int = 150  # most children of a generation
    # Individuals kept per direction and worth; one in the last generation
    kept: int = 2
    # With few directions (m = 1) more are kept per direction
    smallest_population: int = 100
    newest_pool: int = 200  # pool samples that the search starts from
    # Probability that one variable of a child is set to a bound
    one_to_bound: float = 0.1
    # Probability that a child's variables near a bound are moved to it
    near_to_bound: float = 0.1
    near: float = 0.1  # how near
    moved: float = 0.7  # probability of each of them

    # Gain
    samples: int = 16  # joint draws of the models' errors; a power of two
    targets: int = 150  # most points that stand for the front to be found
    # targets are the nondominated points that win a direction; else all nondominated
    # ones
    targets_win: bool = False

    # Full samples and extras are those of the largest gain; else any candidates
    by_gain: bool = True

    # Candidates of promotion
    # Samples of the pool become full samples; else only new points do
    promotion: bool = True
    # deviations by which a candidate's values are lowered before it may be dominated
    optimism: float = 2.0
    # More are thinned to the winners of each direction and `random_candidates`
    candidates: int = 150
    random_candidates: int = 100
    # places of a step for which new points compete with the pool; for the others they
    # do where the pool has no gain
    fresh_share: float = 0.0

    # Extras
    # All cheap objectives have the same ones; else each has its own
    common_points: bool = True
    # extras chosen among children of the nondominated samples; the others: from the
    # search
    evolved_share: float = 0.5
    children_per_extra: int = 8

    # Limits
    # Deviations that means must keep from the limits, if all of the newest full samples
    # broke one; less in proportion
    caution: float = 6.0
    most_caution: float = 2.0

    # Models; the two numbers of rows are those of Kriging (`models: paper`)
    model_rows: int = 400  # most values that a model is conditioned on
    tuned_rows: int = 200  # most values that hyperparameters are found from
    # Newest full samples that decide between the plain and the co-model, and on caution
    record: int = 15
    least_record: int = 6  # fewer do not decide: the plain model is used, no caution
    co_model: Literal["record", "never"] = "record"
    belief: Belief = "mean"  # at points whose values are still to come


DEFAULTS = CounterpoiseSettings()

# Chosen on seed 100: with so many objectives nearly every cheap-only sample is
# nondominated, and the pool alone converges too slowly
MANY_OBJECTIVES = 8
MANY = replace(
    DEFAULTS, targets=250, evolved_share=0.25, fresh_share=1 / 3, common_unit=True
)


def settings_for(m: int) -> CounterpoiseSettings:
    return MANY if m >= MANY_OBJECTIVES else DEFAULTS
