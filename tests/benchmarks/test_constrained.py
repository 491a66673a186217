import numpy as np
import pytest

from benchmarks.constrained.problems import PROBLEMS, constrained_problem
from benchmarks.constrained.run import Method, infeasible_as_worst, ours
from benchmarks.mixed.problems import PROBLEMS as MIXED
from benchmarks.mixed.truss import AREAS, BARS, MATERIALS, evaluate_truss


@pytest.mark.parametrize("name", list(PROBLEMS))
def test_a_problem_is_declared_as_it_is_evaluated(name: str) -> None:
    problem = constrained_problem(name)
    X = np.random.default_rng(0).uniform(problem.low, problem.high, (5, problem.d))
    F, G = problem.evaluate(X)
    declared = problem.declare()
    assert F.shape == (5, declared.m)
    assert G.shape == (5, len(declared.constraints))
    assert len(declared.ratios) == len(declared.outputs)
    assert problem.is_feasible(X).shape == (5,)


def test_the_hidden_problem_is_feasible_below_the_diagonal() -> None:
    X = np.array([[0.2, 0.7, 0, 0, 0, 0], [0.6, 0.7, 0, 0, 0, 0]])
    assert constrained_problem("hidden").is_feasible(X).tolist() == [True, False]


METHODS = (ours("sbp-bo"), ours("counterpoise"), infeasible_as_worst())


@pytest.mark.parametrize("method", METHODS)
def test_a_run_has_the_samples_that_it_may_have(method: Method) -> None:
    problem = constrained_problem("welded_beam")
    X = method(problem, 0, 4)
    assert X.shape == (problem.n + 4, 4)
    assert ((problem.low <= X) & (problem.high >= X)).all()


def test_a_truss_of_one_material_and_profile_by_hand() -> None:
    same = np.zeros((2, len(BARS)), dtype=np.int64)
    steel, aluminium = np.full(3, 2), np.zeros(3, dtype=np.int64)
    height = np.array([3.0, 3.0])
    F = evaluate_truss(height, same, np.array([steel, aluminium]))
    # Four bars of 4 m, two uprights of 3 m, four diagonals of 5 m
    length = 4 * 4.0 + 2 * 3.0 + 4 * 5.0
    assert F[0, 0] == pytest.approx(7850.0 * AREAS[0] * 1e-4 * length)
    # Displacements are inversely proportional to Young's modulus
    moduli = MATERIALS[2, 0] / MATERIALS[0, 0]
    assert F[1, 1] / F[0, 1] == pytest.approx(moduli)
    wider = evaluate_truss(height, same + 2, np.array([steel, aluminium]))
    assert wider[0, 1] / F[0, 1] == pytest.approx(AREAS[0] / AREAS[2])


@pytest.mark.parametrize("name", list(MIXED))
def test_a_mixed_problem_has_two_objectives_at_every_choice(name: str) -> None:
    problem = MIXED[name]()
    low = np.array([variable.low for variable in problem.variables], dtype=float)
    high = np.array([variable.high for variable in problem.variables], dtype=float)
    F = problem.values(np.stack([low, high]))
    assert F.shape == (2, 2)
    assert np.isfinite(F).all()
