"""The optimizers of `tf.contrib.constrained_optimization` make the steps of NumPy's."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan.contrib import constrained_optimization as co
from capstan.contrib.constrained_optimization import projections

RATE = 0.1


def simplex(vector: Any, total: float = 1.0) -> Any:
    """Return the nearest vector of numbers of at least 0 with a sum."""
    ordered = np.sort(vector)[::-1]
    excess = (np.cumsum(ordered) - total) / np.arange(1, len(vector) + 1)
    return np.maximum(vector - excess[np.flatnonzero(ordered > excess)[-1]], 0)


def value(make: Callable[[], Any]) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(make())


def test_weights_are_projected_on_what_is_allowed() -> None:
    random = np.random.default_rng(4)
    for _ in range(5):
        vector = random.normal(0.3, 1, 6).astype("f")
        inside = np.maximum(vector, 0)
        expected = inside if inside.sum() <= 2 else simplex(vector, 2.0)
        found = value(lambda vector=vector: projections.in_ball(tf.constant(vector), 2.0))
        np.testing.assert_allclose(found, expected, atol=1e-6)
        matrix = random.normal(0.3, 1, [4, 4]).astype("f")
        found = value(lambda matrix=matrix: projections.stochastic(tf.constant(matrix)))
        np.testing.assert_allclose(found.T, [simplex(each) for each in matrix.T], atol=1e-6)
    matrix = np.exp(random.normal(size=[3, 3]))
    matrix /= matrix.sum(0)
    found = value(lambda: projections.stationary(tf.constant(matrix)))
    np.testing.assert_allclose(matrix @ found, found, atol=1e-5)
    assert found.sum() == pytest.approx(1)
    with pytest.raises(ValueError, match="one known size"):
        value(lambda: projections.stochastic(tf.zeros([2, 3])))


class Problem(co.ConstrainedMinimizationProblem):
    """The point next to (3, 2) with x <= 1 and x + y <= 2. Proxies are half the constraints."""

    def __init__(self, point: Any, has_proxies: bool, before: Any = None) -> None:
        self._point, self._has_proxies, self.pre_train_ops_ = point, has_proxies, before

    @property
    def objective(self) -> Any:
        return tf.reduce_sum(tf.square(self._point - [3.0, 2.0]))

    @property
    def constraints(self) -> Any:
        return tf.stack([self._point[0] - 1.0, tf.reduce_sum(self._point) - 2.0])

    @property
    def proxy_constraints(self) -> Any:
        return 0.5 * self.constraints if self._has_proxies else None

    @property
    def pre_train_ops(self) -> Any:
        return self.pre_train_ops_


def slopes(point: Any, weights: Any, share: float) -> Any:
    """Return the gradient of the weighted loss."""
    of_objective = 2 * (point - [3, 2])
    return weights[0] * of_objective + share * weights[1:] @ np.array([[1.0, 0.0], [1.0, 1.0]])


def violations(point: Any) -> Any:
    return np.array([0.0, point[0] - 1, point.sum() - 2])


def external(point: Any, state: Any, share: float) -> Any:
    weights = np.concatenate([[1.0], state])
    moved = np.maximum(state + RATE * violations(point)[1:], 0)
    return point - RATE * slopes(point, weights, share), moved


def limited(point: Any, state: Any, share: float) -> Any:
    point, moved = external(point, state, share)
    return point, moved if moved.sum() <= 0.3 else simplex(moved, 0.3)


def stationary(matrix: Any) -> Any:
    values, vectors = np.linalg.eig(matrix)
    vector = np.abs(vectors[:, np.argmax(values.real)].real)
    return vector / vector.sum()


def additive(point: Any, state: Any, share: float) -> Any:
    weights = stationary(state)
    moved = state + RATE * np.outer(violations(point), weights)
    moved = np.stack([simplex(column) for column in moved.T], 1)
    return point - RATE * slopes(point, weights, share), moved


def multiplicative(point: Any, state: Any, share: float) -> Any:
    weights = stationary(np.exp(state))
    moved = state + RATE * np.outer(violations(point), weights)
    moved = np.maximum(moved - np.log(np.exp(moved).sum(0)), np.log(0.01 / 3))
    return point - RATE * slopes(point, weights, share), moved


def sgd() -> Any:
    return tf.train.GradientDescentOptimizer(RATE)


FIRST = np.log([[1 - 0.3 * 2 / 3] * 3, [0.1] * 3, [0.1] * 3])
CASES: dict[str, tuple[Callable[[], Any], Callable[..., Any], Any]] = {
    "external": (lambda: co.AdditiveExternalRegretOptimizer(sgd()), external, np.zeros(2)),
    "limited": (
        lambda: co.AdditiveExternalRegretOptimizer(sgd(), sgd(), 0.3), limited, np.zeros(2),
    ),
    "additive": (
        lambda: co.AdditiveSwapRegretOptimizer(sgd()), additive,
        np.array([[1.0] * 3, [0.0] * 3, [0.0] * 3]),
    ),
    "multiplicative": (
        lambda: co.MultiplicativeSwapRegretOptimizer(sgd(), sgd(), 0.01, 0.3), multiplicative,
        FIRST,
    ),
}  # fmt: skip


@pytest.mark.parametrize("has_proxies", [False, True])
@pytest.mark.parametrize("case", sorted(CASES))
def test_a_step_moves_the_point_and_the_weights(case: str, has_proxies: bool) -> None:
    make, step, state = CASES[case]
    with tf.Graph().as_default(), tf.Session() as session:
        variable = tf.get_variable("point", initializer=tf.constant([2.0, 1.5]))
        global_step = tf.train.get_or_create_global_step()
        train_op = make().minimize_constrained(Problem(variable, has_proxies), global_step)
        name = "external" if state.ndim == 1 else "swap"
        held = next(each for each in tf.global_variables() if f"{name}_regret" in each.name)
        assert held.op.name == f"{name}_regret_optimizer_state"
        assert held not in tf.trainable_variables()
        session.run(tf.global_variables_initializer())
        point = np.array([2.0, 1.5])
        for _ in range(6):
            np.testing.assert_allclose(session.run(variable), point, rtol=1e-3, atol=1e-4)
            np.testing.assert_allclose(session.run(held), state, rtol=1e-3, atol=1e-4)
            session.run(train_op)
            point, state = step(point, state, 0.5 if has_proxies else 1.0)
        assert session.run(global_step) == 6


def test_constraints_hold_in_the_end() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        variable = tf.get_variable("point", initializer=tf.constant([0.0, 0.0]))
        counter = tf.Variable(0)
        problem = Problem(variable, False, [tf.assign_add(counter, 1)])
        global_step = tf.train.get_or_create_global_step()
        train_op = co.AdditiveExternalRegretOptimizer(sgd()).minimize(problem, 20, global_step)
        session.run(tf.global_variables_initializer())
        for _ in range(20):
            session.run(train_op)
        np.testing.assert_allclose(session.run(variable), [3, 2], atol=0.1)
        for _ in range(300):
            session.run(train_op)
        np.testing.assert_allclose(session.run(variable), [1, 1], atol=1e-2)
        assert session.run([global_step, counter]) == [320, 320]


def test_candidates_are_compared() -> None:
    pytest.importorskip("scipy")
    objectives = np.array([1.0, 2.0, 3.0])
    # The second half of the first and the third solution has no violation.
    found = co.find_best_candidate_distribution(objectives, np.array([[1.0, 0.5, -1.0]]))
    np.testing.assert_allclose(found, [0.5, 0, 0.5], atol=1e-6)
    found = co.find_best_candidate_distribution(objectives, np.array([[1.0, 0.5, 0.75]]), 1e-4)
    np.testing.assert_allclose(found, [0, 1, 0], atol=1e-2)
    constraints = np.array([[0.0, 0.2, 0.1], [0.9, 0.1, 0.0]])
    assert co.find_best_candidate_index(objectives, constraints) == 2
    assert co.find_best_candidate_index(np.array([5.0, 1, 0]), constraints * 0) == 2
    with pytest.raises(ValueError, match="objective_vector must have shape"):
        co.find_best_candidate_index(objectives, constraints[:, :2])


def test_wrong_arguments_are_refused() -> None:
    for make, match in (
        (lambda: co.AdditiveExternalRegretOptimizer(sgd(), None, 0.0), "strictly positive"),
        (lambda: co.MultiplicativeSwapRegretOptimizer(sgd(), None, 1.0), r"range \(0,1\)"),
        (lambda: co.MultiplicativeSwapRegretOptimizer(sgd(), None, 0.5, 0.1), "initial_mult"),
        (lambda: co.AdditiveSwapRegretOptimizer(sgd()).minimize(None, 3), "global_step cannot"),
    ):
        with tf.Graph().as_default(), pytest.raises(ValueError, match=match):
            make()
