"""Workers and jobs on a terminal."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from counterpoise.commands.study.study_tables import plain_table
from counterpoise.wire.coordinates import short_coordinate
from counterpoise.wire.text import short_time
from counterpoise.wire.views import AttemptStory, JobStory, PromotionView, WorkerView


def workers_table(workers: list[WorkerView]) -> Table:
    table = plain_table(
        "worker", "state", "last seen", "takes", numbers=("jobs", "done", "busy"), gap=1
    )
    table.columns[2].no_wrap = True
    table.add_column("failures")
    for worker in workers:
        failures = [f"{number} {kind}" for kind, number in worker.failures if number]
        table.add_row(
            Text(worker.worker),
            worker_state(worker),
            short_time(worker.last_seen_at),
            Text(f"{', '.join(worker.objectives)} of {', '.join(worker.studies)}"),
            f"{len(worker.jobs)}/{worker.slots}",
            str(worker.done),
            f"{worker.busy_share:.0%}",
            ", ".join(failures),
        )
    return table


def worker_state(worker: WorkerView) -> Text:
    if worker.drained:
        return Text("drained" if worker.alive else "drained, away", style="yellow")
    if worker.shared:
        return Text("name shared", style="yellow")
    return Text("alive", style="green") if worker.alive else Text("away", style="dim")


def job_story(job: JobStory) -> Group:
    step = job.step or "imported"
    also = f" (with {', '.join(job.also)})" if job.also else ""
    title = f"job {job.job}: {job.objective}{also} of sample {job.sample}, {step}, study {job.study}"
    point = ", ".join(
        f"{name} = {short_coordinate(value)}" for name, value in job.x.items()
    )
    state = job.state if job.value is None else f"{job.state}, value {job.value:.6g}"
    parts: list[RenderableType] = [
        Text(title, style="bold"),
        Text(f"at {point}", style="dim"),
        Text(state),
    ]
    if job.promotion is not None:
        parts.append(Text(_promotion_line(job.promotion)))
    parts += [Text(f"- {reason}") for reason in job.why]
    if job.attempts:
        parts += ["", _attempts_table(job.attempts)]
    for attempt in job.attempts:
        if attempt.message:
            parts.append(
                Text(f"\nmessage of attempt {attempt.number}:\n{attempt.message}")
            )
    return Group(*parts)


def _promotion_line(promotion: PromotionView) -> str:
    gain = "for its uncertainty"
    if promotion.gain is not None:
        gain = f"for an expected gain of {promotion.gain:.3g}"
    expected = f"{promotion.predicted:.6g} +- {promotion.deviation:.2g}"
    return f"promoted by {promotion.step} {gain}; expected {expected}"


def _attempts_table(attempts: list[AttemptStory]) -> Table:
    table = plain_table(
        "attempt", "worker", "leased", "ended", "outcome", numbers=("took s", "value")
    )
    for attempt in attempts:
        table.add_row(
            str(attempt.number),
            Text(attempt.worker),
            short_time(attempt.leased_at),
            "" if attempt.ended_at is None else short_time(attempt.ended_at),
            attempt.failure or attempt.outcome or "runs",
            "" if attempt.duration_s is None else f"{attempt.duration_s:.3g}",
            "" if attempt.value is None else f"{attempt.value:.6g}",
        )
    return table
