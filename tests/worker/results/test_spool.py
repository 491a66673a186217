"""Results on disk: saved before they are told, removed afterwards, adopted from
processes that have ended.
"""

import json
import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from counterpoise.wire.work import Tell
from counterpoise.worker.results.spool import Spool, default_spool
from counterpoise.worker.results.teller import Teller
from counterpoise.worker.worker_log import WorkerLog
from tests.e2e.processes import PATIENCE_S, eventually
from tests.worker.fake_server import FakeServer, lease_of


def tell_of(job: int) -> Tell:
    return Tell(
        job=job,
        lease=lease_of(job),
        value=float(job),
        also={"lift": 0.1},
        duration_s=0.5,
    )


def files(root: Path) -> list[str]:
    return sorted(str(file.relative_to(root)) for file in root.rglob("*.json"))


def adopted_jobs(spool: Spool) -> list[int]:
    return [tell.job for _, tell in spool.adopt()]


def leave_behind(root: Path, *jobs: int) -> None:
    """As a process that has ended: its lock has ended with it."""
    spool = Spool(root)
    for job in jobs:
        spool.save(tell_of(job))
    spool.close()


@pytest.fixture
def server() -> FakeServer:
    return FakeServer()


@pytest.fixture
def teller(
    server: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Teller]:
    monkeypatch.setattr(
        "counterpoise.worker.results.teller.pause_s", lambda _failures: 0.02
    )
    with server.client() as client, (tmp_path / "log").open("w") as stream:
        spool = Spool(tmp_path / "spool")
        teller = Teller(client, spool, WorkerLog(stream=stream))
        yield teller
        teller.stop()
        for thread in threading.enumerate():
            if thread.name == "teller":
                thread.join(PATIENCE_S)
        spool.close()


def test_a_result_is_on_disk_until_it_is_told(
    server: FakeServer, teller: Teller, tmp_path: Path
) -> None:
    server.unavailable = True
    teller.start()
    results = [teller.submit(tell_of(job)) for job in (1, 2, 3)]
    assert len(files(tmp_path / "spool")) == 3
    assert teller.flush(0.2) == results
    server.unavailable = False
    assert teller.flush(PATIENCE_S) == []
    assert all(result.is_settled.is_set() for result in results)
    assert files(tmp_path / "spool") == []
    assert server.told == {
        job: tell_of(job).model_dump(exclude_none=True) for job in (1, 2, 3)
    }
    assert server.tells == [[1, 2, 3]]  # in one list


def test_what_is_saved_is_exact(tmp_path: Path) -> None:
    tell = tell_of(7).model_copy(update={"value": 1 / 3, "duration_s": 1e-17})
    spool = Spool(tmp_path)
    assert Tell.model_validate_json(spool.save(tell).read_bytes()) == tell
    spool.close()


def test_results_of_a_killed_worker_are_told_by_the_next(
    server: FakeServer, teller: Teller, tmp_path: Path
) -> None:
    leave_behind(tmp_path / "spool", 1, 2)
    assert len(files(tmp_path / "spool")) == 2
    teller.start()
    eventually(lambda: sorted(server.told) == [1, 2], "the results")
    assert teller.flush(PATIENCE_S) == []
    assert files(tmp_path / "spool") == []


def test_results_of_a_living_worker_are_not_adopted(tmp_path: Path) -> None:
    living, other = Spool(tmp_path), Spool(tmp_path)
    living.save(tell_of(1))
    assert other.adopt() == []
    living.close()
    assert adopted_jobs(other) == [1]
    assert Spool(tmp_path).adopt() == []  # now it belongs to the other one
    other.close()
    assert adopted_jobs(Spool(tmp_path)) == [1]


def test_only_regular_files_are_adopted(tmp_path: Path) -> None:
    """A pipe would block the worker, a link would read another file."""
    leave_behind(tmp_path, 1, 2)
    (folder,) = tmp_path.iterdir()
    name = f"{'0' * 32}.json"
    os.mkfifo(folder / f"3-{name}")
    (folder / f"4-{name}").mkdir()
    (folder / f"5-{name}").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "123-0123abcd")
    spool = Spool(tmp_path)
    assert adopted_jobs(spool) == [1, 2]
    assert adopted_jobs(spool) == []
    spool.close()


