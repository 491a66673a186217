"""The errors of a client: one tree; each message contains what happened, where, and
what to do.
"""

from counterpoise.wire.problems import Fault, Problem


class RequestFailed(Exception):
    """The server was not reached, refused the request, or sent an unexpected response.

    `status` is the HTTP status of the response, if there was one, `problem` its body,
    `detail` the whole message.
    """

    def __init__(
        self, detail: str, status: int | None = None, problem: Problem | None = None
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.status = status
        self.problem = problem

    @property
    def faults(self) -> list[Fault]:
        """Every fault of an invalid request, with its place."""
        return self.problem.errors if self.problem else []


class ServerUnavailable(RequestFailed):
    """No response, or none from the server itself; a later request may succeed."""


class Refused(RequestFailed):
    """The server responded with a problem."""


class UnexpectedResponse(RequestFailed):
    """A response that this version cannot read: from another version, or not from a
    Counterpoise server.
    """
