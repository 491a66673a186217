"""Event streams over HTTP: what they say, where they begin, when they reset."""

import json
import re
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from app.service.monitoring.events import trim
from app.store.database import Database
from tests.api.wing import SPEC, Wing, check_problem

Told = tuple[str, str, dict[str, Any]]


def heard(
    client: TestClient, path: str, after: str | None = None, **headers: str
) -> tuple[str, list[Told]]:
    """The id with which the stream begins, and its events (id, kind, data) up to now."""
    query = {"follow": "false"} | ({"after": after} if after is not None else {})
    answer = client.get(path, params=query, headers=headers)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.headers["x-accel-buffering"] == "no"
    first, begins, *blocks = answer.text.removesuffix("\n\n").split("\n\n")
    assert first.startswith("retry: ")
    assert len(first) > 2000  # or a proxy may hold it back
    return begins.removeprefix("id: "), [parse(block) for block in blocks]


def parse(block: str) -> Told:
    fields = dict(line.split(": ", 1) for line in block.split("\n"))
    return fields.get("id", ""), fields["event"], json.loads(fields["data"])


def test_a_study_tells_all_that_happened_in_the_users_words(wing: Wing) -> None:
    first, second = wing.job("mass"), wing.job("drag")
    wing.tell(first, value=1.5)
    wing.tell(second, failure={"kind": "infeasible", "message": ""})
    wing.post("/pause")
    wing.post("/resume")
    wing.post("/retry")
    wing.post("/stop")
    wing.post("/extend", budget=9)
    begins, events = heard(wing.client, "/studies/wing/events", "0")
    study = begins.split("-")[0]
    assert begins == f"{study}-0"
    assert [name for name, _, _ in events] == [
        f"{study}-{seq}" for seq in range(1, len(events) + 1)
    ]
    assert all(
        (data["study"], data["kind"]) == ("wing", kind) for _, kind, data in events
    )
    assert all(
        re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", data["at"])
        for _, _, data in events
    )
    said = [
        (
            kind,
            {k: v for k, v in data.items() if k not in ("study", "kind", "at", "seq")},
        )
        for _, kind, data in events
    ]
    assert said[:12] == [
        ("created", {"budget": 6}),
        ("step_due", {"step": "initial"}),
        ("step", {"step": "initial", "full": 4, "cheap_only": 0}),
        ("done", {"sample": first["sample"], "objective": "mass", "value": 1.5}),
        (
            "failed",
            {"sample": second["sample"], "objective": "drag", "failure": "infeasible"},
        ),
        (
            "failed",
            {"sample": second["sample"], "objective": "lift", "failure": "infeasible"},
        ),
        ("paused", {}),
        ("resumed", {}),
        ("retried", {"jobs": 1}),
        ("stopped", {}),
        ("finished", {"reason": "stopped", "detail": "it was stopped"}),
        ("extended", {"budget": 9, "phase": "initial"}),
    ]


def test_a_study_that_runs_to_its_end_tells_its_steps_and_phases(wing: Wing) -> None:
    wing.finish()
    _, events = heard(wing.client, "/studies/wing/events", "0")
    due = [data["step"] for _, kind, data in events if kind == "step_due"]
    done = [data["step"] for _, kind, data in events if kind == "step"]
    assert due == ["initial", "stream:mass:1", "search:1", "closing:6"]
    # Search began before a planner came to the stream
    assert done == [
        "initial",
        "search:1",
        "closing:6",
    ]
    assert [data["phase"] for _, kind, data in events if kind == "phase"] == ["search"]
    assert (events[-1][1], events[-1][2]["reason"]) == ("finished", "budget_used")


