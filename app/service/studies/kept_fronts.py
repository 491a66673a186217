"""Fronts of the studies that were asked for last, so that a request reads only what has
changed since.
"""

import threading
from collections import OrderedDict
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from app.store.database import Database
from counterpoise.wire.views import NearlyFeasible, SampleView

MOST_KEPT = 32  # studies of one database


@dataclass(frozen=True, slots=True)
class KeptFront:
    sequence: int  # of the study, when the front was computed
    best: list[SampleView]
    nearest: list[NearlyFeasible]  # where there is no feasible sample


class KeptFronts:
    """By study; requests run in several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._fronts: OrderedDict[int, KeptFront] = OrderedDict()

    def get(self, study: int) -> KeptFront | None:
        with self._lock:
            return self._fronts.get(study)

    def put(self, study: int, front: KeptFront) -> None:
        with self._lock:
            self._fronts[study] = front
            self._fronts.move_to_end(study)
            if len(self._fronts) > MOST_KEPT:
                self._fronts.popitem(last=False)


_by_database: WeakKeyDictionary[Database, KeptFronts] = WeakKeyDictionary()


def kept_fronts(database: Database) -> KeptFronts:
    return _by_database.setdefault(database, KeptFronts())
