"""The client: every route as a method, with the wire's own shapes in and out."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar, overload

import httpx
from pydantic import BaseModel, TypeAdapter, ValidationError

from counterpoise.connection import ANSWER_S, Connection
from counterpoise.errors import RequestFailed
from counterpoise.wire.specification import NAME_RULE, Name, Specification
from counterpoise.wire.views import (
    FrontItem,
    JobStory,
    JobView,
    Page,
    Retried,
    SampleView,
    StepView,
    StudySummary,
    StudyView,
    WorkerView,
)
from counterpoise.wire.work import MOST_TELLS, Alive, Ask, Asked, HeartbeatAnswer, Released, Tell, Told

Shape = TypeVar("Shape", bound=BaseModel)
Read = TypeVar("Read")
TOLD = TypeAdapter(list[Told])
NAME: TypeAdapter[str] = TypeAdapter(Name)
MOST_LEASES = 1000
PAGE = "1000"


class CreatedStudy(StudyView):
    new: bool  # else it was there already, with the same specification


class Client:
    """Talks to one server; a context manager; threads may share it.

    The server and the token come from COUNTERPOISE_URL and COUNTERPOISE_TOKEN unless given. What is safe to say twice
    is repeated for `retry_s` while the server is away; what fails raises `RequestFailed`, or one of its kinds.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        retry_s: float = 60.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._connection = Connection(url, token, retry_s, transport)

    @property
    def url(self) -> str:
        return self._connection.url

    @property
    def has_token(self) -> bool:
        return self._connection.token is not None

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self.url!r})"

    # workers

    def ask(self, ask: Ask) -> Asked:
        """Jobs, or the reason why there are none. Not repeated once it was sent: a lost answer holds leases."""
        body = ask.model_dump(mode="json")
        return self._get(Asked, "POST", "/ask", body, safe=False, answer_s=ANSWER_S + ask.wait_s)

    @overload
    def tell(self, said: Tell) -> Told: ...
    @overload
    def tell(self, said: Sequence[Tell]) -> list[Told]: ...
    def tell(self, said: Tell | Sequence[Tell]) -> Told | list[Told]:
        """One result, which may be refused; or any number of them, answered one by one."""
        if isinstance(said, Tell):
            return self._get(Told, "POST", "/tell", _body(said), safe=True)
        return [told for part in _parts(said, MOST_TELLS) for told in self._tell_list(part)]

    def heartbeat(self, leases: Sequence[str]) -> list[Alive]:
        parts = _parts(leases, MOST_LEASES)
        return [alive for part in parts for alive in self._post(HeartbeatAnswer, "/heartbeat", leases=part).leases]

    def release(self, leases: Sequence[str]) -> list[str]:
        """Give jobs back; answers those leases that were current."""
        parts = _parts(leases, MOST_LEASES)
        return [lease for part in parts for lease in self._post(Released, "/release", leases=part).released]

    # engineers, acting

    def create_study(self, specification: Specification | Mapping[str, Any]) -> CreatedStudy:
        """The same specification again changes nothing; another one of the same name is refused."""
        raw = _body(specification) if isinstance(specification, Specification) else dict(specification)
        response = self._connection.request("POST", "/studies", raw, safe=True)
        found = self._read(StudyView.model_validate, response)
        return CreatedStudy(**found.model_dump(), new=response.status_code == 201)

    def pause(self, study: str) -> StudyView:
        return self._post(StudyView, _path(study, "/pause"))

    def resume(self, study: str) -> StudyView:
        return self._post(StudyView, _path(study, "/resume"))

    def stop(self, study: str, *, cancel_running: bool = False) -> StudyView:
        return self._post(StudyView, _path(study, "/stop"), cancel_running=cancel_running)

    def extend(self, study: str, budget: int) -> StudyView:
        return self._post(StudyView, _path(study, "/extend"), safe=False, budget=budget)

    def retry(self, study: str, objectives: Sequence[str] | None = None) -> int:
        """Failed jobs are ready again; answers how many."""
        wanted = None if objectives is None else list(objectives)
        return self._post(Retried, _path(study, "/retry"), safe=False, objectives=wanted).jobs

    def delete(self, study: str, *, force: bool = False) -> None:
        params = {"force": "true" if force else "false"}
        self._connection.request("DELETE", _path(study), params=params, safe=False)

    def drain(self, worker: str) -> WorkerView:
        """It gets no more jobs; what it holds goes on."""
        return self._post(WorkerView, "/workers/drain", worker=worker)

    def undrain(self, worker: str) -> WorkerView:
        return self._post(WorkerView, "/workers/undrain", worker=worker)

    # engineers, looking

    def study(self, study: str) -> StudyView:
        return self._get(StudyView, "GET", _path(study), safe=True)

    def studies(self) -> Iterator[StudySummary]:
        return self._items(StudySummary, "/studies")

    def samples(self, study: str, *, full: bool | None = None) -> Iterator[SampleView]:
        return self._items(SampleView, _path(study, "/samples"), full=None if full is None else str(full).lower())

    def jobs(self, study: str, *, objective: str | None = None, state: str | None = None) -> Iterator[JobView]:
        return self._items(JobView, _path(study, "/jobs"), objective=objective, state=state)

    def steps(self, study: str) -> Iterator[StepView]:
        return self._items(StepView, _path(study, "/steps"))

    def front(self, study: str) -> list[FrontItem]:
        return list(self._items(FrontItem, _path(study, "/front")))

    def workers(self) -> Iterator[WorkerView]:
        return self._items(WorkerView, "/workers")

    def explain(self, job: int) -> JobStory:
        """Why a job is where it is, who had it and what happened."""
        return self._get(JobStory, "GET", f"/jobs/{job}", safe=True)

    # health

    def check_ready(self) -> None:
        """Fails where the server cannot work now, and says why."""
        self._connection.request("GET", "/readyz", safe=True)

    def about(self) -> tuple[str, str]:
        """Title and version of whatever answers."""
        return self._connection.about()

    def _post(self, shape: type[Shape], path: str, *, safe: bool = True, **body: Any) -> Shape:
        return self._get(shape, "POST", path, body or None, safe=safe)

    def _get(
        self, shape: type[Shape], method: str, path: str, body: object = None, *, safe: bool, answer_s: float = ANSWER_S
    ) -> Shape:
        response = self._connection.request(method, path, body, safe=safe, answer_s=answer_s)
        return self._read(shape.model_validate, response)

    def _items(self, shape: type[Shape], path: str, **wanted: str | None) -> Iterator[Shape]:
        """Every item of a list, page after page."""
        params = {"limit": PAGE} | {name: value for name, value in wanted.items() if value is not None}
        while True:
            response = self._connection.request("GET", path, params=params, safe=True)
            page = self._read(Page[shape].model_validate, response)  # type: ignore[valid-type]
            yield from page.items
            if page.next is None:
                return
            if page.next == params.get("cursor"):
                raise self._connection.not_understood(f"{response.url} leads to itself")
            params["cursor"] = page.next

    def _tell_list(self, items: Sequence[Tell]) -> list[Told]:
        try:
            response = self._connection.request("POST", "/tell", [_body(item) for item in items], safe=True)
        except RequestFailed as error:
            if error.status != 413 or len(items) == 1:
                raise
            half = len(items) // 2  # the server has a limit that only it knows
            return self._tell_list(items[:half]) + self._tell_list(items[half:])
        told = self._read(TOLD.validate_python, response)
        if len(told) != len(items):
            raise self._connection.not_understood(f"{response.url} answered {len(told)} of {len(items)} tells")
        return told

    def _read(self, shape: Callable[[Any], Read], response: httpx.Response) -> Read:
        try:
            return shape(self._connection.body(response))
        except ValidationError:
            what = f"the answer of {response.url.copy_with(query=None)} is not what this version expects"
            raise self._connection.not_understood(what) from None


def _body(shape: BaseModel) -> dict[str, Any]:
    return shape.model_dump(mode="json", exclude_none=True, exclude_unset=True)


Part = TypeVar("Part")


def _parts(items: Sequence[Part], most: int) -> Iterator[Sequence[Part]]:
    return (items[start : start + most] for start in range(0, len(items), most))


def _path(study: str, rest: str = "") -> str:
    try:
        return f"/studies/{NAME.validate_python(study)}{rest}"
    except ValidationError:
        raise ValueError(f"{study!r} is no name of a study: {NAME_RULE}") from None