def test_a_step_that_fails_is_told_with_its_fault(
    wing: Wing, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise ValueError("no such luck")

    monkeypatch.setattr("app.service.planning.compute_step.propose", refuse)
    wing.work()
    while wing.plan() and wing.work():
        pass
    _, events = heard(wing.client, "/studies/wing/events", "0")
    (told,) = [data for _, kind, data in events if kind == "step_failed"]
    assert (told["step"], told["faults"], told["fault"]) == (
        "search:1",
        1,
        "ValueError: no such luck",
    )


def test_a_stream_begins_now_or_after_an_id(wing: Wing) -> None:
    begins, events = heard(wing.client, "/studies/wing/events")
    assert events == []
    wing.post("/pause")
    wing.post("/resume")
    for path, after in (
        ("/studies/wing/events", begins),
        ("/studies/wing/events", begins.split("-")[1]),
    ):
        assert [kind for _, kind, _ in heard(wing.client, path, after)[1]] == [
            "paused",
            "resumed",
        ]
    # A client that resumes says so by the header; its address may still say `after=0`.
    _, events = heard(
        wing.client, "/studies/wing/events", "0", **{"Last-Event-ID": begins}
    )
    assert [kind for _, kind, _ in events] == ["paused", "resumed"]
    _, events = heard(wing.client, "/studies/wing/events", events[0][0])
    assert [kind for _, kind, _ in events] == ["resumed"]


def test_all_studies_have_one_order_without_gaps(wing: Wing) -> None:
    client = wing.client
    assert heard(client, "/events")[1] == []
    client.post("/studies", json={**SPEC, "name": "car"})
    wing.post("/pause")
    client.post("/studies/car/pause")
    wing.post("/resume")
    client.delete("/studies/car")
    _, events = heard(client, "/events", "0")
    assert [int(name) for name, _, _ in events] == sorted(
        int(name) for name, _, _ in events
    )
    own = [(data["seq"], kind) for _, kind, data in events if data["study"] == "wing"]
    assert own == [
        (1, "created"),
        (2, "step_due"),
        (3, "step"),
        (4, "paused"),
        (5, "resumed"),
    ]
    # The rest went with it
    assert [kind for _, kind, data in events if data["study"] == "car"] == ["deleted"]
    for position, (name, _, _) in enumerate(events):
        assert heard(client, "/events", name)[1] == events[position + 1 :]


def test_a_study_created_anew_resets_those_who_knew_the_old_one(wing: Wing) -> None:
    wing.post("/pause")
    begins, _ = heard(wing.client, "/studies/wing/events")
    wing.client.delete("/studies/wing")
    check_problem(wing.client.get("/studies/wing/events"), 404, "study-unknown")
    wing.client.post("/studies", json=SPEC)
    _, events = heard(wing.client, "/studies/wing/events", begins)
    assert [kind for _, kind, _ in events] == ["reset", "created", "step_due"]
    assert "reload what you show" in events[0][2]["reason"]
    assert heard(wing.client, "/studies/wing/events", events[-1][0])[1] == []


@pytest.mark.parametrize("path", ["/studies/wing/events", "/events"])
def test_an_id_that_is_ahead_resets(wing: Wing, path: str) -> None:
    _, events = heard(wing.client, path, "999999")
    assert [kind for _, kind, _ in events] == ["reset", "created", "step_due", "step"]
    # An id of another kind of stream
    assert heard(wing.client, "/events", "7-1")[1][0][1] == "reset"


@pytest.mark.parametrize("path", ["/studies/wing/events", "/events"])
@pytest.mark.parametrize("after", ["x", "1-", "-1", "1-2-3", "1" * 19, "٣", " 1"])
def test_what_is_no_id_is_refused(wing: Wing, path: str, after: str) -> None:
    check_problem(wing.client.get(path, params={"after": after}), 422, "cursor-invalid")
    header = (b"Last-Event-ID", after.strip().encode() + b"x")
    check_problem(wing.client.get(path, headers=[header]), 422, "cursor-invalid")


def age(database: Database, statement: str) -> None:
    database.write(lambda connection: connection.execute(text(statement)))


def test_ids_that_are_too_old_reset_and_what_is_kept_follows(
    wing: Wing, database: Database
) -> None:
    client = wing.client
    for _ in range(3):
        wing.post("/pause")
        wing.post("/resume")
    whole, feed = (
        heard(client, "/studies/wing/events", "0")[1],
        heard(client, "/events", "0")[1],
    )
    age(database, "UPDATE events SET at = at - 3 * 86400 WHERE seq <= 5")
    assert trim(database, 4.0) == 0
    assert trim(database, 2.0) == 5
    assert trim(database, 2.0) == 0
    for path, all_events in (("/studies/wing/events", whole), ("/events", feed)):
        assert heard(client, path, "0")[1] == all_events[5:]
        _, events = heard(client, path, all_events[2][0])
        assert (events[0][0], events[0][1]) == (all_events[4][0], "reset")
        assert events[1:] == all_events[5:]
        # It may resume from the reset
        assert heard(client, path, events[0][0])[1] == all_events[5:]
        # This one misses nothing
        assert heard(client, path, all_events[4][0])[1] == all_events[5:]
    age(database, "UPDATE events SET at = 0")
    trim(database, 2.0)
    for path, all_events in (("/studies/wing/events", whole), ("/events", feed)):
        assert [
            (name, kind) for name, kind, _ in heard(client, path, all_events[2][0])[1]
        ] == [(all_events[-1][0], "reset")]
        assert heard(client, path, all_events[-1][0])[1] == []
        assert heard(client, path, "0")[1] == []


def test_the_feed_is_trimmed_but_goes_on_counting(
    wing: Wing, database: Database
) -> None:
    client = wing.client
    for number in range(3):
        client.post("/studies", json={**SPEC, "name": f"car{number}"})
        heard(client, "/events")
        wing.post("/pause")
        wing.post("/resume")
        heard(client, "/events")
    client.delete("/studies/car0")
    last, _ = heard(client, "/events")
    age(database, "UPDATE feed SET at = 0")
    age(database, "UPDATE events SET at = 0")
    trim(database, 1.0)
    with database.read() as connection:
        kept = connection.execute(
            text("SELECT study, seq FROM feed ORDER BY until")
        ).all()
    # Car0: the newest of all
    assert sorted(row.study for row in kept) == [
        "car0",
        "car1",
        "car2",
        "wing",
    ]
    assert heard(client, "/events") == (last, [])
    wing.post("/pause")
    wing.post("/resume")
    _, events = heard(client, "/events", last)
    assert [(name, kind) for name, kind, _ in events][-1] == (
        str(int(last) + len(events)),
        "resumed",
    )
    assert heard(client, "/events", "1")[1][0][1] == "reset"


def test_long_histories_come_in_pages(
    wing: Wing, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.api.batching.event_broadcaster.PAGE_SIZE", 3)
    for number in range(4):
        wing.client.post("/studies", json={**SPEC, "name": f"car{number}"})
        wing.post("/pause")
        wing.post("/resume")
        heard(wing.client, "/events")
    _, events = heard(wing.client, "/events", "0")
    assert [int(name) for name, _, _ in events] == list(range(1, len(events) + 1))
    wing.client.delete("/studies/car1")
    age(
        database,
        "DELETE FROM events WHERE study_id = (SELECT id FROM studies WHERE name = 'wing') AND seq < 9",
    )
    _, later = heard(wing.client, "/events", "1")
    names = [(data.get("study"), kind) for _, kind, data in later]
    assert ("car1", "deleted") in names
    assert [
        seq
        for seq in [data["seq"] for _, _, data in later if data.get("study") == "wing"]
        if seq < 9
    ] == []
    kept = {(data["study"], data["seq"]) for _, _, data in events} - {
        ("wing", seq) for seq in range(9)
    }
    kept = {one for one in kept if one[0] != "car1"}
    assert kept == {
        (data["study"], data["seq"])
        for _, kind, data in later
        if kind not in ("reset", "deleted")
    }
    own = [
        data["seq"]
        for _, kind, data in heard(wing.client, "/studies/wing/events", "0")[1]
    ]
    assert own == sorted(own)
    assert own[0] == 9
