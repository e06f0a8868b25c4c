"""The layers of `tf.layers` compute what the same operations of TensorFlow compute.

TensorFlow 2 has no `tf.layers`, so its programs call the operations on variables of the same names.
"""

from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS


def values(*shape: int) -> Any:
    """Return the same random numbers in each run, without ties for pools."""
    random = np.random.RandomState(sum(shape))
    return random.uniform(-0.5, 0.5, shape).astype(np.float32)


IMAGES, DIGITS = values(6, 8, 8, 1), np.array([3, 1, 4, 1, 5, 9])
WEIGHTS = {
    "conv2d/kernel": values(3, 3, 1, 4),
    "conv2d/bias": values(4),
    "conv2d_1/kernel": values(3, 3, 4, 5) / 2,
    "conv2d_1/bias": values(5),
    "batch_normalization/gamma": values(5) + 1,
    "batch_normalization/beta": values(5),
    "batch_normalization/moving_mean": values(5) / 9,
    "batch_normalization/moving_variance": values(5) + 1,
    "dense/kernel": values(80, 12),
    "dense/bias": values(12),
    "logits/kernel": values(12, 10),
    "logits/bias": values(10),
}


def layered(tf: Any, images: Any, training: Any) -> Any:
    hidden = tf.layers.conv2d(images, 4, 3, padding="same", activation=tf.nn.relu)
    hidden = tf.layers.max_pooling2d(hidden, 2, 2)
    hidden = tf.layers.conv2d(hidden, 5, (3, 3), padding="SAME")
    hidden = tf.layers.batch_normalization(hidden, training=training, momentum=0.9)
    hidden = tf.layers.flatten(tf.nn.relu(hidden))
    hidden = tf.layers.dense(hidden, 12, tf.nn.tanh)
    return tf.layers.dense(hidden, 10, name="logits")


def composed(v1: Any, images: Any, training: bool) -> Any:
    v = {
        name: v1.Variable(value, name=name, trainable="moving" not in name)
        for name, value in WEIGHTS.items()
    }

    def convolved(x: Any, name: str) -> Any:
        return v1.nn.conv2d(x, v[f"{name}/kernel"], [1, 1, 1, 1], "SAME") + v[f"{name}/bias"]

    hidden = v1.nn.max_pool(v1.nn.relu(convolved(images, "conv2d")), 2, 2, "VALID")
    hidden, start = convolved(hidden, "conv2d_1"), "batch_normalization"
    moving = [] if training else [v[f"{start}/moving_mean"], v[f"{start}/moving_variance"]]
    hidden, mean, variance = v1.nn.fused_batch_norm(
        hidden, v[f"{start}/gamma"], v[f"{start}/beta"], *moving, is_training=training
    )
    for name, value in (("moving_mean", mean), ("moving_variance", variance)) if training else ():
        update = v1.assign_sub(v[f"{start}/{name}"], (v[f"{start}/{name}"] - value) * 0.1)
        v1.add_to_collection("update_ops", update)
    hidden = v1.reshape(v1.nn.relu(hidden), [6, -1])
    hidden = v1.tanh(v1.matmul(hidden, v["dense/kernel"]) + v["dense/bias"])
    return v1.matmul(hidden, v["logits/kernel"]) + v["logits/bias"]


def trained(tf: Any, model: Any, training: Any, feeds: Any = None) -> tuple[list[Any], Any]:
    """Return the losses of three steps, and the values of the variables after them."""
    with tf.Graph().as_default(), tf.Session() as session:
        logits = model(tf, tf.placeholder(tf.float32, [None, 8, 8, 1], "x"), training())
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=DIGITS, logits=logits)
        loss = tf.reduce_mean(losses)
        with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
            train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        session.run(tf.global_variables_initializer())
        for variable in tf.global_variables():
            variable.load(WEIGHTS[variable.op.name], session)
        feed = {"x:0": IMAGES, **(feeds or {})}
        found = [session.run([loss, train], feed)[0] for _ in range(3)]
        return found, {v.op.name: v.eval() for v in tf.global_variables()}


