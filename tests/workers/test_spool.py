"""Results on disk: kept before they are told, gone when they are, adopted from those who died."""

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from counterpoise.wire.work import Tell
from counterpoise.worker.log import Log
from counterpoise.worker.spool import Spool, default_spool
from counterpoise.worker.teller import Teller
from tests.e2e.processes import PATIENCE_S, eventually
from tests.workers.fake_server import FakeServer


def said(job: int) -> Tell:
    return Tell(job=job, lease=f"{job:032x}", value=float(job), also={"lift": 0.1}, duration_s=0.5)


def files(root: Path) -> list[str]:
    return sorted(str(file.relative_to(root)) for file in root.rglob("*.json"))


@pytest.fixture
def server() -> FakeServer:
    return FakeServer()


@pytest.fixture
def teller(server: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Teller]:
    monkeypatch.setattr("counterpoise.worker.teller.pause_s", lambda _tried: 0.02)
    with server.client() as client, (tmp_path / "log").open("w") as stream:
        spool = Spool(tmp_path / "spool")
        teller = Teller(client, spool, Log(stream=stream))
        yield teller
        teller.stop()
        teller._thread.join(PATIENCE_S)
        spool.close()


def left_behind(root: Path, *jobs: int) -> None:
    """By a process that is gone: its lock goes with it."""
    spool = Spool(root)
    for job in jobs:
        spool.keep(said(job))
    spool.close()


def test_a_result_is_on_disk_until_it_is_told(server: FakeServer, teller: Teller, tmp_path: Path) -> None:
    server.away = True
    teller.start()
    kept = [teller.submit(said(job)) for job in (1, 2, 3)]
    assert len(files(tmp_path / "spool")) == 3
    assert teller.flush(0.2) == 3
    server.away = False
    assert teller.flush(PATIENCE_S) == 0
    assert all(each.over.is_set() for each in kept)
    assert files(tmp_path / "spool") == []
    assert server.told == {job: said(job).model_dump(exclude_none=True) for job in (1, 2, 3)}
    assert server.tells == [[1, 2, 3]]  # in one list


def test_what_was_kept_is_what_is_told_to_the_last_digit(tmp_path: Path) -> None:
    left_behind(tmp_path, 7)
    third = said(7).model_copy(update={"value": 1 / 3, "duration_s": 1e-17})
    spool = Spool(tmp_path)
    assert Tell.model_validate_json(spool.keep(third).read_bytes()) == third
    spool.close()


def test_a_killed_workers_results_are_told_by_the_next(server: FakeServer, teller: Teller, tmp_path: Path) -> None:
    left_behind(tmp_path / "spool", 1, 2)
    assert len(files(tmp_path / "spool")) == 2
    teller.start()
    eventually(lambda: sorted(server.told) == [1, 2], "the results")
    assert teller.flush(PATIENCE_S) == 0
    assert files(tmp_path / "spool") == []


def test_a_living_workers_results_are_its_own(tmp_path: Path) -> None:
    living, other = Spool(tmp_path), Spool(tmp_path)
    living.keep(said(1))
    assert other.adopt() == []
    living.close()
    assert [each.job for _, each in other.adopt()] == [1]
    assert Spool(tmp_path).adopt() == []  # it is the other's now
    other.close()
    assert [each.job for _, each in Spool(tmp_path).adopt()] == [1]


