"""Files through the client and the command line.

Large files are imported in parts, and all parts are checked before any is written.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient
from structlog.testing import capture_logs
from typer.testing import CliRunner, Result

from app.main import create_app
from app.settings import load_settings
from counterpoise import Client
from counterpoise.cli import app
from counterpoise.commands import output
from counterpoise.errors import Refused, ServerUnavailable
from tests.api.wing import LOCAL, SPEC

MAX_BODY_BYTES = 6000
HEADER = "span,ribs,mass\n"
ROWS = [
    f"{1.0 + number / 1000!r},{3 + number % 30},{float(number)!r}\n"
    for number in range(600)
]
Run = Callable[..., Result]


@pytest.fixture
def server(sqlite_template: Path, tmp_path: Path) -> Iterator[TestClient]:
    file = tmp_path / "counterpoise.db"
    file.write_bytes(sqlite_template.read_bytes())
    settings = load_settings(
        database_url=f"sqlite:///{file}", max_body_bytes=MAX_BODY_BYTES
    )
    with TestClient(create_app(settings), LOCAL) as server:
        yield server


@pytest.fixture
def accepted() -> list[str]:
    """The paths of successful requests."""
    return []


def transport_to(server: TestClient, accepted: list[str]) -> httpx.BaseTransport:
    """Sends the client's requests to an application in this process."""

    def handle(request: httpx.Request) -> httpx.Response:
        path = request.url.raw_path.decode()
        headers = {"Content-Type": request.headers.get("content-type", "")}
        response = server.request(
            request.method, path, content=request.content, headers=headers
        )
        if response.is_success:
            accepted.append(path)
        return httpx.Response(
            response.status_code,
            content=response.content,
            headers=dict(response.headers),
        )

    return httpx.MockTransport(handle)


@pytest.fixture
def client(server: TestClient, accepted: list[str]) -> Iterator[Client]:
    with Client(transport=transport_to(server, accepted)) as client:
        assert client.create_study(SPEC, paused=True).state == "paused"
        yield client


def csv_file(rows: list[str], header: str = HEADER) -> bytes:
    return (header + "".join(rows)).encode()


def refused_pointers(client: Client, content: bytes) -> list[str]:
    with pytest.raises(Refused) as caught:
        client.import_evaluations("wing", content)
    assert client.study("wing").imported == 0
    return [fault.pointer for fault in caught.value.faults]


def test_a_file_over_the_servers_limit_is_imported_in_parts(
    client: Client, accepted: list[str]
) -> None:
    content = csv_file(ROWS)
    assert len(content) > MAX_BODY_BYTES
    progress: list[tuple[int, int]] = []
    imported = client.import_evaluations(
        "wing", content, progress=lambda done, all_: progress.append((done, all_))
    )
    assert (imported.rows, imported.partial, imported.unchanged) == (600, 600, 0)
    assert imported.dry_run is False
    assert client.study("wing").imported == 600
    assert progress[-1][0] == progress[-1][1] > 2
    imports = [path for path in accepted if "/import" in path]
    is_written = [path.endswith("dry_run=false") for path in imports]
    assert is_written == sorted(is_written)  # all parts are checked first


def test_repeated_and_exported_files_change_nothing(client: Client) -> None:
    content = csv_file(ROWS)
    client.import_evaluations("wing", content)
    as_csv = b"".join(client.export("wing"))
    as_json = b"".join(client.export("wing", "samples", "json"))
    for same in (content, as_csv, as_json):
        assert client.import_evaluations("wing", same).unchanged == 600


def test_all_faults_of_a_large_csv_file_are_reported(client: Client) -> None:
    rows = list(ROWS)
    rows[5], rows[250] = "1.5,x,3\n", "1.5,7,3,4\n"
    rows[290] = ROWS[10].replace(",10.0", ",11.0")  # contradicts a distant row
    with pytest.raises(Refused) as caught:
        client.import_evaluations("wing", csv_file(rows))
    faults = caught.value.faults
    pointers = [fault.pointer for fault in faults]
    assert pointers == ["line 7, ribs", "line 252", "line 292"]
    assert (faults[2].row, faults[2].related_row) == (292, 12)
    assert client.study("wing").imported == 0


def test_all_faults_of_a_large_json_file_are_reported(client: Client) -> None:
    items: list[Any] = []
    for number in range(300):
        point = {"span": 1.0 + number / 1000, "ribs": 7}
        items.append({"x": point, "values": {"mass": 1.0}})
    items[150] = {"x": [3]}
    items[299] = {"x": {"span": 1.0, "ribs": 7.0}, "values": {"mass": 2.0}}
    with pytest.raises(Refused) as caught:
        client.import_evaluations("wing", json.dumps({"items": items}).encode())
    first, second = caught.value.faults
    assert (first.pointer, second.pointer) == ("#/items/150/x", "#/items/299")
    assert second.related_row == 0


