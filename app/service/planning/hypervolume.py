"""The hypervolume of a study's front, against a reference point that stays the same
from step to step.
"""

import math
from collections.abc import Sequence
from typing import Any

import moocore
import numpy as np

from app.optimizer.arrays import Floats

MARGIN = 0.1
EXACT_UP_TO = 5


def hypervolume(
    F: Floats, reference: Sequence[float] | None, complete: Floats | None = None
) -> dict[str, Any] | None:
    """F: complete samples that keep all limits, minimised, (n, m). None before there is
    one. `complete`: those that break one too, (k, m), for a first reference point:
    feasible ones may be too few for it.
    """
    if len(F) == 0:
        return None
    ref = (
        np.array(reference, dtype=float)
        if reference is not None
        else _first(F, complete)
    )  # (m,)
    m = F.shape[1]
    if m == 1:
        value = max(float(ref[0] - F.min()), 0.0)
    elif m <= EXACT_UP_TO:
        value = float(moocore.hypervolume(F, ref=ref))
    else:
        value = float(moocore.hv_approx(F, ref=ref, seed=1))
    if not math.isfinite(value):  # values near the end of what a float can hold
        return None
    front = int(moocore.is_nondominated(F, keep_weakly=True).sum())
    return {
        "value": value,
        "reference": ref.tolist(),
        "exact": m <= EXACT_UP_TO,
        "front": front,
    }


def _first(F: Floats, complete: Floats | None) -> Floats:
    return reference_of(F if complete is None else complete)


def reference_of(F: Floats) -> Floats:
    """The worst of each objective among the first complete samples, and a tenth of the
    range beyond.
    """
    low, high = F.min(axis=0), F.max(axis=0)
    spread = np.where(high > low, high - low, np.maximum(np.abs(high), 1.0))
    reference: Floats = high + MARGIN * spread
    return reference