def test_a_spool_leaves_nothing_when_all_is_told(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool")
    spool.forget(spool.keep(said(1)))
    spool.close()
    assert list((tmp_path / "spool").iterdir()) == []


@pytest.mark.parametrize("status", [404, 409, 422])
def test_what_the_server_never_takes_is_set_aside_with_the_reason(
    server: FakeServer, teller: Teller, tmp_path: Path, status: int
) -> None:
    server.refusals = {2: status}
    teller.start()
    for job in (1, 2, 3):
        teller.submit(said(job))
    assert teller.flush(PATIENCE_S) == 0
    assert sorted(server.told) == [1, 3]
    (name,) = files(tmp_path / "spool")
    assert name == f"refused/2-{2:032x}.json"
    refused = json.loads((tmp_path / "spool" / name).read_text())
    assert (refused["status"], refused["detail"], refused["tell"]["value"]) == (status, f"says {status}", 2.0)


def test_one_result_that_breaks_the_server_does_not_hold_up_the_others(
    server: FakeServer, teller: Teller, tmp_path: Path
) -> None:
    server.poison = {2}
    for job in (1, 2, 3):
        teller.submit(said(job))
    teller.start()
    eventually(lambda: sorted(server.told) == [1, 3], "the others")
    server.poison = set()
    assert teller.flush(PATIENCE_S) == 0
    assert sorted(server.told) == [1, 2, 3]


def test_a_disk_that_cannot_keep_a_result_is_said_and_the_result_told(
    server: FakeServer, teller: Teller, tmp_path: Path
) -> None:
    (tmp_path / "spool").write_text("not a folder")
    kept = teller.submit(said(1))
    assert kept.file is None
    assert "cannot keep a result in" in (tmp_path / "log").read_text()
    teller.start()
    assert kept.over.wait(PATIENCE_S)
    assert sorted(server.told) == [1]


def test_a_write_that_fails_leaves_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spool = Spool(tmp_path)
    spool.keep(said(1))

    def full(number: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("counterpoise.worker.spool.os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        spool.keep(said(2))
    monkeypatch.undo()
    spool.close()
    assert [each.job for _, each in Spool(tmp_path).adopt()] == [1]
    assert [file.name for file in tmp_path.rglob("*.draft")] == []


def test_what_is_no_result_is_set_aside(tmp_path: Path) -> None:
    left_behind(tmp_path, 1)
    (file,) = tmp_path.rglob("*.json")
    file.write_text("{")
    assert Spool(tmp_path).adopt() == []
    assert files(tmp_path) == [f"refused/{file.name}"]


def test_what_is_not_of_a_worker_is_left_alone(tmp_path: Path) -> None:
    """A spool may be chosen badly: a project's folder, the root of a disk."""
    left_behind(tmp_path, 1)
    for name in ("src", "lost+found", "2026-01-run"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run-1.json").write_text("{}")
    with_more = next(tmp_path.glob("*/lock")).parent
    (with_more / "notes.txt").write_text("mine")
    spool = Spool(tmp_path)
    assert [each.job for _, each in spool.adopt()] == [1]
    spool.close()
    assert (with_more / "notes.txt").read_text() == "mine"
    assert sorted(str(file.parent.name) for file in tmp_path.rglob("run-1.json")) == [
        "2026-01-run",
        "lost+found",
        "src",
    ]
    assert not list(tmp_path.rglob("src/lock"))


def test_a_folder_that_cannot_be_adopted_holds_up_no_other(tmp_path: Path) -> None:
    left_behind(tmp_path, 1)
    (tmp_path / "0-00000000" / "lock").mkdir(parents=True)
    (tmp_path / "1-00000000").write_text("not a folder")
    assert [each.job for _, each in Spool(tmp_path).adopt()] == [1]


@pytest.mark.parametrize("status", [404, 409, 422])
def test_what_a_proxy_says_is_not_the_servers_word(
    server: FakeServer, teller: Teller, tmp_path: Path, status: int
) -> None:
    server.statuses = {"/tell": status}
    teller.submit(said(1))
    teller.start()
    eventually(lambda: "results wait to be told" in (tmp_path / "log").read_text(), "the answer")
    server.statuses = {}
    assert teller.flush(PATIENCE_S) == 0
    assert sorted(server.told) == [1]


def test_every_user_and_server_has_a_spool(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    one, other = default_spool("https://me:secret@server:8000/a"), default_spool("https://server:8000/b")
    assert one != other
    assert one.parent == tmp_path / "counterpoise" / "spool"
    assert one.name.startswith("server_8000-")
    assert default_spool("https://server:8000/b") == other


def test_slots_may_begin_it_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rename = Path.rename

    def slow(path: Path, target: Path) -> Path:
        time.sleep(0.05)
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", slow)
    spool = Spool(tmp_path / "spool")
    with ThreadPoolExecutor(8) as pool:
        assert all(file.exists() for file in pool.map(lambda job: spool.keep(said(job)), range(1, 9)))
    spool.close()
