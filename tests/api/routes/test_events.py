"""Event streams over HTTP: their content, where they begin, and when they reset."""

import json
import re
from typing import Any, NamedTuple

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from app.service.monitoring.events import trim
from app.store.database import Database
from tests.api.wing import SPEC, Wing, check_problem

STUDY_EVENTS, ALL_EVENTS = "/studies/wing/events", "/events"
TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
COMMON_FIELDS = ("study", "kind", "at", "seq")


class Event(NamedTuple):
    id: str
    kind: str
    data: dict[str, Any]


class Stream(NamedTuple):
    """The id with which a stream begins, and its events up to now."""

    start: str
    events: list[Event]

    @property
    def kinds(self) -> list[str]:
        return [event.kind for event in self.events]

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        return [event.data for event in self.events if event.kind == kind]


def read(
    client: TestClient, path: str, after: str | None = None, **headers: str
) -> Stream:
    query = {"follow": "false"}
    if after is not None:
        query["after"] = after
    response = client.get(path, params=query, headers=headers)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"].startswith("text/event-stream")
    assert response.headers["cache-control"] == "no-cache"
    assert response.headers["x-accel-buffering"] == "no"
    blocks = response.text.removesuffix("\n\n").split("\n\n")
    preamble, start, *events = blocks
    assert preamble.startswith("retry: ")
    return Stream(start.removeprefix("id: "), [parse(block) for block in events])


def parse(block: str) -> Event:
    fields = dict(line.split(": ", 1) for line in block.split("\n"))
    return Event(fields.get("id", ""), fields["event"], json.loads(fields["data"]))


def own_fields(data: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name not in COMMON_FIELDS}


def execute(database: Database, statement: str) -> None:
    database.write(lambda connection: connection.execute(text(statement)))


def test_a_stream_has_all_events_of_a_study(wing: Wing) -> None:
    first, second = wing.job("mass"), wing.job("drag")
    wing.tell(first, value=1.5)
    wing.tell(second, failure={"kind": "infeasible", "message": ""})
    wing.post("/pause")
    wing.post("/resume")
    wing.post("/retry", infeasible=True)
    wing.post("/stop")
    wing.post("/extend", budget=9)
    stream = read(wing.client, STUDY_EVENTS, "0")
    study = stream.start.removesuffix("-0")
    for number, event in enumerate(stream.events, 1):
        assert event.id == f"{study}-{number}"
        assert (event.data["study"], event.data["kind"]) == ("wing", event.kind)
        assert TIMESTAMP.fullmatch(event.data["at"])
    failure = {"sample": second["sample"], "failure": "infeasible"}
    finished = stream.events[10].data
    assert [(event.kind, own_fields(event.data)) for event in stream.events[:12]] == [
        ("created", {"budget": 6}),
        ("step_due", {"step": "initial"}),
        ("step", {"step": "initial", "full": 4, "cheap_only": 0}),
        ("done", {"sample": first["sample"], "objective": "mass", "value": 1.5}),
        ("infeasible", {"objective": "drag", **failure}),
        ("infeasible", {"objective": "lift", **failure}),
        ("paused", {}),
        ("resumed", {}),
        ("retried", {"jobs": 1}),
        ("stopped", {}),
        ("finished", {"reason": "stopped", "detail": finished["detail"]}),
        ("extended", {"budget": 9, "phase": "initial"}),
    ]


def test_a_stream_has_the_steps_and_phases_of_a_finished_study(wing: Wing) -> None:
    wing.finish()
    stream = read(wing.client, STUDY_EVENTS, "0")
    due = [data["step"] for data in stream.of_kind("step_due")]
    done = [data["step"] for data in stream.of_kind("step")]
    assert due == ["initial", "stream:mass:1", "search:1", "closing:6"]
    # Search began before the planner executed the step of the stream.
    assert done == ["initial", "search:1", "closing:6"]
    assert [data["phase"] for data in stream.of_kind("phase")] == ["search"]
    last = stream.events[-1]
    assert (last.kind, last.data["reason"]) == ("finished", "budget_used")


