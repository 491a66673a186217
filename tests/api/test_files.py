"""Files through client and command line: large ones in parts, each judged before any is
written.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient
from hypothesis import given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs
from typer.testing import CliRunner, Result

from app.main import create_app
from app.service.files.csv_reader import read_csv
from app.service.files.json_reader import read_json
from app.settings import load_settings
from counterpoise import Client
from counterpoise.cli import app
from counterpoise.client.evaluation_file import CSV, split
from counterpoise.commands import output as commands
from counterpoise.errors import Refused, ServerUnavailable
from counterpoise.wire.problems import Fault
from counterpoise.wire.specification import parse_specification
from tests.api.wing import LOCAL, SPEC

ROWS = [
    f"{1.0 + number / 1000!r},{3 + number % 30},{float(number)!r}\n"
    for number in range(600)
]
HEADER = "span,ribs,mass\n"


def through(inner: TestClient, asked: list[str] | None = None) -> httpx.BaseTransport:
    """What the client says goes to an application in this process; `asked` are the
    paths that it accepted.
    """

    def handle(request: httpx.Request) -> httpx.Response:
        path = request.url.raw_path.decode()
        kind = {"Content-Type": request.headers.get("content-type", "")}
        answer = inner.request(
            request.method, path, content=request.content, headers=kind
        )
        if asked is not None and answer.is_success:
            asked.append(path)
        return httpx.Response(
            answer.status_code, content=answer.content, headers=dict(answer.headers)
        )

    return httpx.MockTransport(handle)


@pytest.fixture
def inner(sqlite_template: Path, tmp_path: Path) -> Iterator[TestClient]:
    file = tmp_path / "counterpoise.db"
    file.write_bytes(sqlite_template.read_bytes())
    with TestClient(
        create_app(
            load_settings(database_url=f"sqlite:///{file}", max_body_bytes=6000)
        ),
        LOCAL,
    ) as inner:
        yield inner


@pytest.fixture
def asked() -> list[str]:
    return []


@pytest.fixture
def client(inner: TestClient, asked: list[str]) -> Iterator[Client]:
    with Client(transport=through(inner, asked)) as client:
        assert client.create_study(SPEC, paused=True).state == "paused"
        yield client


def test_a_file_larger_than_the_server_takes_is_imported_in_parts(
    client: Client, asked: list[str]
) -> None:
    content = (HEADER + "".join(ROWS)).encode()
    assert len(content) > 6000
    done: list[tuple[int, int]] = []
    told = client.import_evaluations(
        "wing", content, progress=lambda *counts: done.append(counts)
    )
    assert (told.rows, told.partial, told.unchanged, told.dry_run) == (
        600,
        600,
        0,
        False,
    )
    assert client.study("wing").imported == 600
    assert done[-1][0] == done[-1][1] > 2
    written = [path.endswith("dry_run=false") for path in asked if "/import" in path]
    assert written == sorted(written)  # all is judged before anything is written
    assert client.import_evaluations("wing", content).unchanged == 600
    assert (
        client.import_evaluations("wing", b"".join(client.export("wing"))).unchanged
        == 600
    )
    same = b"".join(client.export("wing", "samples", "json"))
    assert client.import_evaluations("wing", same).unchanged == 600


def test_faults_of_a_large_file_are_all_found_where_they_are_before_anything_is_written(
    client: Client,
) -> None:
    rows = list(ROWS)
    rows[5], rows[250] = "1.5,x,3\n", "1.5,7,3,4\n"
    rows[290] = ROWS[10].replace(",10.0", ",11.0")  # contradicts a row that is far away
    with pytest.raises(Refused) as caught:
        client.import_evaluations("wing", (HEADER + "".join(rows)).encode())
    assert [fault.pointer for fault in caught.value.faults] == [
        "line 7, ribs",
        "line 252",
        "line 292",
    ]
    assert (caught.value.faults[2].row, caught.value.faults[2].related_row) == (292, 12)
    assert caught.value.detail.startswith(
        "3 faults; nothing was imported\n  line 7, ribs: 'x' is not a number"
    )
    assert client.study("wing").imported == 0
    items: list[Any] = [
        {"x": {"span": 1.0 + n / 1000, "ribs": 7}, "values": {"mass": 1.0}}
        for n in range(300)
    ]
    items[299] = {"x": {"span": 1.0, "ribs": 7.0}, "values": {"mass": 2.0}}
    items[150] = {"x": [3]}
    with pytest.raises(Refused) as caught:
        client.import_evaluations("wing", json.dumps({"items": items}).encode())
    assert [fault.pointer for fault in caught.value.faults] == [
        "#/items/150/x",
        "#/items/299",
    ]
    assert caught.value.faults[1].related_row == 0
    with pytest.raises(
        Refused
    ) as caught:  # a fault of the header is one fault, in however many parts
        client.import_evaluations("wing", ("span,ribs,mas\n" + "".join(ROWS)).encode())
    assert [fault.pointer for fault in caught.value.faults] == ["line 1, mas"]


def test_a_small_file_is_one_request(client: Client, asked: list[str]) -> None:
    told = client.import_evaluations(
        "wing", (HEADER + ROWS[0]).encode(), evaluate=True, dry_run=True
    )
    assert (told.jobs, told.dry_run) == (1, True)
    assert [path for path in asked if "/import" in path] == [
        "/studies/wing/import?evaluate=true&dry_run=true"
    ]
    assert client.study("wing").imported == 0


def test_an_export_that_is_refused_or_breaks_off_is_a_failure() -> None:
    class Broken(httpx.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            yield b"half"
            raise httpx.RemoteProtocolError("cut")

    with Client(
        transport=httpx.MockTransport(lambda _: httpx.Response(200, stream=Broken()))
    ) as client:
        parts = client.export("wing")
        assert next(parts) == b"half"
        with pytest.raises(ServerUnavailable, match="cut"):
            next(parts)


CELLS = st.sampled_from(
    ["1.5", "1.50", " 15e-1", "7", "7.0", "", '"1.5"', '"a\nb"', "x", "1,5", "ü", '"']
)
LINES = st.lists(st.lists(CELLS, max_size=4).map(",".join), max_size=12)


@given(LINES, st.sampled_from(["\n", "\r\n", "\r"]), st.integers(1, 60))
@settings(deadline=None, max_examples=300)
def test_parts_hold_every_row_once_and_know_its_place(
    lines: list[str], end: str, most: int
) -> None:
    """Whatever the rows: what is said of the parts is what is said of the whole."""
    spec = parse_specification(SPEC)
    content = end.join([HEADER.strip(), *lines]).encode()

    def said(places: Any, body: bytes) -> set[tuple[Any, ...]]:
        reading = read_csv(spec, body)
        faults = {
            (fault.pointer, fault.detail) for fault in map(places, reading.faults)
        }
        rows = [
            (one, places(Fault(pointer=one.pointer, detail="", row=one.row)).pointer)
            for one in reading.evaluations
        ]
        return {
            *faults,
            *((place, one.x, tuple(sorted(one.known.items()))) for one, place in rows),
        }

    parts = split(content, ["span", "ribs"], most)
    whole = said(lambda fault: fault, content)
    assert set().union(*(said(part.in_file, part.content) for part in parts)) == whole
    points: dict[Any, int] = {}
    for number, part in enumerate(parts):
        for one in read_csv(spec, part.content).evaluations:
            # The rows of a point are together
            assert points.setdefault(one.x, number) == number


def test_json_that_is_no_list_goes_to_the_server_as_it_is() -> None:
    for content in (b'{"x": 1, "y": "' + b"z" * 100 + b'"}', b"[" * 100):
        (part,) = split(content, ["span"], 10)
        assert (part.media_type, part.content) == ("application/json", content)
    assert split(b"\xef\xbb\xbf [1]", ["span"], 100)[0].media_type == "application/json"
    assert {
        part.media_type
        for part in split(HEADER.encode() + b"1,2,3\n" * 9, ["span"], 10)
    } == {CSV}
    items: list[Any] = [{"x": {"span": n}} for n in range(20)]
    parts = split(json.dumps(items).encode(), ["span"], 50)
    assert sum(len(json.loads(part.content)) for part in parts) == 20
    assert read_json(parse_specification(SPEC), parts[0].content).faults


@pytest.mark.parametrize(
    "content",
    [
        b"\n" * 100,
        HEADER.encode() + b"\n" * 100,
        b"[]" + b" " * 100,
        b'{"items":' + b" " * 100 + b"[]}",
    ],
)
def test_a_large_file_without_rows_goes_to_the_server_short(content: bytes) -> None:
    (part,) = split(content, ["span"], 50)
    assert len(part.content) < 50
    read = read_csv if part.media_type == CSV else read_json
    whole, found = (
        read(parse_specification(SPEC), each) for each in (content, part.content)
    )
    assert (found.evaluations, found.faults) == ([], whole.faults)


def test_a_large_file_with_a_stray_quote_is_said_where_it_is() -> None:
    content = b'span,ribs,mass\n1.5,7,1\n"1.5,8,1\n' + b"1.5,9,1\n" * 40_000
    parts = split(content, ["span", "ribs"], 10_000)
    # As far as the reader looks
    assert max(len(part.content) for part in parts) < 150_000
    spec = parse_specification(SPEC)
    found = [
        part.in_file(fault)
        for part in parts
        for fault in read_csv(spec, part.content).faults
    ]
    assert [fault.pointer for fault in found] == ["line 3"]
    assert "not CSV" in found[0].detail


@pytest.fixture
def run(client: Client, inner: TestClient, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(
        commands, "Client", lambda *_, **__: Client(transport=through(inner))
    )

    def invoke(*arguments: str, stdin: str | None = None) -> Result:
        with capture_logs():  # the application's
            return CliRunner().invoke(app, ["study", *arguments], input=stdin)

    return invoke


def test_the_commands_import_and_export(run: Any, tmp_path: Path) -> None:
    known = tmp_path / "known.csv"
    known.write_text(HEADER + "".join(ROWS[:2]) + "1.5,9,\n")
    said = run("import", "wing", str(known), "--dry-run")
    assert (said.exit_code, said.stderr) == (0, "")
    assert said.stdout == (
        "study wing: 3 rows would give 2 new samples that lack some, 1 rows without values ignored\n"
    )
    assert (
        "4 jobs for missing values"
        in run("import", "wing", str(known), "--evaluate").stdout
    )
    assert (
        json.loads(run("import", "wing", "-", "--json", stdin=HEADER + ROWS[0]).stdout)[
            "unchanged"
        ]
        == 1
    )
    assert (
        run("import", "wing", "-", stdin=HEADER).stdout
        == "study wing: 0 rows gave nothing new\n"
    )
    out = tmp_path / "samples.csv"
    assert run("export", "wing", "--output", str(out)).output == ""
    assert out.read_bytes() == run("export", "wing").stdout_bytes
    assert out.read_bytes().startswith(
        b"sample,step,full,open,span,ribs,mass,drag,lift\r\n1,,true,2,1.0,3,0.0,,\r\n"
    )
    assert (
        len(
            json.loads(
                run("export", "wing", "--what", "jobs", "--format", "json").stdout
            )["items"]
        )
        == 4
    )
    assert [file.name for file in tmp_path.glob("*.part")] == []


def test_the_commands_fail_in_words_and_leave_no_half_file(
    run: Any, tmp_path: Path
) -> None:
    bad = run("import", "wing", "-", stdin=HEADER + "1.5,99,1\n")
    assert bad.exit_code == 1
    assert "line 2, ribs: 99.0 is outside 3.0 to 40.0" in bad.stderr
    assert "nothing was imported" in bad.stderr
    missing = run("import", "wing", str(tmp_path / "none.csv"))
    assert (missing.exit_code, "No such file" in missing.stderr) == (2, True)
    out = tmp_path / "samples.csv"
    assert run("export", "wong", "--output", str(out)).exit_code == 1
    assert list(tmp_path.glob("samples*")) == []
    assert (
        "cannot write"
        in run("export", "wing", "--output", str(tmp_path / "no" / "x.csv")).stderr
    )
