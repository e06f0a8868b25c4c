"""The best of several solutions (contrib/constrained_optimization/python/candidates.py).

The functions need SciPy.
"""

import importlib
from typing import Any

import numpy as np


def find_best_candidate_distribution(
    objective_vector: Any, constraints_matrix: Any, epsilon: float = 0.0
) -> Any:
    """Return the probabilities of solutions that minimise the mean objective.

    `objective_vector` has the objective of each solution, and `constraints_matrix` the constraints,
    a row for each. The means of the constraints are at most 0, or as small as possible. A search
    finds this least violation, and ends when it is known up to `epsilon`.

    Raises:
        ValueError: the shapes do not fit, or `epsilon` is negative.
        ImportError: there is no SciPy.
    """
    if epsilon < 0.0:
        raise ValueError("epsilon must be nonnegative")
    matrix = np.asarray(constraints_matrix)
    found = _distribution(objective_vector, matrix, 0.0)
    if found is not None:
        return found
    lower, upper = 0.0, float(np.min(np.amax(matrix, axis=0)))
    best = _distribution(objective_vector, matrix, upper)
    while True:
        middle = 0.5 * (lower + upper)
        if middle - lower <= epsilon or upper - middle <= epsilon:
            return best
        found = _distribution(objective_vector, matrix, middle)
        if found is None:
            lower = middle
        else:
            best, upper = found, middle


def find_best_candidate_index(
    objective_vector: Any, constraints_matrix: Any, rank_objectives: bool = False
) -> int:
    """Return the number of the solution whose worst rank is best.

    The solutions are ranked by each constraint, where negative ones count as 0, and by the
    objective if `rank_objectives`. The objective decides between equal solutions.

    Raises:
        ValueError: the shapes do not fit.
        ImportError: there is no SciPy.
    """
    objectives, matrix = np.asarray(objective_vector), np.asarray(constraints_matrix)
    _check(objectives, matrix)
    stats = _scipy("stats")
    rows = [np.maximum(0.0, row) for row in matrix]
    if rank_objectives:
        rows.append(objectives)
    ranks = np.zeros(len(objectives), int)
    for row in rows:
        ranks = np.maximum(ranks, stats.rankdata(row, method="min"))
    best = np.flatnonzero(ranks == ranks.min())
    return int(best[np.argmin(objectives[best])])


def _distribution(objectives: Any, matrix: Any, violation: float) -> Any:
    """Return the best probabilities whose mean constraints are at most `violation`, or None."""
    _check(objectives, matrix)
    optimize = _scipy("optimize")
    result = optimize.linprog(
        objectives, A_ub=matrix, b_ub=np.full(len(matrix), violation),
        A_eq=np.ones((1, matrix.shape[1])), b_eq=np.ones(1), bounds=(0, None),
    )  # fmt: skip
    return result.x if result.success else None


def _check(objectives: Any, matrix: Any) -> None:
    if np.ndim(matrix) != 2 or np.shape(objectives) != matrix.shape[1:]:
        raise ValueError(
            "objective_vector must have shape (n,), and constraints_matrix (m, n), where n is the "
            "number of candidates, and m is the number of constraints"
        )


def _scipy(name: str) -> Any:
    try:
        return importlib.import_module(f"scipy.{name}")
    except ImportError as error:
        raise ImportError(
            "the candidates of tf.contrib.constrained_optimization require SciPy. Install it (pip "
            "install scipy)"
        ) from error
