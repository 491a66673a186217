from dataclasses import fields, replace

import pytest

from app.optimizer.models.training_data import (
    clustered_subset,
    random_subset,
    true_cheap,
)
from app.optimizer.proposal.acquisition import no_penalty
from app.optimizer.strategies.catalogue import STRATEGIES
from app.optimizer.strategies.strategy import Strategy


@pytest.mark.parametrize(
    ("name", "field", "part"),
    [
        ("bo-aaf", "penalty", no_penalty),
        ("sbp-bo-r", "train", random_subset),
        ("sbp-bo-c", "train", clustered_subset),
        ("sbp-nogpc", "train", true_cheap),
    ],
)
def test_an_ablation_differs_from_its_parent_in_exactly_one_field(
    name: str, field: str, part: object
) -> None:
    parent, child = STRATEGIES["sbp-bo"], STRATEGIES[name]
    differing = {
        each.name
        for each in fields(Strategy)
        if getattr(parent, each.name) != getattr(child, each.name)
    }
    assert differing == {field}
    assert getattr(child, field) is part


def test_defaults_are_the_papers_except_for_units() -> None:
    strategy = STRATEGIES["sbp-bo"]
    assert (strategy.w_max, strategy.training_size(10), strategy.keep_extra) == (
        20,
        134,
        "last",
    )
    assert strategy.scaling == "range"
    assert replace(strategy, size=50).training_size(10) == 50
