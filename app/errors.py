"""Every fact the server can state as an error; `app.api.problems` maps them to HTTP in one place."""

from collections.abc import Sequence

from counterpoise.wire.problems import Fault


class CounterpoiseError(Exception):
    """Something the caller can understand and act on; the message says what, where and what to do."""


class SettingsInvalid(CounterpoiseError):
    """A setting has a value the server cannot start with."""


class DatabaseUnusable(CounterpoiseError):
    """The database URL is understood, but this database cannot serve as a store."""


class DatabaseBehind(CounterpoiseError):
    """The database's schema is not the one this version works with."""


class StateChanged(CounterpoiseError):
    """Rows changed under a lock that should have kept them; the transaction is undone and may be repeated."""


class StudyUnknown(CounterpoiseError):
    """No study has this name."""


class StudyExists(CounterpoiseError):
    """The name is taken by a study with another specification."""


class StudyBusy(CounterpoiseError):
    """Workers hold leases of the study."""


class RequestRefused(CounterpoiseError):
    """Understood, but it cannot be done in the study's present state."""


class ObjectiveUnknown(CounterpoiseError):
    """The study has no objective of this name, or none with jobs of its own."""


class JobUnknown(CounterpoiseError):
    """No job has this number."""


class WorkerUnknown(CounterpoiseError):
    """No worker of this name has ever asked."""


class LeaseUnknown(CounterpoiseError):
    """The job does not exist, or the lease was never issued for it."""


class ResultConflict(CounterpoiseError):
    """The lease has already told something else."""


class TellInvalid(CounterpoiseError):
    """The tell does not fit its job."""


class ImportInvalid(CounterpoiseError):
    """Some rows of an import cannot be taken, so none is; all faults are listed."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = faults
        count = f"{len(faults)} fault{'s' if len(faults) > 1 else ''}"
        super().__init__(f"{count}, each listed in `errors` with its place; nothing was imported")


class CursorInvalid(CounterpoiseError):
    """A cursor that no page answered."""


class TokenMissing(CounterpoiseError):
    """The server wants a token and got none, or one that it does not know."""


class RoleInsufficient(CounterpoiseError):
    """The token is known, but not for this."""


class PageForeign(CounterpoiseError):
    """A web page from elsewhere speaks to a server without tokens through somebody's browser."""
