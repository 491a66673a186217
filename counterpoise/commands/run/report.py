"""What `counterpoise run` prints and writes at its end: tables, CSV files, a picture,
and what to do next.
"""

import importlib.util
from pathlib import Path
from typing import Any

from rich.console import Console

from counterpoise.client import Client
from counterpoise.commands.output import count
from counterpoise.commands.study.front_tables import front_tables, summary_table
from counterpoise.local.result import Result
from counterpoise.local.run_folder import DATABASE

FEW = 8  # samples of a front that are all printed


def write_files(client: Client, result: Result, folder: Path) -> list[Path]:
    """The front and all samples as CSV, and the front as a picture where matplotlib is
    installed.
    """
    files = []
    for what in ("front", "samples"):
        file = folder / f"{what}.csv"
        file.write_bytes(b"".join(client.export(result.study.name, what, "csv")))
        files.append(file)
    if result.front and importlib.util.find_spec("matplotlib") is not None:
        from counterpoise.local.picture import draw_result

        picture = folder / "front.png"
        draw_result(result, picture)
        files.append(picture)
    return files


def result_json(result: Result, files: list[Path]) -> dict[str, Any]:
    return {
        "study": result.study.model_dump(exclude={"spec"}),
        "finished": result.finished,
        "front": [item.model_dump() for item in result.front],
        "hypervolume_history": [
            point._asdict() for point in result.hypervolume_history
        ],
        "files": [str(file) for file in files],
    }


def print_result(result: Result, console: Console, *, every: bool) -> None:
    study = result.study
    samples = f"{study.evaluated_full} of {study.budget} full samples"
    if not result.front:
        console.print(f"no front yet: {samples}, none with a value of every output")
        return
    console.print(
        f"{count(len(result.front), 'sample')} on the front of {samples}:", style="bold"
    )
    if every or len(result.front) <= FEW:
        console.print(front_tables(result.front, study, console.width))
    else:
        console.print(summary_table(result.front, study))
    if result.hypervolume is not None:
        console.print(f"hypervolume {result.hypervolume:.6g}", highlight=False)


def print_next(
    result: Result,
    files: list[Path],
    file: str,
    folder: Path,
    console: Console,
    *,
    server: str | None,
) -> None:
    """`server`: the URL of the running server that was used, if the study did not start
    its own.
    """
    name = result.study.name
    command = f"counterpoise run {file}"
    if server is not None:
        command += f" --server {server}"
    lines = [f"written: {', '.join(map(str, files))}"]
    if importlib.util.find_spec("matplotlib") is None:
        lines.append("for a picture of the front: pip install 'counterpoise[plot]'")
    if result.finished:
        lines.append(f"more samples: raise `budget` in {file}, then: {command}")
    else:
        lines.append(f"go on from here: {command}")
    lines += [f"! {item.detail}" for item in result.study.health]
    if server is not None:
        lines.append(f"look at it: {server}/studies/{name}")
    else:
        lines.append(
            "look at it: counterpoise serve --database-url"
            f" sqlite:///{folder / DATABASE}   (study {name})"
        )
    for line in lines:
        console.print(line, soft_wrap=True, highlight=False, markup=False)
