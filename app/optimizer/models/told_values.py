"""All values of one objective in a snapshot, for models that choose among them."""

import numpy as np

from app.optimizer.arrays import Floats
from app.optimizer.models.evidence.training_rows import Told
from app.optimizer.snapshot import Data, Snapshot


def evidence_told(snapshot: Snapshot, i: int) -> Told:
    """The stream's data apart; its design is among the full samples."""
    stream = snapshot.frozen[i]
    return Told(
        full=full_values(snapshot, i),
        extra=snapshot.extra[i],
        extra_steps=snapshot.extra_steps[i],
        stream=Data(snapshot.X[:0], np.empty(0)) if stream is None else stream,
    )


def pooled_told(snapshot: Snapshot, i: int) -> Told:
    """The stream's data as cheap-only samples of step 0."""
    told = evidence_told(snapshot, i)
    X = np.vstack([told.extra.X, told.stream.X])
    y = np.append(told.extra.y, told.stream.y)
    steps = np.append(told.extra_steps, np.zeros(len(told.stream), dtype=np.int64))
    nothing = Data(told.stream.X[:0], told.stream.y[:0])
    return Told(told.full, Data(X, y), steps, nothing)


def full_values(snapshot: Snapshot, i: int) -> Data:
    """The values of complete, incomplete, running and infeasible full samples."""
    incomplete = snapshot.incomplete(i)
    X = np.vstack([snapshot.X, incomplete.X])
    y = np.append(snapshot.F[:, i], incomplete.y)
    worst = _worst(snapshot, i, y)
    if worst is None:
        return Data(X, y)
    infeasible = snapshot.infeasible[i]
    values = np.append(y, np.full(len(infeasible), worst))
    return Data(np.vstack([X, infeasible]), values)


def _worst(snapshot: Snapshot, i: int, y: Floats) -> float | None:
    """The value for infeasible points, so that the search leaves their region."""
    told = np.append(y, snapshot.extra[i].y)
    return float(told.max()) if len(told) else None
