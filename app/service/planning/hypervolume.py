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


def hypervolume(F: Floats, reference: Sequence[float] | None) -> dict[str, Any] | None:
    """F: complete samples, minimised, (n, m). None before there is one."""
    if len(F) == 0:
        return None
    # (m,)
    ref = np.array(reference, dtype=float) if reference is not None else reference_of(F)
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


def reference_of(F: Floats) -> Floats:
    """The worst of each objective among the first complete samples, and a tenth of the
    range beyond.
    """
    low, high = F.min(axis=0), F.max(axis=0)
    spread = np.where(high > low, high - low, np.maximum(np.abs(high), 1.0))
    reference: Floats = high + MARGIN * spread
    return reference
