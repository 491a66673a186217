"""How workers and jobs look on a terminal."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from counterpoise.commands.study.tables import plain_table
from counterpoise.wire.views import AttemptStory, JobStory, WorkerView


def workers_table(workers: list[WorkerView]) -> Table:
    table = plain_table("worker", "state", "last seen", "takes", numbers=("jobs", "done", "busy"), gap=1)
    table.columns[2].no_wrap = True
    table.add_column("failures")
    for each in workers:
        table.add_row(
            Text(each.worker),
            worker_state(each),
            short(each.last_seen_at),
            Text(f"{', '.join(each.objectives)} of {', '.join(each.studies)}"),
            f"{len(each.jobs)}/{each.slots}",
            str(each.done),
            f"{each.busy_share:.0%}",
            ", ".join(f"{number} {kind}" for kind, number in each.failures if number),
        )
    return table


def worker_state(worker: WorkerView) -> Text:
    if worker.drained:
        return Text("drained" if worker.alive else "drained, away", style="yellow")
    return Text("alive", style="green") if worker.alive else Text("away", style="dim")


def job_story(found: JobStory) -> Group:
    asked = found.step or "imported"
    also = f" (with {', '.join(found.also)})" if found.also else ""
    title = f"job {found.job}: {found.objective}{also} of sample {found.sample}, {asked}, study {found.study}"
    point = ", ".join(f"{name} = {value:.6g}" for name, value in found.x.items())
    state = f"{found.state}, value {found.value:.6g}" if found.value is not None else found.state
    parts: list[RenderableType] = [Text(title, style="bold"), Text(f"at {point}", style="dim"), Text(state)]
    parts += [Text(f"- {line}") for line in found.why]
    if found.attempts:
        parts += ["", _attempts_table(found.attempts)]
    parts += [Text(f"\nattempt {each.number} said:\n{each.message}") for each in found.attempts if each.message]
    return Group(*parts)


def _attempts_table(attempts: list[AttemptStory]) -> Table:
    table = plain_table("attempt", "worker", "leased", "ended", "outcome", numbers=("took s", "value"))
    for each in attempts:
        ended = "" if each.ended_at is None else short(each.ended_at)
        outcome = each.failure or each.outcome or "runs"
        took = "" if each.duration_s is None else f"{each.duration_s:.3g}"
        value = "" if each.value is None else f"{each.value:.6g}"
        table.add_row(str(each.number), Text(each.worker), short(each.leased_at), ended, outcome, took, value)
    return table


def short(moment: str) -> str:
    """An ISO time without parts of a second."""
    return moment.partition(".")[0].removesuffix("Z").replace("T", " ") + "Z"
