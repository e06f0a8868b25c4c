"""The bijectors of `tf.contrib.distributions` that are layers of flows."""

from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import capstan as tf

DISTRIBUTIONS = tf.contrib.distributions
BIJECTORS = DISTRIBUTIONS.bijectors
SIZE = 4
VECTORS = np.random.default_rng(2).normal(size=(3, SIZE))


def real_nvp(**options: Any) -> Any:
    return BIJECTORS.RealNVP(1, BIJECTORS.real_nvp_default_template([8, 8], **options))


def autoregressive(unroll_loop: bool = False, **options: Any) -> Any:
    function = BIJECTORS.masked_autoregressive_default_template([9, 8], **options)
    return BIJECTORS.MaskedAutoregressiveFlow(function, unroll_loop=unroll_loop)


def chain() -> Any:
    order = BIJECTORS.Permute([3, 0, 2, 1])
    return BIJECTORS.Chain([autoregressive(), order, real_nvp(), order, autoregressive()])


MADE: dict[str, Any] = {
    "RealNVP": real_nvp,
    "NICE": lambda: real_nvp(shift_only=True),
    "MaskedAutoregressiveFlow": autoregressive,
    "unrolled": lambda: autoregressive(unroll_loop=True),
    "shifts": lambda: autoregressive(shift_only=True),
    "tanh": lambda: autoregressive(activation=tf.tanh, log_scale_clip_gradient=True),
    "Invert": lambda: BIJECTORS.Invert(autoregressive()),
    "Permute": lambda: BIJECTORS.Permute([3, 0, 2, 1]),
    "SoftmaxCentered": BIJECTORS.SoftmaxCentered,
    "BatchNormalization": lambda: BIJECTORS.BatchNormalization(
        tf.layers.BatchNormalization(
            dtype=tf.float64, gamma_initializer=tf.constant_initializer(3)
        ),
        training=False,
    ),
    "Chain": chain,
}


