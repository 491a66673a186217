"""BoTorch: qLogNEHVI. Needs the dependency group `peers` (torch, botorch)."""

from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.problems.catalogue import Instance

Array = NDArray[np.float64]
BATCH = 3
RESTARTS, RAW_SAMPLES, MC_SAMPLES = 4, 128, 64
CORNER = 0.1  # the reference point lies this share of the range beyond the worst value


def qlognehvi(
    instance: Instance, X: Array, budget: int, seed: int
) -> tuple[Array, list[float]]:
    """Batches of three, all objectives together."""
    # Heavy, and installed on demand only
    import torch
    from botorch.acquisition.multi_objective.logei import (
        qLogNoisyExpectedHypervolumeImprovement,
    )
    from botorch.optim import optimize_acqf
    from botorch.sampling import SobolQMCNormalSampler

    torch.manual_seed(seed)
    bounds = torch.stack([torch.zeros(instance.d), torch.ones(instance.d)]).double()
    F = instance.evaluate(X)
    seconds = []
    while len(F) < budget:
        before = process_time()
        model = _models(X, F)
        values = torch.as_tensor(-F)
        spread = values.max(0).values - values.min(0).values
        acquisition = qLogNoisyExpectedHypervolumeImprovement(
            model=model,
            ref_point=(values.min(0).values - CORNER * spread).tolist(),
            X_baseline=torch.as_tensor(X),
            prune_baseline=True,
            sampler=SobolQMCNormalSampler(torch.Size([MC_SAMPLES]), seed=seed),
        )
        points, _ = optimize_acqf(
            acquisition,
            bounds=bounds,
            q=min(BATCH, budget - len(F)),
            num_restarts=RESTARTS,
            raw_samples=RAW_SAMPLES,
            sequential=True,
        )
        seconds.append(process_time() - before)
        new = points.detach().numpy()
        X, F = np.vstack([X, new]), np.vstack([F, instance.evaluate(new)])
    return F, seconds


def _models(X: Array, F: Array) -> Any:
    import torch
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import ModelListGP, SingleTaskGP
    from botorch.models.transforms import Standardize
    from gpytorch.mlls import SumMarginalLogLikelihood

    inputs = torch.as_tensor(X)
    model = ModelListGP(
        *(
            SingleTaskGP(
                inputs,
                torch.as_tensor(-F[:, [i]]),
                train_Yvar=torch.full((len(F), 1), 1e-6).double(),
                outcome_transform=Standardize(1),
            )
            for i in range(F.shape[1])
        )
    )
    fit_gpytorch_mll(SumMarginalLogLikelihood(model.likelihood, model))
    return model
