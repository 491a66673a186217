"""The proposal of a step, with the reasons for its full samples."""

from dataclasses import replace

import numpy as np

from app.optimizer.arrays import Floats, Ints
from app.optimizer.models.model_report import ModelReport
from app.optimizer.models.step_models import Models
from app.optimizer.models.surrogate import Surrogate
from app.optimizer.problem import Problem
from app.optimizer.proposal.full_sample_report import FullSampleReport
from app.optimizer.proposal.proposal import Diagnostics, Proposal, Source
from app.optimizer.samples import Samples, join, new_samples
from app.optimizer.snapshot import Snapshot
from app.optimizer.strategies.counterpoise.archive import Archive, StepContext
from app.optimizer.strategies.counterpoise.cheap_points import rows_per_output
from app.optimizer.strategies.counterpoise.models.objective_models import (
    ObjectiveModels,
)
from app.optimizer.strategies.counterpoise.promotion import FullChoice


def make_proposal(
    context: StepContext,
    snapshot: Snapshot,
    full: FullChoice,
    extras: Floats,
    sources: tuple[Source, ...],
    counts: Ints,
    pool_order: Ints,
    population: Floats,
) -> Proposal:
    """`counts` (M,): extras of each output; `pool_order`: the caller's rows of the
    sorted pool.
    """
    models = context.archive.models
    chosen = join(
        snapshot.pool.rows(full.promoted),
        new_samples(full.fresh, len(context.problem.outputs), snapshot.step),
    )
    promoted = pool_order[full.promoted]
    common = context.settings.common_points
    rows = rows_per_output(counts, len(extras), common=common)
    cheap = tuple(extras[chosen_rows] for chosen_rows in rows)
    full_sources: list[Source] = ["population"] * len(full.fresh)
    diagnostics = Diagnostics(
        models=models.reports,
        alpha=0.0,
        sbp=(),
        population=len(population),
        full_sources=tuple(full_sources),
        cheap_sources=tuple(_sources(sources, chosen_rows) for chosen_rows in rows),
        full_samples=_full_reports(models, chosen, full.gains, promoted),
        co_models=models.co_reports,
    )
    shortfall = _shortfall(context.problem, snapshot.batch, len(chosen), counts, cheap)
    return Proposal(
        full=full.fresh,
        cheap=cheap,
        diagnostics=diagnostics,
        models=_as_models(context.archive, snapshot),
        population=population,
        shortfall=shortfall,
        promoted=promoted,
    )


def with_constraints(
    proposal: Proposal, reports: tuple[ModelReport | None, ...]
) -> Proposal:
    """The proposal with the reports of the constraints' models."""
    models = (*proposal.diagnostics.models, *reports)
    return replace(proposal, diagnostics=replace(proposal.diagnostics, models=models))


def _as_models(archive: Archive, snapshot: Snapshot) -> Models:
    """The plain models in the record that other strategies return."""
    surrogates = [Surrogate(model) for model in archive.models.plain]
    scale = archive.scale
    return Models(
        snapshot.X,
        snapshot.F[:, : len(surrogates)],
        scale.low,
        scale.size,
        tuple(surrogates),
        archive.models.reports,
        archive.feasibility,
    )


def _full_reports(
    models: ObjectiveModels, samples: Samples, gains: Floats, promoted: Ints
) -> tuple[FullSampleReport, ...]:
    """Promoted samples come first."""
    m = len(models.plain)
    F, known = samples.F[:, :m], samples.known[:, :m]
    mean, deviation = models.complete(samples.X, F, known)
    plain, co = models.forecasts(samples.X, F, known)
    reports = []
    for k, gain in enumerate(gains):
        report = FullSampleReport(
            pool_row=int(promoted[k]) if k < len(promoted) else None,
            gain=_number(gain),
            mean=tuple(mean[k].tolist()),
            deviation=tuple(deviation[k].tolist()),
            plain=tuple(plain[k].tolist()),
            co=tuple(_number(value) for value in co[k]),
        )
        reports.append(report)
    return tuple(reports)


def _sources(sources: tuple[Source, ...], rows: Ints) -> tuple[Source, ...]:
    return tuple(sources[row] for row in rows)


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _shortfall(
    problem: Problem, batch: int, full: int, counts: Ints, cheap: tuple[Floats, ...]
) -> str | None:
    missing = []
    if full < batch:
        missing.append(f"{batch - full} of {batch} full samples")
    for output, count, points in zip(problem.outputs, counts, cheap, strict=True):
        lacking = count - len(points)
        if lacking > 0:
            missing.append(
                f"{lacking} of {count} samples for objective {output.name!r}"
            )
    if not missing:
        return None
    return f"no new point was found for {', '.join(missing)}: all that the variables allow has been proposed before"
