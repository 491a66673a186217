"""BoTorch: the hypervolume knowledge gradient, which evaluates objectives apart
(Daulton et al. 2023). Needs the dependency group `peers` (torch, botorch).
"""

from collections.abc import Sequence
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.optimizer.problem import Variable
from app.optimizer.search.reference_vectors import reference_vectors
from app.optimizer.search.rvea import evolve
from benchmarks.problems.catalogue import Instance

Array = NDArray[np.float64]
# As in BoTorch's tutorial on decoupled objectives
PARETO, FANTASIES, RESTARTS, RAW_SAMPLES = 10, 8, 1, 512
CURRENT_RESTARTS, CURRENT_RAW_SAMPLES = 20, 1024
# The tutorial has no limit of iterations
OPTIONS = {"batch_limit": 5, "maxiter": 200}
GENERATIONS = 100  # of the search for the front that the models predict


def hvkg(
    instance: Instance,
    X: Array,
    budget: int,
    seed: int,
    ratios: Sequence[float],
    settings: tuple[int, int] = (RAW_SAMPLES, CURRENT_RAW_SAMPLES),
) -> tuple[Array, list[float]]:
    """At each step one objective at one point, the largest gain per cost among the
    objectives that have evaluations left: r_j times the budget each. The values are
    those of the design and of the front that the models predict at the end.
    """
    # Heavy, and installed on demand only
    import torch

    torch.manual_seed(seed)
    F = instance.evaluate(X)
    points, values = [X] * instance.m, list(F.T)
    allowed = [int(ratio) * budget for ratio in ratios]
    corner = -(F.max(axis=0) + 0.1 * np.ptp(F, axis=0))
    slow = int(np.argmin(ratios))
    seconds = []
    while len(values[slow]) < budget:
        before = process_time()
        model = _fit(points, values)
        left = [j for j in range(instance.m) if len(values[j]) < allowed[j]]
        x, j = _best_evaluation(model, corner, 1.0 / np.array(ratios), left, settings)
        seconds.append(process_time() - before)
        points[j] = np.vstack([points[j], x])
        values[j] = np.append(values[j], instance.evaluate(x)[:, j])
    front = _predicted_front(_fit(points, values), instance, seed)
    return np.vstack([F, instance.evaluate(front)]), seconds


def _fit(points: Sequence[Array], values: Sequence[Array]) -> Any:
    import torch
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import ModelListGP, SingleTaskGP
    from botorch.models.transforms import Standardize
    from gpytorch.mlls import SumMarginalLogLikelihood

    models = []
    for X, y in zip(points, values, strict=True):
        told = torch.as_tensor(-y[:, None])
        noise = torch.full_like(told, 1e-7)
        transform = Standardize(1)
        models.append(
            SingleTaskGP(
                torch.as_tensor(X), told, train_Yvar=noise, outcome_transform=transform
            )
        )
    model = ModelListGP(*models)
    fit_gpytorch_mll(SumMarginalLogLikelihood(model.likelihood, model))
    return model


def _best_evaluation(
    model: Any,
    corner: Array,
    costs: Array,
    objectives: Sequence[int],
    settings: tuple[int, int],
) -> tuple[Array, int]:
    """The point (1, d) and the objective."""
    import torch
    from botorch.acquisition.cost_aware import InverseCostWeightedUtility
    from botorch.acquisition.multi_objective.hypervolume_knowledge_gradient import (
        _get_hv_value_function,
        qHypervolumeKnowledgeGradient,
    )
    from botorch.models.cost import FixedCostModel
    from botorch.optim import optimize_acqf

    raw, current_raw = settings
    d = model.models[0].train_inputs[0].shape[-1]
    bounds = torch.stack([torch.zeros(d), torch.ones(d)]).double()
    reference = torch.as_tensor(corner)
    value = _get_hv_value_function(
        model=model, ref_point=reference, use_posterior_mean=True
    )
    _, current = optimize_acqf(
        value,
        bounds=bounds,
        q=PARETO,
        num_restarts=CURRENT_RESTARTS,
        raw_samples=current_raw,
        options=OPTIONS,
    )
    acquisition = qHypervolumeKnowledgeGradient(
        model=model,
        ref_point=reference,
        num_fantasies=FANTASIES,
        num_pareto=PARETO,
        current_value=current,
        cost_aware_utility=InverseCostWeightedUtility(
            cost_model=FixedCostModel(fixed_cost=torch.as_tensor(costs))
        ),
    )
    found = []
    for j in objectives:
        mask = torch.zeros(1, len(costs), dtype=torch.bool)
        mask[0, j] = True
        acquisition.X_evaluation_mask = mask
        x, gain = optimize_acqf(
            acquisition,
            bounds=bounds,
            q=1,
            num_restarts=RESTARTS,
            raw_samples=raw,
            options=OPTIONS,
        )
        found.append((float(gain), j, x.detach().numpy()))
    _, j, point = max(found, key=lambda each: each[0])
    return point, j


def _predicted_front(model: Any, instance: Instance, seed: int) -> Array:
    """The population of RVEA on the models' means."""
    import torch

    variables = tuple(Variable(f"x{k}", 0.0, 1.0) for k in range(instance.d))

    def means(X: Array) -> Array:
        with torch.no_grad():
            mean = model.posterior(torch.as_tensor(X)).mean.numpy()
        return np.asarray(-mean)

    V0 = reference_vectors(instance.m, "small")
    rng = np.random.default_rng(seed)
    start = rng.random((len(V0), instance.d))
    population, _ = evolve(variables, means, start, V0, V0, GENERATIONS, rng, None)
    return population