@pytest.mark.parametrize("is_training", [True, False])
@pytest.mark.parametrize("form", ["known", "fed"])
def test_a_network_of_layers_trains_as_in_tensorflow(v1: Any, is_training: bool, form: str) -> None:
    expected = trained(v1, composed, lambda: is_training)
    if form == "known":
        found = trained(capstan, layered, lambda: is_training)
    else:
        found = trained(
            capstan,
            layered,
            lambda: capstan.placeholder(capstan.bool, [], "training"),
            {"training:0": is_training},
        )
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-4)
    assert found[1].keys() == expected[1].keys() == WEIGHTS.keys()
    for name, value in expected[1].items():
        np.testing.assert_allclose(found[1][name], value, rtol=1e-3, atol=1e-5, err_msg=name)


def test_layers_and_their_tensors_have_tensorflows_names() -> None:
    tf = capstan
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2, 4])
        layer = tf.layers.Dense(3, kernel_regularizer=tf.nn.l2_loss, activation=tf.nn.relu)
        first, second = layer(x), layer(x)
        assert (first.name, second.name) == ("dense/Relu:0", "dense/Relu_1:0")
        with tf.variable_scope("tower"):
            named = tf.layers.dense(x, 3, name="fc")
            again = tf.layers.dense(x, 3, name="fc", reuse=True)
        assert named.name == "tower/fc/BiasAdd:0"
        assert again.name == "tower/fc_1/BiasAdd:0"
        message = "Variable tower/fc/kernel already exists"
        with pytest.raises(ValueError, match=message), tf.variable_scope("tower"):
            tf.layers.dense(x, 3, name="fc")
        assert [v.name for v in layer.trainable_weights] == ["dense/kernel:0", "dense/bias:0"]
        losses = graph.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
        assert [loss.name for loss in losses] == ["dense/kernel/Regularizer/L2Loss:0"]
        assert layer.losses == losses


@pytest.mark.parametrize("is_training", [True, False])
def test_fused_batch_norm_and_its_gradients_are_tensorflows(v1: Any, is_training: bool) -> None:
    images, vector = values(3, 4, 5, 6), values(6)

    def run(tf: Any) -> Any:
        with tf.Graph().as_default(), tf.Session() as session:
            x, scale, offset = (tf.placeholder(tf.float32, v.shape) for v in
                                (images, vector, vector))  # fmt: skip
            moments = () if is_training else (vector, vector + 1)
            outputs = tf.nn.fused_batch_norm(
                x, scale, offset, *moments, epsilon=0.01, is_training=is_training
            )
            grads = tf.gradients(tf.reduce_sum(outputs[0] * images**2), [x, scale, offset])
            feeds = {x: images, scale: vector + 1, offset: vector}
            used = outputs if is_training else outputs[:1]
            return session.run([*used, *grads], feeds)

    for value, wanted in zip(run(capstan), run(v1), strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-3, atol=1e-4, strict=True)


def test_response_normalization_and_its_gradient_are_tensorflows(v1: Any) -> None:
    def run(tf: Any) -> Any:
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.constant(values(2, 3, 3, 8))
            y = tf.nn.lrn(x, 2, bias=1.5, alpha=0.3, beta=0.7)
            return session.run([y, tf.gradients(y * y, x)[0]])

    for value, wanted in zip(run(capstan), run(v1), strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-4, atol=1e-6, strict=True)