@pytest.mark.parametrize("name", sorted(MADE))
def test_inverses_and_jacobians_agree_with_derivatives(name: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        made = MADE[name]()
        x = tf.constant(VECTORS)
        y = made.forward(x)
        # The inverse of a tensor that the bijector does not know.
        fresh = tf.identity(y)
        columns = tf.stack([tf.gradients(y[:, index], x)[0] for index in range(SIZE)], 1)
        zero = tf.zeros([3], tf.float64)
        fetches = {
            "y": y,
            "inverse": made.inverse(fresh),
            "jacobian": columns,
            "forward": made.forward_log_det_jacobian(x, event_ndims=1) + zero,
            "inverse change": made.inverse_log_det_jacobian(fresh, event_ndims=1) + zero,
        }
        count = len(tf.trainable_variables())
        session.run(tf.global_variables_initializer())
        found = session.run(fetches)
        made.forward(tf.identity(x))
        made.inverse(tf.identity(fresh))
        assert len(tf.trainable_variables()) == count
        assert made.forward_event_shape([SIZE]).as_list() == [found["y"].shape[1]]
        assert made.inverse_event_shape([found["y"].shape[1]]).as_list() == [SIZE]
    np.testing.assert_allclose(found["inverse"], VECTORS, rtol=1e-7, atol=1e-9)
    expected = np.linalg.slogdet(found["jacobian"])[1]
    np.testing.assert_allclose(found["forward"], expected, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(found["inverse change"], -expected, rtol=1e-7, atol=1e-8)
    if name in ("MaskedAutoregressiveFlow", "unrolled", "shifts", "tanh"):
        np.testing.assert_array_equal(np.triu(found["jacobian"], 1), 0)
    if name == "tanh":
        assert np.all(found["jacobian"][:, *np.tril_indices(SIZE)] != 0)


def test_a_flow_learns_a_distribution_and_stays_autoregressive() -> None:
    random = np.random.default_rng(0)
    first = random.normal(2.0, 0.5, (512, 1))
    data = np.concatenate([first, -first + random.normal(0, 0.2, (512, 1))], 1).astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        flow = DISTRIBUTIONS.TransformedDistribution(
            DISTRIBUTIONS.Normal(0.0, 1.0),
            BIJECTORS.MaskedAutoregressiveFlow(
                BIJECTORS.masked_autoregressive_default_template([16, 16])
            ),
            event_shape=[2],
        )
        loss = -tf.reduce_mean(flow.log_prob(data))
        train = tf.train.AdamOptimizer(0.02).minimize(loss)
        drawn = flow.sample(2000, seed=3)
        session.run(tf.global_variables_initializer())
        before = session.run(loss)
        for _ in range(150):
            session.run(train)
        after, samples = session.run([loss, drawn])
        kernels = [each for each in tf.trainable_variables() if "kernel" in each.name]
        for kernel, made in zip(kernels, session.run(kernels), strict=True):
            assert (made == 0).sum() >= made.size // 4, kernel.name
    assert after < min(before - 1, 1.2)
    np.testing.assert_allclose(samples.mean(0), data.mean(0), atol=0.15)
    np.testing.assert_allclose(np.corrcoef(samples.T)[0, 1], -0.93, atol=0.06)


def test_batch_normalization_uses_the_batch_in_training_and_updates_its_averages() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        layer = tf.layers.BatchNormalization(momentum=0.0, epsilon=1e-9)
        made = BIJECTORS.BatchNormalization(layer)
        y = tf.constant(VECTORS)
        x, change = made.inverse(y), made.inverse_log_det_jacobian(y, event_ndims=1)
        updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
        session.run(tf.global_variables_initializer())
        normal, moved = session.run([x, change])
        session.run(updates)
        back = session.run(made.forward(tf.constant(normal)))
    deviation = VECTORS.std(0)
    np.testing.assert_allclose(normal, (VECTORS - VECTORS.mean(0)) / deviation, rtol=1e-6)
    np.testing.assert_allclose(moved, -np.log(deviation).sum(), rtol=1e-6)
    np.testing.assert_allclose(back, VECTORS, rtol=1e-6)


def test_probabilities_of_a_normal_vector() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        normal = DISTRIBUTIONS.MultivariateNormalDiag(scale_diag=np.ones(2))
        made = DISTRIBUTIONS.TransformedDistribution(normal, BIJECTORS.SoftmaxCentered())
        assert made.event_shape.as_list() == [3]
        probs = np.array([[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])
        found, drawn, sizes = session.run(
            [made.log_prob(probs), made.sample(7), made.event_shape_tensor()]
        )
    x = np.log(probs[:, :2] / probs[:, 2:])
    np.testing.assert_allclose(found, stats.norm.logpdf(x).sum(1) - np.log(probs).sum(1))
    np.testing.assert_allclose(drawn.sum(1), 1)
    np.testing.assert_array_equal(sizes, [3])
    np.testing.assert_allclose(special.softmax([*x[0], 0]), probs[0])


def test_chains_and_inverses_change_the_sizes_of_events() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        softmax = BIJECTORS.SoftmaxCentered()
        chain = BIJECTORS.Chain([softmax, BIJECTORS.Exp(), softmax])
        inverse = BIJECTORS.Invert(chain)
        size = tf.placeholder_with_default([3], [1])
        found = session.run(
            [
                *(chain.forward_event_shape_tensor(size), chain.inverse_event_shape_tensor(size)),
                *(
                    inverse.forward_event_shape_tensor(size),
                    inverse.inverse_event_shape_tensor(size),
                ),
            ]
        )
        assert chain.forward_event_shape([3]).as_list() == [5]
        assert inverse.forward_event_shape([3]).as_list() == [1]
    np.testing.assert_array_equal(np.ravel(found), [5, 1, 1, 5])


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: BIJECTORS.Permute([0, 0]), ValueError, "exactly one of each"),
        (lambda: BIJECTORS.Permute([0.0, 1.0]), TypeError, "should be `int`-like"),
        (lambda: BIJECTORS.RealNVP(0, None), ValueError, "must be a positive integer"),
        (
            lambda: BIJECTORS.RealNVP(4, None).forward(VECTORS),
            ValueError,
            "must be smaller than the event size",
        ),
        (
            lambda: real_nvp().forward(tf.placeholder(tf.float32, [2, None])),
            NotImplementedError,
            "Rightmost dimension must be known",
        ),
        (
            lambda: autoregressive().forward(tf.placeholder(tf.float32, [2, None])),
            NotImplementedError,
            "Rightmost dimension must be known",
        ),
        (
            lambda: autoregressive(unroll_loop=True).forward(tf.placeholder(tf.float32, [2, None])),
            ValueError,
            "must be known at graph construction time",
        ),
        (
            lambda: BIJECTORS.BatchNormalization(tf.layers.BatchNormalization(renorm=True)),
            ValueError,
            "does not support renormalization",
        ),
        (
            lambda: BIJECTORS.BatchNormalization(tf.layers.Dense(3)),
            ValueError,
            "must be an instance",
        ),
        (
            lambda: BIJECTORS.SoftmaxCentered().inverse_event_shape([1]),
            ValueError,
            r"output_shape\[-1\] = 1 <= 1",
        ),
    ],
)
def test_arguments_that_do_not_fit_are_refused(build: Any, error: Any, message: str) -> None:
    with tf.Graph().as_default(), pytest.raises(error, match=message):
        build()


def test_a_step_checks_a_permutation_on_request() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        order = tf.placeholder(tf.int32, [None])
        made = BIJECTORS.Permute(order, validate_args=True)
        y = made.forward(np.arange(3.0))
        np.testing.assert_array_equal(session.run(y, {order: [2, 0, 1]}), [2, 0, 1])
        with pytest.raises(tf.errors.InvalidArgumentError, match="exactly one of each"):
            session.run(y, {order: [2, 0, 2]})


def test_masked_layers_keep_blocks_apart() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(VECTORS)
        y = BIJECTORS.masked_dense(x, 6, num_blocks=2, name="layer", use_bias=False)
        again = BIJECTORS.masked_dense(
            x, 6, 2, False, None, True, "layer", None, False, kernel_regularizer=tf.nn.l2_loss
        )
        strict = BIJECTORS.masked_dense(x, 6, num_blocks=2, exclusive=True)
        session.run(tf.global_variables_initializer())
        kernel, other = session.run(
            [each for each in tf.trainable_variables() if "kernel" in each.name]
        )
        np.testing.assert_array_equal(*session.run([y, again]))
        assert strict.shape.as_list() == [3, 6]
    inclusive = np.kron(np.triu(np.ones((2, 2))), np.ones((2, 3)))
    np.testing.assert_array_equal(kernel != 0, inclusive)
    np.testing.assert_array_equal(other != 0, np.kron(np.triu(np.ones((2, 2)), 1), np.ones((2, 3))))
