"""The client: every route as a method, with the wire's own shapes in and out."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar, overload

import httpx
from pydantic import BaseModel, TypeAdapter, ValidationError

from counterpoise import evaluation_file
from counterpoise.connection import ANSWER_S, Connection
from counterpoise.errors import Refused, RequestFailed
from counterpoise.event_stream import listen
from counterpoise.wire.events import Event
from counterpoise.wire.problems import Fault
from counterpoise.wire.specification import NAME_RULE, Name, Specification
from counterpoise.wire.views import (
    FrontItem,
    Imported,
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
MOST_IMPORT, SMALLEST_IMPORT = 262_144, 1000  # bytes of a request: a transaction short enough for others to wait for


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

    def heartbeat(self, leases: Sequence[str], *, answer_s: float = ANSWER_S) -> list[Alive]:
        """New deadlines, and what to cancel. One that is not answered in `answer_s` is better said again."""
        bodies = [{"leases": part} for part in _parts(leases, MOST_LEASES)]
        answers = (self._get(HeartbeatAnswer, "POST", "/heartbeat", b, safe=True, answer_s=answer_s) for b in bodies)
        return [alive for answer in answers for alive in answer.leases]

    def release(self, leases: Sequence[str]) -> list[str]:
        """Give jobs back; answers those leases that were current."""
        parts = _parts(leases, MOST_LEASES)
        return [lease for part in parts for lease in self._post(Released, "/release", leases=part).released]

    # engineers, acting

    def create_study(self, specification: Specification | Mapping[str, Any], *, paused: bool = False) -> CreatedStudy:
        """The same specification again changes nothing; another one of the same name is refused.

        `paused`: nothing begins before `resume`, so that known evaluations can be imported first.
        """
        raw = _body(specification) if isinstance(specification, Specification) else dict(specification)
        params = {"paused": "true"} if paused else None
        response = self._connection.request("POST", "/studies", raw, params, safe=True)
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

    def import_evaluations(
        self,
        study: str,
        content: bytes,
        *,
        evaluate: bool = False,
        dry_run: bool = False,
        progress: Callable[[int, int], object] | None = None,
    ) -> Imported:
        """Known evaluations, CSV or JSON of any size: all or, if a row is bad, none. Repeated, it changes nothing.

        `evaluate` makes jobs of the values that are missing. `progress` hears how many requests of how many are done.
        """
        variables = [variable["name"] for variable in self.study(study).spec["variables"]]
        most = MOST_IMPORT
        while True:
            parts = evaluation_file.split(content, variables, most)
            runs = [True] if dry_run else [False] if len(parts) == 1 else [True, False]  # all is judged, then written
            try:
                told = [self._import(study, parts, evaluate, dry, progress) for dry in runs][-1]
            except RequestFailed as error:
                if error.status != 413 or most < SMALLEST_IMPORT:
                    raise
                most //= 4  # the server has a limit that only it knows
                continue
            counts = [one.model_dump(exclude={"dry_run"}) for one in told]
            return Imported(**{name: sum(one[name] for one in counts) for name in counts[0]}, dry_run=dry_run)

    def _import(
        self,
        study: str,
        parts: Sequence[evaluation_file.Part],
        evaluate: bool,
        dry_run: bool,
        progress: Callable[[int, int], object] | None,
    ) -> list[Imported]:
        params = {"evaluate": str(evaluate).lower(), "dry_run": str(dry_run).lower()}
        told: list[Imported] = []
        refused: list[Refused] = []
        faults: dict[tuple[str, str], Fault] = {}
        for number, part in enumerate(parts, 1):
            try:
                response = self._connection.request(
                    "POST", _path(study, "/import"), part.content, params, kind=part.kind, safe=True
                )
                told.append(self._read(Imported.model_validate, response))
            except Refused as error:
                if not error.faults:
                    raise
                refused.append(error)
                faults |= {(f.pointer, f.detail): f for f in map(part.in_file, error.faults)}
                if not dry_run:
                    break
            if progress is not None:
                progress(number, len(parts))
        if refused:
            raise _with_faults(refused[0], list(faults.values()))
        return told

    def export(self, study: str, what: str = "samples", form: str = "csv") -> Iterator[bytes]:
        """`samples`, `jobs`, `steps` or `front` as `csv` or `json`, in parts as they come."""
        return self._connection.stream(_path(study, f"/export/{what}"), {"format": form})

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

    def events(self, study: str | None = None, *, after: str | None = None, follow: bool = True) -> Iterator[Event]:
        """What happens in a study, or in all, from now on or after an event's id ("0": all that are kept).

        Each event comes once, also when the connection breaks; `reset` says that some are no longer kept. Without
        `follow` it ends with what has happened already.
        """
        return listen(self._connection, "/events" if study is None else _path(study, "/events"), after, follow=follow)

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


def _with_faults(error: Refused, faults: list[Fault]) -> Refused:
    """The server's refusal, with the faults of all parts of a file, in the file's order."""
    ordered = sorted(faults, key=lambda fault: [int(n) for n in re.findall(r"\d+", fault.pointer)[:1]])
    count = f"{len(ordered)} fault{'s' if len(ordered) > 1 else ''}; nothing was imported"
    words = "".join(f"\n  {fault.pointer}: {fault.detail}" for fault in ordered)
    problem = error.problem.model_copy(update={"errors": ordered}) if error.problem else None
    return Refused(count + words, error.status, problem)


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
