"""The bijectors of `tf.contrib.distributions`: inverses, Jacobians, and classes of programs."""

from typing import Any

import numpy as np
import pytest

import capstan as tf

DISTRIBUTIONS = tf.contrib.distributions
BIJECTORS = DISTRIBUTIONS.bijectors
VECTORS = np.array([[0.3, -1.0], [0.7, 1.5]])
TRIL = np.array([[2.0, 0.0], [-1.0, 0.5]])


class Tanh(BIJECTORS.Bijector):
    """A bijector of a program, for actions that are bounded."""

    def __init__(self, validate_args: bool = False, name: str = "tanh") -> None:
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    def _forward(self, x: Any) -> Any:
        return tf.tanh(x)

    def _inverse(self, y: Any) -> Any:
        return tf.atanh(y)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return 2 * (np.log(2) - x - tf.nn.softplus(-2 * x))


MADE: dict[str, Any] = {
    "Identity": BIJECTORS.Identity,
    "Exp": BIJECTORS.Exp,
    "Sigmoid": BIJECTORS.Sigmoid,
    "Softplus": BIJECTORS.Softplus,
    "soft Softplus": lambda: BIJECTORS.Softplus(np.float64(0.7)),
    "AffineScalar": lambda: BIJECTORS.AffineScalar(np.float64(1.5), np.float64(-2)),
    "Tanh": Tanh,
    "Affine": lambda: BIJECTORS.Affine(np.array([1.0, 2.0]), scale_diag=np.array([3.0, -0.5])),
    "shift": lambda: BIJECTORS.Affine(np.array([1.0, 2.0])),
    "factor": lambda: BIJECTORS.Affine(scale_identity_multiplier=np.float64(3)),
    "triangle": lambda: BIJECTORS.Affine(
        scale_tril=TRIL, scale_diag=np.ones(2), scale_identity_multiplier=np.float64(0.5)
    ),
    "Chain": lambda: BIJECTORS.Chain([BIJECTORS.Exp(), BIJECTORS.Affine(scale_tril=TRIL)]),
    "no Chain": BIJECTORS.Chain,
    "Invert": lambda: BIJECTORS.Invert(BIJECTORS.Chain([BIJECTORS.AffineScalar(np.float64(9))])),
    "Inline": lambda: BIJECTORS.Inline(
        forward_fn=tf.exp,
        inverse_fn=tf.log,
        inverse_log_det_jacobian_fn=lambda y: -tf.log(y),
        forward_min_event_ndims=0,
    ),
}


