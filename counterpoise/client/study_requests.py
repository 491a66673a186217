"""The requests of engineers: studies, their samples, jobs and events, and workers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter, ValidationError

from counterpoise.client.evaluation_upload import upload_evaluations
from counterpoise.client.event_stream import stream_events
from counterpoise.client.typed_requests import TypedRequests, body_of
from counterpoise.wire.events import Event
from counterpoise.wire.points import EvaluatedPoint, Exclusion
from counterpoise.wire.specification import NAME_RULE, Name, Specification
from counterpoise.wire.views import (
    CancelledJob,
    FrontItem,
    FrontView,
    Imported,
    JobStory,
    JobView,
    Retried,
    SampleView,
    StepView,
    StudySummary,
    StudyView,
    WorkerView,
)

NAME: TypeAdapter[str] = TypeAdapter(Name)


class CreatedStudy(StudyView):
    new: bool  # false if it existed already, with the same specification


class StudyRequests(TypedRequests):
    # change

    def create_study(
        self, specification: Specification | Mapping[str, Any], *, paused: bool = False
    ) -> CreatedStudy:
        """Creating the same study again changes nothing; another specification under
        the same name is refused.

        `paused`: nothing begins before `resume`, so that known evaluations can be
        imported first.
        """
        body = (
            body_of(specification)
            if isinstance(specification, Specification)
            else dict(specification)
        )
        params = {"paused": "true"} if paused else None
        response = self._connection.request(
            "POST", "/studies", body, params, idempotent=True
        )
        study = self._read(StudyView.model_validate, response)
        return CreatedStudy(**study.model_dump(), new=response.status_code == 201)

    def pause(self, study: str) -> StudyView:
        return self._post(StudyView, _path(study, "/pause"))

    def resume(self, study: str) -> StudyView:
        return self._post(StudyView, _path(study, "/resume"))

    def stop(self, study: str, *, cancel_running: bool = False) -> StudyView:
        return self._post(
            StudyView, _path(study, "/stop"), {"cancel_running": cancel_running}
        )

    def extend(self, study: str, budget: int) -> StudyView:
        return self._post(
            StudyView, _path(study, "/extend"), {"budget": budget}, idempotent=False
        )

    def retry(
        self,
        study: str,
        objectives: Sequence[str] | None = None,
        *,
        infeasible: bool = False,
    ) -> int:
        """Make failed jobs ready again, or with `infeasible` those that were reported
        as infeasible; returns how many.
        """
        body = {
            "objectives": None if objectives is None else list(objectives),
            "infeasible": infeasible,
        }
        return self._post(Retried, _path(study, "/retry"), body, idempotent=False).jobs

    def evaluate_point(
        self,
        study: str,
        x: Mapping[str, float],
        *,
        objectives: Sequence[str] | None = None,
        outside_budget: bool = False,
    ) -> EvaluatedPoint:
        """Evaluate a point of your own on all objectives, or on some outside the
        budget.
        """
        body = {
            "x": dict(x),
            "objectives": None if objectives is None else list(objectives),
            "outside_budget": outside_budget,
        }
        path = _path(study, "/samples")
        return self._post(EvaluatedPoint, path, body, idempotent=False)

    def exclude(self, study: str, sample: int) -> Exclusion:
        """Leave a sample out of front and models from now on."""
        return self._post(Exclusion, _path(study, f"/samples/{sample}/exclude"))

    def restore(self, study: str, sample: int) -> Exclusion:
        return self._post(Exclusion, _path(study, f"/samples/{sample}/restore"))

    def cancel_job(self, job: int, *, fail: bool = False) -> str:
        """End the run of a job, to be tried again or with `fail` for good; returns the
        job's state.
        """
        path, body = f"/jobs/{job}/cancel", {"fail": fail}
        return self._post(CancelledJob, path, body, idempotent=False).state

    def delete(self, study: str, *, force: bool = False) -> None:
        params = {"force": "true" if force else "false"}
        self._connection.request(
            "DELETE", _path(study), params=params, idempotent=False
        )

    def drain(self, worker: str) -> WorkerView:
        """Give a worker no more jobs; it keeps those that it holds."""
        return self._post(WorkerView, "/workers/drain", {"worker": worker})

    def undrain(self, worker: str) -> WorkerView:
        return self._post(WorkerView, "/workers/undrain", {"worker": worker})

    # files

    def import_evaluations(
        self,
        study: str,
        content: bytes,
        *,
        evaluate: bool = False,
        dry_run: bool = False,
        progress: Callable[[int, int], object] | None = None,
    ) -> Imported:
        """Import known evaluations, CSV or JSON of any size: all or, if a row has a
        fault, none.

        Importing the same file again changes nothing. `evaluate` creates jobs for
        missing values. `progress` is called with the number of requests that are done
        and their total.
        """
        variables = [
            variable["name"] for variable in self.study(study).spec["variables"]
        ]
        path = _path(study, "/import")
        return upload_evaluations(
            self._connection,
            path,
            variables,
            content,
            evaluate=evaluate,
            dry_run=dry_run,
            progress=progress,
        )

    def export(
        self, study: str, what: str = "samples", form: str = "csv"
    ) -> Iterator[bytes]:
        """`samples`, `jobs`, `steps` or `front` as `csv` or `json`, in parts as they
        arrive.
        """
        return self._connection.stream(
            _path(study, f"/export/{what}"), {"format": form}
        )

    # read

    def study(self, study: str) -> StudyView:
        return self._get(StudyView, _path(study))

    def studies(self) -> Iterator[StudySummary]:
        return self._items(StudySummary, "/studies")

    def samples(self, study: str, *, full: bool | None = None) -> Iterator[SampleView]:
        return self._items(
            SampleView,
            _path(study, "/samples"),
            full=None if full is None else str(full).lower(),
        )

    def jobs(
        self,
        study: str,
        *,
        objective: str | None = None,
        state: str | None = None,
        newest_first: bool = False,
    ) -> Iterator[JobView]:
        return self._items(
            JobView,
            _path(study, "/jobs"),
            objective=objective,
            state=state,
            newest_first="true" if newest_first else None,
        )

    def steps(self, study: str) -> Iterator[StepView]:
        return self._items(StepView, _path(study, "/steps"))

    def front(self, study: str) -> list[FrontItem]:
        """The nondominated samples that keep all limits."""
        return self.front_view(study).items

    def front_view(self, study: str) -> FrontView:
        """The front; without one the reason, and the samples that break the limits
        least.
        """
        return self._get(FrontView, _path(study, "/front"))

    def workers(self) -> Iterator[WorkerView]:
        return self._items(WorkerView, "/workers")

    def explain(self, job: int) -> JobStory:
        """Why a job is in its state, and the history of its attempts."""
        return self._get(JobStory, f"/jobs/{job}")

    def events(
        self, study: str | None = None, *, after: str | None = None, follow: bool = True
    ) -> Iterator[Event]:
        """The events of a study, or of all, from now on or after an event's id ("0":
        all that are stored).

        Each event is returned once, also when the connection breaks; `reset` means that
        some are no longer stored. Without `follow` the stream ends with the events that
        have happened already.
        """
        path = "/events" if study is None else _path(study, "/events")
        return stream_events(self._connection, path, after, follow=follow)


def _path(study: str, rest: str = "") -> str:
    try:
        return f"/studies/{NAME.validate_python(study)}{rest}"
    except ValidationError:
        raise ValueError(f"{study!r} is not a name of a study: {NAME_RULE}") from None
