"""`tf.contrib.factorization.GMM` takes the steps of expectation maximisation in NumPy."""

import pathlib
from typing import Any

import numpy as np
import pytest

import capstan as tf

pytestmark = pytest.mark.e2e
RANDOM = np.random.default_rng(5)
CENTERS = np.array([[0.0, 1.0], [4.0, -2.0], [-5.0, 0.5]])
KINDS = RANDOM.integers(0, 3, 90)
POINTS = (CENTERS[KINDS] + RANDOM.normal(size=(90, 2)) * [0.5, 1.5]).astype(np.float32)
FIRST = (CENTERS + 0.5).astype(np.float32)
LEAST = 1e-3


def input_fn() -> Any:
    return tf.constant(POINTS), None


def log_densities(weights: Any, means: Any, covs: Any) -> Any:
    """Return the logarithm of the share of each class in the density at each point."""
    columns = []
    for weight, mean, cov in zip(weights, means, covs, strict=True):
        full = cov + LEAST * np.eye(2)
        apart = POINTS - mean
        distance = (apart @ np.linalg.inv(full) * apart).sum(1)
        volume = np.log(np.linalg.det(full)) + 2 * np.log(2 * np.pi)
        columns.append(np.log(weight) - (distance + volume) / 2)
    return np.stack(columns, 1)


def fitted(steps: int, kind: str, params: str = "wmc") -> tuple[Any, Any, Any]:
    """Return the weights, means and covariances after some steps."""
    cov = np.cov(POINTS.T.astype(float))
    cov = cov if kind == "full" else np.diag(np.diag(cov))
    weights, means = np.full(3, 1 / 3), FIRST.astype(float)
    covs = np.stack([cov + LEAST * (np.eye(2))] * 3)
    for _ in range(steps):
        logs = log_densities(weights, means, covs)
        shares = np.exp(logs - np.logaddexp.reduce(logs, 1)[:, None])
        counts = shares.sum(0)
        weights = counts / counts.sum() if "w" in params else weights
        means = shares.T @ POINTS / counts[:, None] if "m" in params else means
        squares = np.einsum("nk,ni,nj->kij", shares, POINTS, POINTS) / counts[:, None, None]
        new = squares - np.einsum("ki,kj->kij", means, means) + LEAST * np.eye(2)
        new = new if kind == "full" else np.stack([np.diag(np.diag(each)) for each in new])
        covs = new if "c" in params else covs
    return weights, means, covs


@pytest.mark.parametrize(
    ("kind", "params"), [("full", "wmc"), ("diag", "wmc"), ("full", "m"), ("diag", "w")]
)
def test_steps_are_those_of_expectation_maximisation(
    tmp_path: pathlib.Path, kind: str, params: str
) -> None:
    model = tf.contrib.factorization.GMM(
        3, str(tmp_path), params=params, initial_clusters=FIRST, covariance_type=kind
    )
    model.fit(input_fn=input_fn, steps=2)
    model.fit(input_fn=input_fn, steps=3)
    weights, means, covs = fitted(5, kind, params)
    np.testing.assert_allclose(model.weights(), weights, 1e-3, 1e-3)
    np.testing.assert_allclose(model.clusters(), means, 1e-3, 2e-3)
    expected = covs if kind == "full" else np.stack([np.diag(each) for each in covs])
    np.testing.assert_allclose(model.covariances(), expected, 5e-3, 5e-3)
    logs = log_densities(weights, means, covs)
    assigned = [int(each) for each in model.predict_assignments(input_fn=input_fn)]
    assert assigned == logs.argmax(1).tolist()
    total = np.logaddexp.reduce(logs.ravel())
    assert model.score(input_fn=input_fn, steps=1) == pytest.approx(total, abs=1e-2)
    found = model.evaluate(input_fn=input_fn, steps=2)
    assert found["loss"] == pytest.approx(total, abs=1e-2)
    assert model.get_variable_value("global_step") == 5


def test_random_centers_are_points_and_steps_make_points_more_likely(
    tmp_path: pathlib.Path,
) -> None:
    def dictionary() -> Any:
        return {"y": tf.constant(POINTS[:, 1:]), "x": tf.constant(POINTS[:, :1])}, None

    model = tf.contrib.factorization.GMM(2, str(tmp_path), random_seed=3)
    model.fit(input_fn=dictionary, steps=1)
    before = model.evaluate(input_fn=dictionary, steps=1)["scores"].sum()
    model.fit(input_fn=dictionary, steps=10)
    assert model.evaluate(input_fn=dictionary, steps=1)["scores"].sum() > before


def test_points_may_be_in_parts(graph: Any) -> None:
    loss, scores, assignments, train, init, is_initialized = tf.contrib.factorization.gmm(
        [tf.constant(POINTS[:40]), tf.constant(POINTS[40:])], "random", 3, 1, "diag"
    )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert not session.run(is_initialized)
        session.run(init)
        assert session.run(is_initialized)
        first = session.run(tf.global_variables())
        session.run(init)
        for left, right in zip(first, session.run(tf.global_variables()), strict=True):
            np.testing.assert_array_equal(left, right)
        session.run(train)
        found = session.run([loss, scores, *assignments[0]])
    assert found[1].shape == (90, 1)
    assert [len(part) for part in found[2:]] == [40, 50]


def test_wrong_arguments_are_refused(graph: Any) -> None:
    algorithm = tf.contrib.factorization.GmmAlgorithm
    with pytest.raises(ValueError, match="Invalid covariance type: none"):
        algorithm([POINTS], 2, covariance_type="none")
    with pytest.raises(ValueError, match="letters w, m and c"):
        algorithm([POINTS], 2, params="x")
    with pytest.raises(tf.errors.InvalidArgumentError, match="x <= y did not hold"):
        algorithm([POINTS[:3]], 4)