@pytest.mark.parametrize("name", sorted(MADE))
def test_inverses_and_jacobians_agree_with_derivatives(name: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        made = MADE[name]()
        x = tf.constant(VECTORS)
        y = made.forward(x)
        fresh = tf.identity(y)
        columns = tf.stack([tf.gradients(y[:, index], x)[0] for index in range(2)], 1)
        zero = tf.zeros([2], tf.float64)
        found = session.run(
            {
                "inverse": made.inverse(fresh),
                "jacobian": columns,
                "forward": made.forward_log_det_jacobian(x, event_ndims=1) + zero,
                "inverse change": made.inverse_log_det_jacobian(fresh, event_ndims=1) + zero,
            }
        )
        assert made.inverse(y) is x
        assert made.forward_event_shape([2]).as_list() == [2]
        assert made.inverse_event_shape([2]).as_list() == [2]
    np.testing.assert_allclose(found["inverse"], VECTORS, rtol=1e-9, atol=1e-12)
    expected = np.linalg.slogdet(found["jacobian"])[1]
    np.testing.assert_allclose(found["forward"], expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found["inverse change"], -expected, rtol=1e-9, atol=1e-9)


def test_the_density_of_a_bounded_sample_is_precise_at_the_bound() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        loc = tf.constant([30.0, -40.0, 0.1])
        normal = DISTRIBUTIONS.MultivariateNormalDiag(loc, [0.1, 0.1, 0.1])
        made = DISTRIBUTIONS.TransformedDistribution(normal, Tanh())
        action = made.sample(seed=2)
        density = made.log_prob(action)
        gradient = tf.gradients(density, loc)[0]
        bounded, density, gradient = session.run([action, density, gradient])
    assert bounded[:2].tolist() == [1, -1]
    assert np.isfinite(density)
    assert np.isfinite(gradient).all()


def test_the_type_of_a_jacobian_may_be_another() -> None:
    def zero(_: Any) -> Any:
        return tf.constant(0)

    with tf.Graph().as_default(), tf.Session() as session:
        made = DISTRIBUTIONS.TransformedDistribution(
            DISTRIBUTIONS.Normal(0.0, 1.0),
            BIJECTORS.Inline(
                *(tf.identity, tf.identity, zero, zero),
                is_constant_jacobian=True,
                forward_min_event_ndims=0,
            ),
        )
        density, entropy = session.run([made.log_prob(0.0), made.entropy()])
    np.testing.assert_allclose([density, entropy - 0.5], [-0.918938, 0.918938], rtol=1e-5)


def test_copies_of_a_number_are_a_batch_of_vectors() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        made = DISTRIBUTIONS.TransformedDistribution(
            DISTRIBUTIONS.Normal(np.float64(0), np.float64(1)),
            BIJECTORS.Affine(np.array([1.0, 2.0]), scale_tril=TRIL),
            batch_shape=[3],
            event_shape=[2],
            name="mvn",
        )
        assert (made.batch_shape.as_list(), made.event_shape.as_list()) == ([3], [2])
        drawn = made.sample(20_000, seed=3)
        assert drawn.shape.as_list() == [20_000, 3, 2]
        at = np.array([[1.0, 2.0], [0.0, 0.5], [2.0, 2.0]])
        drawn, density, entropy = session.run([drawn, made.log_prob(at), made.entropy()])
    from scipy import stats

    known = stats.multivariate_normal([1, 2], TRIL @ TRIL.T)
    np.testing.assert_allclose(density, known.logpdf(at))
    np.testing.assert_allclose(entropy, [known.entropy()] * 3)
    np.testing.assert_allclose(np.cov(drawn[:, 1].T), TRIL @ TRIL.T, atol=0.1)


def test_copies_of_a_batch_of_numbers_are_a_batch_of_vectors() -> None:
    loc = np.array([1.0, -3.0, 0.5])
    with tf.Graph().as_default(), tf.Session() as session:
        made = DISTRIBUTIONS.TransformedDistribution(
            DISTRIBUTIONS.Normal(loc, np.float64(0.1)), BIJECTORS.Exp(), event_shape=[2]
        )
        same = DISTRIBUTIONS.Independent(
            DISTRIBUTIONS.TransformedDistribution(
                DISTRIBUTIONS.Normal(np.stack([loc, loc], 1), np.float64(0.1)), BIJECTORS.Exp()
            ),
            1,
        )
        assert (made.batch_shape.as_list(), made.event_shape.as_list()) == ([3], [2])
        drawn = made.sample((500, 4), seed=3)
        found = session.run([drawn, made.log_prob(drawn), same.log_prob(drawn)])
    drawn, density, expected = found
    assert drawn.shape == (500, 4, 3, 2)
    np.testing.assert_allclose(np.log(drawn).mean((0, 1)), np.stack([loc, loc], 1), atol=0.02)
    np.testing.assert_allclose(density, expected, rtol=1e-6)


WRONG: list[Any] = [
    (lambda d: d.Poisson(), ValueError, "exactly one of `rate` and `log_rate`"),
    (lambda d: d.Poisson(2), TypeError, "not a float-type"),
    (lambda d: d.MultivariateNormalDiag(), ValueError, "must be a vector"),
    (lambda d: d.Independent(d.Normal(0.0, 1.0), 1), ValueError, "cannot exceed"),
    (lambda d: d.Mixture(d.Categorical([0.0, 1.0]), []), ValueError, "non-empty"),
    (lambda d: d.Mixture(1, [d.Normal(0.0, 1.0)]), TypeError, "must be a Categorical"),
    (
        lambda d: d.Mixture(d.Categorical([0.0, 1.0]), [d.Normal(0.0, 1.0)]),
        ValueError,
        "2 vs. 1",
    ),
    (
        lambda d: d.Mixture(
            d.Categorical(tf.placeholder(tf.float32, [None])), [d.Normal(0.0, 1.0)]
        ),
        ValueError,
        "Could not infer number of classes",
    ),
    (
        lambda d: d.TransformedDistribution(
            d.Normal(0.0, 1.0), event_shape=tf.placeholder(tf.int32)
        ),
        ValueError,
        "event_shape must be known while the graph is built",
    ),
    (
        lambda d: d.MixtureSameFamily(d.Categorical([0.0, 1.0]), d.Normal([0.0] * 3, 1.0)),
        ValueError,
        "does not equal",
    ),
    (
        lambda d: d.TransformedDistribution(d.Normal([0.0], 1.0), batch_shape=[2]),
        ValueError,
        "base distribution not scalar",
    ),
    (
        lambda d: d.TransformedDistribution(d.Normal(0.0, 1.0), BIJECTORS.Exp()).entropy(),
        NotImplementedError,
        "entropy is not implemented",
    ),
    (
        lambda d: d.TransformedDistribution(d.Normal(0.0, 1.0), event_shape=[2]).cdf([0.0, 1.0]),
        NotImplementedError,
        "cdf is not implemented when overriding event_shape",
    ),
    (lambda d: d.bijectors.Bijector(), ValueError, "Must specify at least one"),
    (lambda d: d.bijectors.Affine([0.0]).forward(tf.constant(VECTORS)), TypeError, "expected"),
    (lambda d: d.bijectors.Affine([0.0], scale_diag=VECTORS[0]), TypeError, "one dtype"),
    (
        lambda d: d.bijectors.Affine(scale_perturb_diag=[1.0]),
        ValueError,
        "scale_perturb_factor must be specified",
    ),
    (
        lambda d: d.bijectors.Affine([0.0]).forward_log_det_jacobian([1.0], 0),
        ValueError,
        "larger than min_event_ndims",
    ),
    (
        lambda d: d.bijectors.Inline(forward_min_event_ndims=0).forward(1.0),
        NotImplementedError,
        "forward is not implemented: Inline",
    ),
    (lambda d: d.VectorDiffeomixture, AttributeError, "lacks this part"),
    (lambda _: tf.distributions.Cauchy, AttributeError, "has no such name"),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_wrong_arguments_and_missing_names_are_refused(number: int) -> None:
    case, kind, message = WRONG[number]
    with tf.Graph().as_default(), pytest.raises(kind, match=message):
        case(DISTRIBUTIONS)


def rows(sizes: tuple[int, int] = (2, 2)) -> Any:
    """Return a bijector that makes matrices of vectors, and triples their numbers."""
    count = sizes[0] * sizes[1]
    return BIJECTORS.Inline(
        forward_fn=lambda x: 3.0 * tf.reshape(x, tf.concat([tf.shape(x)[:-1], sizes], 0)),
        inverse_fn=lambda y: tf.reshape(y, tf.concat([tf.shape(y)[:-2], [count]], 0)) / 3.0,
        forward_log_det_jacobian_fn=lambda x: tf.constant(count * np.log(3.0)),
        forward_event_shape_fn=lambda shape: [*sizes],
        inverse_event_shape_fn=lambda shape: [count],
        forward_min_event_ndims=1,
        inverse_min_event_ndims=2,
        name="rows",
    )


def of_axes(taken: int, made: int) -> Any:
    return BIJECTORS.Inline(forward_min_event_ndims=taken, inverse_min_event_ndims=made)


@pytest.mark.parametrize(
    ("chain", "expected"),
    [
        ([], (0, 0)),
        ([(0, 0), (1, 1)], (1, 1)),
        ([(1, 2)], (1, 2)),
        ([(2, 1)], (2, 1)),
        ([(1, 1), (1, 2)], (1, 2)),
        ([(1, 2), (1, 1)], (1, 2)),
        ([(1, 2), (2, 2)], (2, 3)),
        ([(2, 2), (1, 2)], (1, 2)),
        ([(2, 1), (1, 2)], (1, 1)),
        ([(1, 2), (2, 1)], (2, 2)),
        ([(3, 3), (1, 2)], (2, 3)),
    ],
)
def test_a_chain_needs_the_axes_that_its_bijectors_need(
    chain: list[tuple[int, int]], expected: tuple[int, int]
) -> None:
    made = BIJECTORS.Chain([of_axes(*axes) for axes in chain])
    assert (made.forward_min_event_ndims, made.inverse_min_event_ndims) == expected


def test_a_chain_may_change_the_number_of_axes() -> None:
    given = np.linspace(-0.3, 0.2, 12).reshape(3, 4)
    image = np.exp(6 * given).reshape(3, 2, 2)
    logarithms = 6 * given.sum(1) + 4 * np.log(6)
    with tf.Graph().as_default(), tf.Session() as session:
        chain = BIJECTORS.Chain(
            [BIJECTORS.Exp(), rows(), BIJECTORS.AffineScalar(scale=np.float64(2))]
        )
        x, y = tf.constant(given), tf.constant(image)
        assert np.allclose(session.run(chain.forward(x)), image)
        assert np.allclose(session.run(chain.inverse(y)), given)
        assert np.allclose(session.run(chain.forward_log_det_jacobian(x, 1)), logarithms)
        assert np.allclose(session.run(chain.inverse_log_det_jacobian(y, 2)), -logarithms)
        total = session.run(chain.forward_log_det_jacobian(x, 2))
        assert np.allclose(total, logarithms.sum())
    assert chain.forward_event_shape([4]) == [2, 2]
    assert chain.inverse_event_shape([2, 2]) == [4]