def test_a_failed_step_is_an_event_with_its_fault(
    wing: Wing, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise ValueError("the matrix is singular")

    monkeypatch.setattr("app.service.planning.compute_step.propose", fail)
    wing.work()
    while wing.plan() and wing.work():
        pass
    (event,) = read(wing.client, STUDY_EVENTS, "0").of_kind("step_failed")
    assert (event["step"], event["faults"]) == ("search:1", 1)
    assert event["fault"] == "ValueError: the matrix is singular"


def test_a_stream_begins_now_or_after_an_id(wing: Wing) -> None:
    stream = read(wing.client, STUDY_EVENTS)
    assert stream.events == []
    wing.post("/pause")
    wing.post("/resume")
    number = stream.start.split("-")[1]
    for after in (stream.start, number):
        assert read(wing.client, STUDY_EVENTS, after).kinds == ["paused", "resumed"]
    # The header of a client that resumes overrides the query of its first request.
    resumed = read(wing.client, STUDY_EVENTS, "0", **{"Last-Event-ID": stream.start})
    assert resumed.kinds == ["paused", "resumed"]
    assert read(wing.client, STUDY_EVENTS, resumed.events[0].id).kinds == ["resumed"]


def test_the_events_of_all_studies_have_one_order(wing: Wing) -> None:
    client = wing.client
    assert read(client, ALL_EVENTS).events == []
    client.post("/studies", json={**SPEC, "name": "car"})
    wing.post("/pause")
    client.post("/studies/car/pause")
    wing.post("/resume")
    client.delete("/studies/car")
    events = read(client, ALL_EVENTS, "0").events
    numbers = [int(event.id) for event in events]
    assert numbers == sorted(numbers)
    of_wing = [event for event in events if event.data["study"] == "wing"]
    assert [event.data["seq"] for event in of_wing] == [1, 2, 3, 4, 5]
    kinds = [event.kind for event in of_wing]
    assert kinds == ["created", "step_due", "step", "paused", "resumed"]
    # The other events of a deleted study are deleted with it.
    of_car = [event.kind for event in events if event.data["study"] == "car"]
    assert of_car == ["deleted"]
    for index, event in enumerate(events):
        assert read(client, ALL_EVENTS, event.id).events == events[index + 1 :]


def test_an_id_of_a_deleted_study_of_the_same_name_resets(wing: Wing) -> None:
    client = wing.client
    wing.post("/pause")
    old_id = read(client, STUDY_EVENTS).start
    client.delete("/studies/wing")
    check_problem(client.get(STUDY_EVENTS), 404, "study-unknown")
    client.post("/studies", json=SPEC)
    stream = read(client, STUDY_EVENTS, old_id)
    assert stream.kinds == ["reset", "created", "step_due"]
    assert stream.events[0].data["reason"]
    assert read(client, STUDY_EVENTS, stream.events[-1].id).events == []


def test_an_id_that_was_never_issued_resets(wing: Wing) -> None:
    for path in (STUDY_EVENTS, ALL_EVENTS):
        stream = read(wing.client, path, "999999")
        assert stream.kinds == ["reset", "created", "step_due", "step"]
    id_of_a_study = "7-1"
    assert read(wing.client, ALL_EVENTS, id_of_a_study).kinds[0] == "reset"


def test_malformed_ids_are_refused(wing: Wing) -> None:
    for path in (STUDY_EVENTS, ALL_EVENTS):
        for after in ("x", "1-", "-1", "1-2-3", "1" * 19, "٣", " 1"):
            response = wing.client.get(path, params={"after": after})
            check_problem(response, 422, "cursor-invalid")
            header = (b"Last-Event-ID", after.strip().encode() + b"x")
            response = wing.client.get(path, headers=[header])
            check_problem(response, 422, "cursor-invalid")


def test_ids_of_trimmed_events_reset_and_the_kept_events_follow(
    wing: Wing, database: Database
) -> None:
    client = wing.client
    for _ in range(3):
        wing.post("/pause")
        wing.post("/resume")
    histories = {
        path: read(client, path, "0").events for path in (STUDY_EVENTS, ALL_EVENTS)
    }
    execute(database, "UPDATE events SET at = at - 3 * 86400 WHERE seq <= 5")
    assert trim(database, 4.0) == 0
    assert trim(database, 2.0) == 5
    assert trim(database, 2.0) == 0
    for path, history in histories.items():
        trimmed, kept = history[:5], history[5:]
        assert read(client, path, "0").events == kept
        reset, *rest = read(client, path, trimmed[2].id).events
        assert (reset.id, reset.kind) == (trimmed[-1].id, "reset")
        assert rest == kept
        assert read(client, path, reset.id).events == kept  # it can resume there
        assert read(client, path, trimmed[-1].id).events == kept  # it misses nothing


def test_a_stream_of_which_nothing_is_kept_resets_once(
    wing: Wing, database: Database
) -> None:
    client = wing.client
    histories = {
        path: read(client, path, "0").events for path in (STUDY_EVENTS, ALL_EVENTS)
    }
    execute(database, "UPDATE events SET at = 0")
    trim(database, 2.0)
    for path, history in histories.items():
        last = history[-1].id
        (reset,) = read(client, path, history[0].id).events
        assert (reset.id, reset.kind) == (last, "reset")
        assert read(client, path, last).events == []
        assert read(client, path, "0").events == []


def test_the_feed_is_trimmed_and_its_numbers_go_on(
    wing: Wing, database: Database
) -> None:
    client = wing.client
    for number in range(3):
        client.post("/studies", json={**SPEC, "name": f"car{number}"})
        read(client, ALL_EVENTS)
        wing.post("/pause")
        wing.post("/resume")
        read(client, ALL_EVENTS)
    client.delete("/studies/car0")
    last = read(client, ALL_EVENTS).start
    execute(database, "UPDATE feed SET at = 0")
    execute(database, "UPDATE events SET at = 0")
    trim(database, 1.0)
    with database.read() as connection:
        kept = connection.execute(text("SELECT study FROM feed")).scalars().all()
    assert sorted(kept) == ["car0", "car1", "car2", "wing"]  # the newest of each
    assert read(client, ALL_EVENTS) == Stream(last, [])
    wing.post("/pause")
    wing.post("/resume")
    events = read(client, ALL_EVENTS, last).events
    assert events[-1].kind == "resumed"
    assert int(events[-1].id) == int(last) + len(events)
    assert read(client, ALL_EVENTS, "1").kinds[0] == "reset"


def places(events: list[Event]) -> set[tuple[str, int]]:
    """The study and the number in its sequence, of events that have them."""
    of_studies = [event for event in events if event.kind not in ("reset", "deleted")]
    return {(event.data["study"], event.data["seq"]) for event in of_studies}


def test_long_histories_are_read_in_pages(
    wing: Wing, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.api.batching.event_broadcaster.PAGE_SIZE", 3)
    client = wing.client
    for number in range(4):
        client.post("/studies", json={**SPEC, "name": f"car{number}"})
        wing.post("/pause")
        wing.post("/resume")
        read(client, ALL_EVENTS)
    before = read(client, ALL_EVENTS, "0").events
    numbers = [int(event.id) for event in before]
    assert numbers == list(range(1, len(before) + 1))
    client.delete("/studies/car1")
    wing_id = "(SELECT id FROM studies WHERE name = 'wing')"
    execute(database, f"DELETE FROM events WHERE study_id = {wing_id} AND seq < 9")  # noqa: S608
    after = read(client, ALL_EVENTS, "1")
    assert [data["study"] for data in after.of_kind("deleted")] == ["car1"]
    gone = {(study, seq) for study, seq in places(before) if study == "car1"}
    gone |= {("wing", seq) for seq in range(9)}
    assert places(after.events) == places(before) - gone
    own = [event.data["seq"] for event in read(client, STUDY_EVENTS, "0").events]
    assert own == sorted(own)
    assert own[0] == 9
