"""Where the runs of a campaign are kept."""

from pathlib import Path

RESULTS = Path(__file__).parents[1] / "results"


def files_of(name: str, folder: Path = RESULTS) -> list[Path]:
    """The campaign's own file, which runs are appended to, last; before it those of the
    same table that other commands wrote, such as tab1-paper.jsonl.
    """
    own = folder / f"{name}.jsonl"
    return [*sorted(folder.glob(f"{name}-*.jsonl")), own]
