"""What the models believe about points whose values are still to come."""

from typing import Literal

# `pessimistic`: a value worse than the mean by one standard deviation
Belief = Literal["mean", "pessimistic"]
# By how many standard deviations a believed value is above the mean
DEVIATIONS: dict[Belief, float] = {"mean": 0.0, "pessimistic": 1.0}