def test_an_empty_spool_leaves_no_files(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool")
    spool.remove(spool.save(tell_of(1)))
    spool.close()
    assert list((tmp_path / "spool").iterdir()) == []


@pytest.mark.parametrize("status", [404, 409, 422])
def test_a_result_that_the_server_never_accepts_is_set_aside_with_the_reason(
    server: FakeServer, teller: Teller, tmp_path: Path, status: int
) -> None:
    server.refusals = {2: status}
    teller.start()
    for job in (1, 2, 3):
        teller.submit(tell_of(job))
    assert teller.flush(PATIENCE_S) == []
    assert sorted(server.told) == [1, 3]
    (name,) = files(tmp_path / "spool")
    assert name == f"refused/2-{lease_of(2)}.json"
    refused = json.loads((tmp_path / "spool" / name).read_text())
    assert (refused["status"], refused["detail"], refused["tell"]["value"]) == (
        status,
        f"status {status}",
        2.0,
    )


def test_a_result_that_breaks_the_server_does_not_hold_up_the_others(
    server: FakeServer, teller: Teller
) -> None:
    server.poison = {2}
    for job in (1, 2, 3):
        teller.submit(tell_of(job))
    teller.start()
    eventually(lambda: sorted(server.told) == [1, 3], "the others")
    server.poison = set()
    assert teller.flush(PATIENCE_S) == []
    assert sorted(server.told) == [1, 2, 3]


def test_a_result_that_cannot_be_saved_is_told_nevertheless(
    server: FakeServer, teller: Teller, tmp_path: Path
) -> None:
    (tmp_path / "spool").write_text("not a folder")
    result = teller.submit(tell_of(1))
    assert result.file is None
    assert "cannot save a result in" in (tmp_path / "log").read_text()
    teller.start()
    assert result.is_settled.wait(PATIENCE_S)
    assert sorted(server.told) == [1]


def test_a_write_that_fails_leaves_no_part_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool = Spool(tmp_path)
    spool.save(tell_of(1))

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("counterpoise.worker.results.spool.os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        spool.save(tell_of(2))
    monkeypatch.undo()
    spool.close()
    assert adopted_jobs(Spool(tmp_path)) == [1]
    assert [file.name for file in tmp_path.rglob("*.draft")] == []


def test_a_file_that_is_not_a_result_is_set_aside(tmp_path: Path) -> None:
    leave_behind(tmp_path, 1)
    (file,) = tmp_path.rglob("*.json")
    file.write_text("{")
    assert Spool(tmp_path).adopt() == []
    assert files(tmp_path) == [f"refused/{file.name}"]


def test_files_and_folders_of_others_are_not_touched(tmp_path: Path) -> None:
    """A spool may be chosen badly: the folder of a project, the root of a disk."""
    leave_behind(tmp_path, 1)
    others = ["2026-01-run", "lost+found", "src"]
    for name in others:
        (tmp_path / name).mkdir()
        (tmp_path / name / "run-1.json").write_text("{}")
    folder = next(tmp_path.glob("*/lock")).parent
    (folder / "notes.txt").write_text("notes")
    spool = Spool(tmp_path)
    assert adopted_jobs(spool) == [1]
    spool.close()
    assert (folder / "notes.txt").read_text() == "notes"
    assert sorted(file.parent.name for file in tmp_path.rglob("run-1.json")) == others
    assert not list(tmp_path.rglob("src/lock"))


def test_a_folder_that_cannot_be_adopted_does_not_hold_up_the_others(
    tmp_path: Path,
) -> None:
    leave_behind(tmp_path, 1)
    (tmp_path / "0-00000000" / "lock").mkdir(parents=True)
    (tmp_path / "1-00000000").write_text("not a folder")
    assert adopted_jobs(Spool(tmp_path)) == [1]


@pytest.mark.parametrize("status", [404, 409, 422])
def test_a_response_of_a_proxy_is_not_a_refusal(
    server: FakeServer, teller: Teller, tmp_path: Path, status: int
) -> None:
    server.statuses = {"/tell": status}
    teller.submit(tell_of(1))
    teller.start()
    eventually(
        lambda: "telling results failed" in (tmp_path / "log").read_text(),
        "the response",
    )
    server.statuses = {}
    assert teller.flush(PATIENCE_S) == []
    assert sorted(server.told) == [1]


def test_each_user_and_server_has_a_spool(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    first, second = (
        default_spool("https://me:secret@server:8000/a"),
        default_spool("https://server:8000/b"),
    )
    assert first != second
    assert first.parent == tmp_path / "counterpoise" / "spool"
    assert first.name.startswith("server_8000-")
    assert default_spool("https://server:8000/b") == second


def test_threads_may_save_their_first_results_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = Path.rename

    def slow(path: Path, target: Path) -> Path:
        time.sleep(0.05)
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", slow)
    spool = Spool(tmp_path / "spool")
    with ThreadPoolExecutor(8) as pool:
        saved = pool.map(lambda job: spool.save(tell_of(job)), range(1, 9))
    assert all(file.exists() for file in saved)
    spool.close()
