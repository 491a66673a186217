"""All errors that the server reports; `app.api.problems` maps them to HTTP in one
place.
"""

from collections.abc import Sequence

from counterpoise.wire.problems import Fault


class CounterpoiseError(Exception):
    """An error that the caller can act on; the message names what is wrong, where, and
    what to do.
    """


class SettingsInvalid(CounterpoiseError):
    """The server cannot start with the value of a setting."""


class DatabaseUnusable(CounterpoiseError):
    """The database cannot be reached, read or written."""


class DatabaseBehind(CounterpoiseError):
    """The database's schema is not the one that this version needs."""


class StateChanged(CounterpoiseError):
    """Rows changed during the operation.

    Its transaction is rolled back, and it may be repeated.
    """


class StudyUnknown(CounterpoiseError):
    """No study has this name."""


class StudyExists(CounterpoiseError):
    """A study with another specification has this name."""


class StudyBusy(CounterpoiseError):
    """Workers hold leases of the study."""


class RequestRefused(CounterpoiseError):
    """The request is valid, but not possible in the study's present state."""


class ObjectiveUnknown(CounterpoiseError):
    """The study has no objective of this name, or none with jobs of its own."""


class JobNotCancellable(CounterpoiseError):
    """A job that is settled, or that no worker runs, cannot be cancelled."""


class JobUnknown(CounterpoiseError):
    """No job has this number."""


class SampleUnknown(CounterpoiseError):
    """The study has no sample of this number."""


class WorkerUnknown(CounterpoiseError):
    """No worker of this name has ever sent an ask."""


class LeaseUnknown(CounterpoiseError):
    """The job does not exist (any more), or it has no such lease."""


class ResultConflict(CounterpoiseError):
    """Another result was already reported with this lease."""


class TellInvalid(CounterpoiseError):
    """The tell does not fit its job."""


class ImportInvalid(CounterpoiseError):
    """Some rows of an import are invalid, so that nothing is imported; the first faults
    are listed.
    """

    def __init__(self, faults: Sequence[Fault], count: int) -> None:
        self.faults = faults
        self.count = count
        listed = "each" if count == len(faults) else f"the first {len(faults)}"
        super().__init__(
            f"{count} fault{'s' if count > 1 else ''}, {listed} listed in `errors` with its place;"
            " nothing was imported"
        )


class CursorInvalid(CounterpoiseError):
    """A cursor or an event id that the server never issued."""


class TokenMissing(CounterpoiseError):
    """The request has no token, or an unknown one."""


class TooManyWrongTokens(CounterpoiseError):
    """This address has tried too many wrong tokens."""


class StudyForbidden(CounterpoiseError):
    """The token is limited to other studies."""


class RoleInsufficient(CounterpoiseError):
    """The token's role does not allow this request."""


class CrossOriginRefused(CounterpoiseError):
    """A web page of another origin sent a request to a server without tokens."""


class TooManyLogins(CounterpoiseError):
    """A client failed to log in too often."""

    def __init__(self, message: str, retry_after_s: int) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class PointInvalid(CounterpoiseError):
    """A point does not fit the study's variables; all faults are listed."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = faults
        count = f"{len(faults)} fault{'s' if len(faults) > 1 else ''}"
        super().__init__(f"{count}, each listed in `errors` with its place")


class PredictionsBusy(CounterpoiseError):
    """Other predictions take too long."""