PRODUCTS = [
    lambda v1, x, y: v1.tensordot(x, y, 1),
    lambda v1, x, y: v1.tensordot(x, y, [[2, 1], [0, 1]]),
    lambda v1, x, y: v1.tensordot(x, y, [[0], [2]]),
    lambda v1, x, y: v1.einsum("abc,cbd->ad", x, y),
    lambda v1, x, y: v1.einsum("abc,cbd->bad", x, y),
    lambda v1, x, y: v1.einsum("abc,cbd", x, y),
    lambda v1, x, y: v1.einsum("abc->ca", x) + v1.reduce_sum(y),
    lambda v1, x, y: v1.norm(x) * v1.norm(y, 1),
    lambda v1, x, y: v1.norm(x, np.inf, 1) + v1.norm(y, 3, [0, 1, 2][0])[0, 0],
    lambda v1, x, y: v1.norm(x, 1, [0, 1], keepdims=True) * v1.norm(y, "fro", axis=[0, 2])[0],
]


@pytest.mark.parametrize("known", [True, False])
def test_products_of_tensors_and_their_gradients_are_tensorflows(v1: Any, known: bool) -> None:
    operands = values(2, 3, 4), values(4, 3, 2)

    def run(tf: Any) -> Any:
        with tf.Graph().as_default(), tf.Session() as session:
            x, y = (tf.placeholder(tf.float32, v.shape if known else [None] * 3) for v in operands)
            results = [build(tf, x, y) for build in PRODUCTS]
            grads = [tf.gradients(result * result, [x, y]) for result in results]
            return session.run([results, grads], {x: operands[0], y: operands[1]})

    (found, slopes), (expected, expected_slopes) = run(capstan), run(v1)
    for number, (value, wanted) in enumerate(zip(found, expected, strict=True)):
        np.testing.assert_allclose(value, wanted, rtol=1e-4, atol=1e-5, err_msg=str(number))
    for number, pair in enumerate(zip(slopes, expected_slopes, strict=True)):
        for value, wanted in zip(*pair, strict=True):
            np.testing.assert_allclose(value, wanted, rtol=1e-3, atol=1e-4, err_msg=str(number))


@pytest.mark.parametrize("axes", [1, 0, [[-1], [0]], [[2, 1], [0, 1]], np.array([[0], [2]])])
def test_the_summed_axes_of_tensors_of_unknown_rank_are_tensorflows(v1: Any, axes: Any) -> None:
    operands = values(2, 3, 4), values(4, 3, 2)

    def run(tf: Any) -> Any:
        with tf.Graph().as_default(), tf.Session() as session:
            x, y = (tf.placeholder(tf.float32) for _ in operands)
            feeds = dict(zip((x, y), operands, strict=True))
            results = [tf.tensordot(x, y, axes), tf.tensordot(operands[0], y, axes)]
            if not isinstance(axes, int):
                places = tf.placeholder(tf.int32)
                results.append(tf.tensordot(*operands, places))
                feeds[places] = axes
            return session.run([*results, *tf.gradients(results[0] ** 2, [x, y])], feeds)

    for value, wanted in zip(run(capstan), run(v1), strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-3, atol=1e-4)


def test_batch_normalization_of_float16_takes_moments_of_float32(v1: Any) -> None:
    images, vector = values(3, 4).astype(np.float16), values(4) + 1

    def run(tf: Any) -> Any:
        with tf.Graph().as_default(), tf.Session() as session:
            both = [
                tf.nn.batch_normalization(images, vector, vector, shift, vector, 0.01)
                for shift in (None, vector)
            ]
            return session.run(both)

    for value, wanted in zip(run(capstan), run(v1), strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-3, strict=True)


def test_the_moments_of_no_images_are_no_numbers(v1: Any) -> None:
    images, vector = np.zeros((0, 3, 3, 2), np.float32), np.ones(2, np.float32)

    def run(tf: Any) -> Any:
        with tf.Graph().as_default(), tf.Session() as session:
            return session.run(tf.nn.fused_batch_norm(images, vector, vector))

    for value, wanted in zip(run(capstan), run(v1), strict=True):
        np.testing.assert_array_equal(value, wanted, strict=True)
