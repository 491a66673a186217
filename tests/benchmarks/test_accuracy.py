"""The functions that models are compared on, and the comparison."""

import numpy as np
import pytest

from benchmarks.problems.smooth_functions import borehole, otl_circuit, robot_arm
from benchmarks.speed.accuracy import run


def test_a_borehole_without_resistance_is_a_logarithm() -> None:
    # r = e^2 rw, L = 0, Tl infinite: 2 pi Tu (Hu - Hl) / 2
    v = [0.1, 0.1 * np.e**2, 3.0, 10.0, np.inf, 8.0, 0.0, 1.0]
    assert borehole(np.array([v]).T)[0] == pytest.approx(6.0 * np.pi)


def test_a_circuit_without_feedback_has_the_base_voltage() -> None:
    # Vb1 + 0.74, and Vb1 = 12 * 25 / 75
    v = [50.0, 25.0, 0.0, 1.2, 0.25, 50.0]
    assert otl_circuit(np.array([v]).T)[0] == pytest.approx(4.74)


def test_a_bent_robot_arm() -> None:
    # 1 along x, 0.5 along y, then back along x by 1: the hand is at (0, 0.5)
    v = [0.0, np.pi / 2, np.pi / 2, 0.0, 1.0, 0.5, 1.0, 0.0]
    assert robot_arm(np.array([v]).T)[0] == pytest.approx(0.5)


def test_models_by_evidence_are_as_exact_as_scikit_learn() -> None:
    (row,) = run(("wing-weight",), size=120)
    assert row["evidence_rmse"] < 1.2 * row["scikit_learn_rmse"]
    assert 0.0 < row["kriging_rmse"] < 0.1
