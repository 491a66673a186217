"""What a client can fail with: one tree, each error says what, where and what to do."""

from counterpoise.wire.problems import Fault, Problem


class RequestFailed(Exception):
    """The server was not reached, or refused, or answered what nobody understands.

    `status` is the HTTP status where there was an answer, `problem` what the server said, `detail` all of it in words.
    """

    def __init__(self, detail: str, status: int | None = None, problem: Problem | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.status = status
        self.problem = problem

    @property
    def faults(self) -> list[Fault]:
        """Every fault of an invalid request, with its place."""
        return self.problem.errors if self.problem else []


class ServerAway(RequestFailed):
    """No answer, or none from the server itself: it may answer later."""


class Refused(RequestFailed):
    """The server answered with a problem."""


class NotUnderstood(RequestFailed):
    """An answer that this version does not understand: another version, or no Counterpoise server at all."""
