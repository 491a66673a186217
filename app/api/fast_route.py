"""A route class for the most frequent requests, with less overhead than FastAPI's own."""

import json
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from pydantic import TypeAdapter
from starlette.requests import ClientDisconnect


class FastRoute(APIRoute):
    """For `async def endpoint(body, request)`: checks access, parses the body, calls
    the endpoint and serialises.

    Every request that is not valid JSON of the right shape is passed on to FastAPI's
    own handler, which reports its faults in the same way as for other routes.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle_by_fastapi = super().get_route_handler()
        dependencies = [
            depends.dependency
            for depends in self.dependencies
            if depends.dependency is not None
        ]
        assert self.body_field is not None  # noqa: S101
        body_type: TypeAdapter[Any] = TypeAdapter(
            self.body_field.field_info.annotation or Any
        )
        response_type = TypeAdapter(self.response_model)

        async def handle(request: Request) -> Response:
            for dependency in dependencies:
                await dependency(request)
            if request.headers.get("Content-Type") != "application/json":
                return await handle_by_fastapi(request)
            try:
                body = body_type.validate_python(json.loads(await request.body()))
            except (ValueError, RecursionError, ClientDisconnect):
                return await handle_by_fastapi(request)
            result = await self.endpoint(body, request)
            return Response(
                response_type.dump_json(result), media_type="application/json"
            )

        return handle
