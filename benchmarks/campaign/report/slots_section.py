"""The section of docs/benchmarks.md on slots for the slowest runs."""

import json
from pathlib import Path

from benchmarks.virtual_time.slots import markdown

COMMAND = "counterpoise bench slots --d 4 --budget 103"
WHAT = """Virtual time: W slots of each objective, slow runs of 5 with log-normal durations (sigma 0.5),
cheap ones of 1, planning of 0.5 a step; `sbp-bo` with the models of the paper, 43 initial samples
and 60 more. `overlap: auto` beside two barriers: batches of 3, as in the paper, and batches that
fill the slots. Busy: the share of the slow slots' time in the search phase. Time: when overlap is
as good as the barrier at its end, divided by the time that the barrier took for it; reached: in how
many seeds it ever is. IGD+: after the same number of slow evaluations, divided by the barrier's;
above 1 is the price of planning with less known. Busy shares are means over seeds, the others
medians, `-` where most seeds never reach it."""


def slots_section(results: Path) -> str:
    file = results / "slots.jsonl"
    parts = ["## slots", WHAT, f"```\n{COMMAND}\n```"]
    if file.exists():
        rows = [json.loads(line) for line in file.read_text().splitlines()]
        parts.append(markdown(rows))
    else:
        parts.append("**Not run yet.**")
    return "\n\n".join(parts) + "\n"
