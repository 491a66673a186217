"""Wilcoxon's rank sum test, corrected by Holm and Bonferroni."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Literal

from scipy.stats import mannwhitneyu

LEVEL = 0.05
# A column beside the reference: significantly better, worse, or neither
Assessment = Literal["+", "-", "="]


def assessments(
    reference: Sequence[float], others: Mapping[str, Sequence[float]]
) -> dict[str, Assessment]:
    """For the columns that have at least two runs; scores are minimised."""
    tested = {
        name: rank_sum(reference, values)
        for name, values in others.items()
        if len(values) > 1 and len(reference) > 1
    }
    significant = holm(tested)
    result: dict[str, Assessment] = {}
    for name in tested:
        is_better = fmean(others[name]) < fmean(reference)
        result[name] = "=" if name not in significant else "+" if is_better else "-"
    return result


def rank_sum(first: Sequence[float], second: Sequence[float]) -> float:
    """The p-value of the two-sided test."""
    return float(mannwhitneyu(first, second, alternative="two-sided").pvalue)


def holm(p_values: Mapping[str, float], level: float = LEVEL) -> set[str]:
    """Which hypotheses are rejected: the smallest p-value against level / k, the next
    against level / (k - 1), …, until one is kept.
    """
    rejected: set[str] = set()
    ordered = sorted(p_values.items(), key=lambda item: item[1])
    for k, (name, p) in enumerate(ordered):
        if p > level / (len(ordered) - k):
            break
        rejected.add(name)
    return rejected
