"""The requests of workers: ask, tell, heartbeat, release."""

from collections.abc import Sequence
from typing import overload

from pydantic import TypeAdapter

from counterpoise.client.connection import RESPONSE_S
from counterpoise.client.typed_requests import TypedRequests, batches, body_of
from counterpoise.errors import RequestFailed
from counterpoise.wire.work import (
    MOST_TELLS,
    Alive,
    Ask,
    Asked,
    HeartbeatAnswer,
    Released,
    Tell,
    Told,
)

MOST_LEASES = 1000
TOLD = TypeAdapter(list[Told])


class WorkRequests(TypedRequests):
    def ask(self, ask: Ask) -> Asked:
        """Jobs, or the reason why there are none.

        Not repeated once it was sent: a lost response may hold leases.
        """
        body = ask.model_dump(mode="json")
        return self._post(
            Asked, "/ask", body, idempotent=False, timeout_s=RESPONSE_S + ask.wait_s
        )

    @overload
    def tell(self, result: Tell) -> Told: ...
    @overload
    def tell(self, result: Sequence[Tell]) -> list[Told]: ...
    def tell(self, result: Tell | Sequence[Tell]) -> Told | list[Told]:
        """Send one result, which raises if it is refused; or any number of them, each
        with a response of its own.
        """
        if isinstance(result, Tell):
            return self._post(Told, "/tell", body_of(result))
        told: list[Told] = []
        for batch in batches(result, MOST_TELLS):
            told += self._tell_batch(batch)
        return told

    def _tell_batch(self, results: Sequence[Tell]) -> list[Told]:
        body = [body_of(result) for result in results]
        try:
            response = self._connection.request("POST", "/tell", body, idempotent=True)
        except RequestFailed as error:
            if error.status != 413 or len(results) == 1:
                raise
            half = len(results) // 2  # the size limit of the server is not known here
            return self._tell_batch(results[:half]) + self._tell_batch(results[half:])
        told = self._read(TOLD.validate_python, response)
        if len(told) != len(results):
            message = f"{response.url} responded to {len(told)} of {len(results)} tells"
            raise self._connection.unexpected(message)
        return told

    def heartbeat(
        self, leases: Sequence[str], *, timeout_s: float = RESPONSE_S
    ) -> list[Alive]:
        """New deadlines, and the jobs to cancel."""
        alive: list[Alive] = []
        for batch in batches(leases, MOST_LEASES):
            response = self._post(
                HeartbeatAnswer,
                "/heartbeat",
                {"leases": list(batch)},
                timeout_s=timeout_s,
            )
            alive += response.leases
        return alive

    def goodbye(self, worker: str, instance: str) -> list[str]:
        """Say that this process of the worker has ended; returns the leases that it
        held.
        """
        body = {"worker": worker, "instance": instance}
        return self._post(Released, "/goodbye", body).released

    def release(self, leases: Sequence[str]) -> list[str]:
        """Give jobs back; returns the leases that were current."""
        released: list[str] = []
        for batch in batches(leases, MOST_LEASES):
            released += self._post(
                Released, "/release", {"leases": list(batch)}
            ).released
        return released
