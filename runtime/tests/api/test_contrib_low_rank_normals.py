"""`MultivariateNormalDiagPlusLowRank` has the values of SciPy, and monitors know their epochs."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

import capstan as tf

DISTRIBUTIONS = tf.contrib.distributions
LOC = np.array([[0.5, -1.0, 2.0], [0.0, 3.0, -0.5]])
DIAGONAL, FACTOR = np.array([1.0, 0.7, 2.0]), np.array([[0.5, 0.1], [-0.3, 0.8], [0.2, 0.4]])
X = np.array([[0.3, -0.2, 1.0], [1.0, 2.0, 3.0]])


def run(fetches: Any) -> Any:
    with tf.Session() as session:
        return session.run(fetches)


@pytest.mark.parametrize("inner", [None, np.array([0.5, -0.2])])
@pytest.mark.parametrize("multiplier", [None, 0.5])
@pytest.mark.parametrize("has_factor", [True, False])
def test_values_are_those_of_the_covariance(
    graph: Any, inner: Any, multiplier: float | None, has_factor: bool
) -> None:
    scale = np.diag(DIAGONAL + (multiplier or 0.0))
    given: dict[str, Any] = {}
    if multiplier is not None:
        given["scale_identity_multiplier"] = np.float64(multiplier)
    if has_factor:
        given.update(scale_perturb_factor=FACTOR, scale_perturb_diag=inner)
        scale = scale + FACTOR @ np.diag(np.ones(2) if inner is None else inner) @ FACTOR.T
    made = DISTRIBUTIONS.MultivariateNormalDiagPlusLowRank(
        LOC, DIAGONAL, validate_args=True, **given
    )
    covariance = scale @ scale.T
    known = [stats.multivariate_normal(mean, covariance) for mean in LOC]
    other = DISTRIBUTIONS.MultivariateNormalDiag(LOC + 1.0, DIAGONAL)
    names = ("mean", "mode", "variance", "stddev", "covariance", "entropy")
    found = run(
        {
            **{name: getattr(made, name)() for name in names},
            "log_prob": made.log_prob(X),
            "scale": made.scale.to_dense(),
            "divergences": [made.kl_divergence(other), other.kl_divergence(made)],
            "drawn": made.sample(20_000, seed=5),
        }
    )
    assert (made.batch_shape.as_list(), made.event_shape.as_list()) == ([2], [3])
    densities = [each.logpdf(x) for each, x in zip(known, X, strict=True)]
    np.testing.assert_allclose(found["log_prob"], densities)
    np.testing.assert_allclose(found["entropy"], [each.entropy() for each in known])
    np.testing.assert_allclose(found["mean"], LOC)
    np.testing.assert_allclose(found["mode"], LOC)
    np.testing.assert_allclose(found["scale"], scale, atol=1e-12)
    np.testing.assert_allclose(found["covariance"], covariance, atol=1e-12)
    np.testing.assert_allclose(found["variance"], np.diag(covariance))
    np.testing.assert_allclose(found["stddev"], np.sqrt(np.diag(covariance)))
    plain = np.diag(DIAGONAL**2)
    for number, (first, second) in enumerate(((covariance, plain), (plain, covariance))):
        inverse = np.linalg.inv(second)
        expected = 0.5 * (
            np.trace(inverse @ first) - 3 + inverse.sum()
            + np.log(np.linalg.det(second) / np.linalg.det(first))
        )  # fmt: skip
        np.testing.assert_allclose(found["divergences"][number], [expected] * 2)
    np.testing.assert_allclose(found["drawn"].mean(0), LOC, atol=0.1)
    np.testing.assert_allclose(np.cov(found["drawn"][:, 0].T), covariance, atol=0.3)


def test_parts_of_a_scale_that_do_not_fit_are_refused(graph: Any) -> None:
    make = DISTRIBUTIONS.MultivariateNormalDiagPlusLowRank
    with pytest.raises(ValueError, match="must be a vector"):
        make(scale_identity_multiplier=2.0)
    with pytest.raises(ValueError, match="need an axis"):
        make(loc=1.0)
    with pytest.raises(ValueError, match="needs a scale_perturb_factor"):
        make(loc=[1.0], scale_perturb_diag=[1.0])
    diagonal = tf.placeholder_with_default([1.0, -1.0], (2,))
    refused = make(None, diagonal, None, [[1.0], [1.0]], validate_args=True)
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be positive"):
        run(refused.log_prob([0.0, 0.0]))


def test_a_monitor_knows_its_epoch() -> None:
    monitor = tf.contrib.learn.monitors.BaseMonitor()
    monitor.epoch_begin(0)
    with pytest.raises(ValueError, match="called twice"):
        monitor.epoch_begin(1)
    with pytest.raises(ValueError, match="expected 0 but got 1"):
        monitor.epoch_end(1)
    monitor.epoch_end(0)
    with pytest.raises(ValueError, match="Invalid epoch -1"):
        monitor.epoch_begin(-1)
