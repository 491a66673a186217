"""What the last slow runs added, in a sentence."""

import pytest

from app.service.monitoring.convergence import describe_gain
from counterpoise.wire.codes import Convergence
from counterpoise.wire.monitoring.convergence import RecentGain


@pytest.mark.parametrize(
    ("share", "count", "sentence"),
    [
        (1.0, 8, "The last 8 slow runs added 100 % to the hypervolume."),
        (0.003, 12, "The last 12 slow runs added 0.3 % to the hypervolume."),
        (0.2, 1, "The last 1 slow run added 20 % to the hypervolume."),
        (None, 3, "The last 3 slow runs made all of the hypervolume."),
        (-0.1, 3, "The last 3 slow runs added nothing to the hypervolume."),
    ],
)
def test_the_gain_is_relative_to_the_hypervolume_before(
    share: float | None, count: int, sentence: str
) -> None:
    gain = RecentGain(
        slow_evaluations=count, slow_s=None, steps=4, gain=share or 0.7, share=share
    )
    assert describe_gain(Convergence.IMPROVING, gain) == sentence