def test_of_many_faults_the_first_are_listed_and_all_are_counted(
    client: Client,
) -> None:
    rows = ["1.5,x,3\n"] * 3 + [f"{row},y,1\n" for row in range(2000)]
    with pytest.raises(Refused) as caught:
        client.import_evaluations("wing", csv_file(rows))
    refusal = caught.value
    listed = [fault.row for fault in refusal.faults]
    assert (len(listed), listed) == (1000, sorted(row or 0 for row in listed))
    assert listed[:4] == [2, 3, 4, 5]
    assert refusal.problem is not None
    # span is out of bounds from 3 on, ribs never a number
    assert refusal.problem.error_count == 3 + 2000 + 1998
    assert refusal.detail.endswith("and 3001 more")


def test_a_fault_of_the_header_is_reported_once(client: Client) -> None:
    content = csv_file(ROWS, "span,ribs,mas\n")
    assert refused_pointers(client, content) == ["line 1, mas"]


def test_a_small_file_is_one_request(client: Client, accepted: list[str]) -> None:
    imported = client.import_evaluations(
        "wing", csv_file(ROWS[:1]), evaluate=True, dry_run=True
    )
    assert (imported.jobs, imported.dry_run) == (1, True)
    imports = [path for path in accepted if "/import" in path]
    assert imports == ["/studies/wing/import?evaluate=true&dry_run=true"]
    assert client.study("wing").imported == 0


def test_an_export_that_breaks_off_is_an_error() -> None:
    class Broken(httpx.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            yield b"half"
            raise httpx.RemoteProtocolError("cut")

    transport = httpx.MockTransport(lambda _: httpx.Response(200, stream=Broken()))
    with Client(transport=transport) as client:
        parts = client.export("wing")
        assert next(parts) == b"half"
        with pytest.raises(ServerUnavailable):
            next(parts)


@pytest.fixture
def run(
    client: Client,
    server: TestClient,
    accepted: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Run:
    """Run `counterpoise study` against the server."""

    def connect(*_: object, **__: object) -> Client:
        return Client(transport=transport_to(server, accepted))

    monkeypatch.setattr(output, "Client", connect)

    def invoke(*arguments: str, stdin: str | None = None) -> Result:
        with capture_logs():  # of the application
            return CliRunner().invoke(app, ["study", *arguments], input=stdin)

    return invoke


def test_the_command_import(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "known.csv"
    file.write_text(HEADER + "".join(ROWS[:2]) + "1.5,9,\n")
    dry_run = run("import", "wing", str(file), "--dry-run")
    assert (dry_run.exit_code, dry_run.stderr) == (0, "")
    assert dry_run.stdout.startswith("study wing: 3 rows would give 2 new samples")
    with_jobs = run("import", "wing", str(file), "--evaluate")
    assert "4 jobs for missing values" in with_jobs.stdout
    again = run("import", "wing", "-", "--json", stdin=HEADER + ROWS[0])
    assert json.loads(again.stdout)["unchanged"] == 1
    empty = run("import", "wing", "-", stdin=HEADER)
    assert empty.stdout == "study wing: 0 rows gave nothing new\n"


def test_the_command_export(run: Run, tmp_path: Path) -> None:
    run("import", "wing", "-", "--evaluate", stdin=HEADER + ROWS[0])
    file = tmp_path / "samples.csv"
    assert run("export", "wing", "--output", str(file)).output == ""
    assert file.read_bytes() == run("export", "wing").stdout_bytes
    header, row, _ = file.read_bytes().split(b"\r\n")
    assert header == b"sample,step,full,open,span,ribs,mass,drag,lift"
    assert row == b"1,,true,2,1.0,3,0.0,,"
    exported = run("export", "wing", "--what", "jobs", "--format", "json")
    assert len(json.loads(exported.stdout)["items"]) == 1
    assert list(tmp_path.glob("*.part")) == []


def test_commands_that_fail_give_the_reason_and_leave_no_file(
    run: Run, tmp_path: Path
) -> None:
    invalid = run("import", "wing", "-", stdin=HEADER + "1.5,99,1\n")
    assert invalid.exit_code == 1
    assert "line 2, ribs: 99.0 is outside 3.0 to 40.0" in invalid.stderr
    missing = run("import", "wing", str(tmp_path / "none.csv"))
    assert missing.exit_code == 2
    assert "No such file" in missing.stderr
    file = tmp_path / "samples.csv"
    assert run("export", "wong", "--output", str(file)).exit_code == 1
    assert list(tmp_path.glob("samples*")) == []
    unwritable = run("export", "wing", "--output", str(tmp_path / "no" / "x.csv"))
    assert "cannot write" in unwritable.stderr
