"""Requests whose responses are read as wire shapes."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from counterpoise.client.connection import RESPONSE_S, Connection
from counterpoise.wire.views import Page

Shape = TypeVar("Shape", bound=BaseModel)
Content = TypeVar("Content")
Item = TypeVar("Item")
PAGE = "1000"


class TypedRequests:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def _get(self, shape: type[Shape], path: str) -> Shape:
        response = self._connection.request("GET", path, idempotent=True)
        return self._read(shape.model_validate, response)

    def _post(
        self,
        shape: type[Shape],
        path: str,
        body: object = None,
        *,
        idempotent: bool = True,
        timeout_s: float = RESPONSE_S,
    ) -> Shape:
        response = self._connection.request(
            "POST", path, body, idempotent=idempotent, timeout_s=timeout_s
        )
        return self._read(shape.model_validate, response)

    def _items(
        self, shape: type[Shape], path: str, **filters: str | None
    ) -> Iterator[Shape]:
        """Every item of a list, page after page."""
        params = {"limit": PAGE}
        params |= {name: value for name, value in filters.items() if value is not None}
        while True:
            response = self._connection.request(
                "GET", path, params=params, idempotent=True
            )
            page = self._read(Page[shape].model_validate, response)  # type: ignore[valid-type]
            yield from page.items
            if page.next is None:
                return
            if page.next == params.get("cursor"):
                raise self._connection.unexpected(
                    f"{response.url} is its own next page"
                )
            params["cursor"] = page.next

    def _read(
        self, validate: Callable[[Any], Content], response: httpx.Response
    ) -> Content:
        try:
            body = response.json() if response.content else None
        except ValueError:
            raise self._connection.unexpected(
                f"the response of {response.url} is not JSON"
            ) from None
        try:
            return validate(body)
        except ValidationError:
            url = response.url.copy_with(query=None)
            raise self._connection.unexpected(
                f"the response of {url} is not what this version expects"
            ) from None


def body_of(shape: BaseModel) -> dict[str, Any]:
    """Only what was set: the server fills in the rest."""
    return shape.model_dump(mode="json", exclude_none=True, exclude_unset=True)


def batches(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
