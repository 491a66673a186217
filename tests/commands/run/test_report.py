"""What `counterpoise run` prints at its end."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from counterpoise.commands.run.report import print_next
from counterpoise.local.result import Result
from counterpoise.wire.codes import Phase
from tests.commands.fake_api import FRONT, STUDY


@pytest.mark.parametrize("finished", [True, False])
@pytest.mark.parametrize("server", [None, "http://node1:8000"])
def test_what_to_do_next(finished: bool, server: str | None) -> None:
    phase = Phase.FINISHED if finished else Phase.SEARCH
    study = STUDY.model_copy(update={"phase": phase})
    result = Result(study, FRONT, [], [], None)
    console = Console(file=io.StringIO(), width=72)
    with console.capture() as screen:
        files = [Path("out/front.csv")]
        print_next(result, files, "w.yaml", Path("out"), console, server=server)
    lines = screen.get().splitlines()
    command = "counterpoise run w.yaml" + (f" --server {server}" if server else "")
    assert lines[0] == "written: out/front.csv"
    assert any(line.endswith(command) for line in lines)
    assert any("raise `budget`" in line for line in lines) == finished
    assert any(line.startswith("! objective drag") for line in lines)
    place = f"{server}/studies/wing" if server else "sqlite:///out/study.db"
    assert place in lines[-1]
