"""Training steps that a device repeats as a whole: no kernel runs on the host any more."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import strict

import capstan as tf
from capstan.executor import repeats
from capstan.kernels import registry

STEPS = repeats.CALLS_BEFORE + 10
BETWEEN = {"_CopyToDevice", "_CopyToHost"}
"""The nodes that run before and after the recorded ones."""

Model = Callable[[Any, Any, Any], Any]
"""Takes images, labels and a function that makes variables. Returns the loss."""


def image_classifier(images: Any, labels: Any, weights: Any) -> Any:
    x = tf.nn.conv2d(images, weights(3, 3, 2, 4), [1, 1, 1, 1], "SAME")
    x = tf.nn.relu(tf.nn.bias_add(x, weights(4)))
    x = tf.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    x = tf.nn.relu(tf.nn.conv2d(x, weights(1, 1, 4, 9), [1, 1, 1, 1], "VALID"))
    x = tf.nn.depthwise_conv2d(x, weights(2, 2, 9, 1), [1, 1, 1, 1], "SAME")
    x = tf.nn.conv2d(x, weights(3, 3, 9, 4), [1, 2, 2, 1], "SAME")
    x = tf.nn.avg_pool(x, [1, 3, 3, 1], [1, 2, 2, 1], "SAME")
    logits = tf.matmul(tf.reshape(x, [-1, 4]), weights(4, 3)) + weights(3)
    return tf.losses.sparse_softmax_cross_entropy(labels, logits)


def upsampling(images: Any, labels: Any, weights: Any) -> Any:
    x = tf.nn.conv2d(images, weights(3, 3, 2, 4), [1, 2, 2, 1], "SAME")
    x = tf.image.resize_bilinear(x, [9, 7], align_corners=True)
    x = tf.image.resize_nearest_neighbor(x, [5, 11])
    return tf.reduce_mean(tf.square(x - 1.0))


def volume_classifier(images: Any, labels: Any, weights: Any) -> Any:
    volumes = tf.reshape(images, [-1, 4, 2, 2, 4])
    x = tf.nn.relu(tf.nn.conv3d(volumes, weights(3, 2, 1, 4, 6), [1, 2, 1, 1, 1], "SAME"))
    x = tf.nn.max_pool3d(x, [1, 2, 2, 2, 1], [1, 2, 2, 2, 1], "SAME")
    x = tf.nn.conv3d(x, weights(1, 1, 1, 6, 3), [1, 1, 1, 1, 1], "VALID")
    logits = tf.reduce_mean(x, [1, 2, 3])
    return tf.losses.softmax_cross_entropy(tf.one_hot(labels, 3), logits)


def built(model: Model, optimizer: Any, place: str, feeds: Any) -> Any:
    """Return the loss and the update of a model on a device."""
    draw = np.random.default_rng(0)

    def weights(*shape: int) -> Any:
        return tf.Variable(draw.normal(scale=0.5, size=shape).astype(np.float32))

    with tf.device(place):
        loss = model(*feeds, weights)
        return loss, optimizer.minimize(loss)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """Count the calls of kernels of GPUs by their ops."""
    counts: Counter[str] = Counter()
    bind = registry.Kernel.bind

    def bound(kernel: registry.Kernel, node: registry.NodeContext) -> Callable[..., Any]:
        function = bind(kernel, node)
        if kernel.device != "GPU":
            return function

        def run(*inputs: Any, **named: Any) -> Any:
            counts[kernel.op] += 1
            return function(*inputs, **named)

        return run

    tf.reset_default_graph()
    monkeypatch.setattr(registry.Kernel, "bind", bound)
    with strict.installed():
        yield counts


@pytest.mark.e2e
@pytest.mark.parametrize("model", [image_classifier, upsampling, volume_classifier])
@pytest.mark.parametrize(
    "optimizer",
    [
        lambda: tf.train.GradientDescentOptimizer(0.1),
        lambda: tf.train.MomentumOptimizer(0.1, 0.9),
        lambda: tf.train.AdamOptimizer(0.01),
    ],
    ids=["descent", "momentum", "adam"],
)
def test_a_training_step_with_convolutions_is_repeated_whole(
    calls: Counter[str], model: Model, optimizer: Callable[[], Any]
) -> None:
    images = tf.placeholder(tf.float32, [4, 8, 4, 2])
    labels = tf.placeholder(tf.int64, [4])
    values = [built(model, optimizer(), place, (images, labels)) for place in ("/gpu:0", "/cpu:0")]
    random = np.random.default_rng(1)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for number in range(STEPS):
            batch = {images: random.normal(size=(4, 8, 4, 2)), labels: random.integers(0, 3, 4)}
            calls.clear()
            (found, _), (expected, _) = session.run(values, batch)
            np.testing.assert_allclose(found, expected, rtol=2e-4)
            assert (number <= repeats.CALLS_BEFORE) == bool(calls.keys() - BETWEEN), calls


@pytest.mark.e2e
def test_a_step_that_is_fed_several_arrays_is_one_recording(
    calls: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    record = strict.Strict.record

    def counted(home: strict.Strict, work: Any) -> Any:
        calls["recorded"] += 1
        return record(home, work)

    monkeypatch.setattr(strict.Strict, "record", counted)
    images, labels = tf.placeholder(tf.float32, [4, 8, 4, 2]), tf.placeholder(tf.int64, [4])
    rate = tf.placeholder(tf.float32, [])
    optimizer = tf.train.GradientDescentOptimizer(rate)
    step = built(image_classifier, optimizer, "/gpu:0", (images, labels))
    batch = {images: np.ones((4, 8, 4, 2)), labels: [0, 1, 2, 0], rate: 0.1}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(STEPS):
            session.run(step, batch)
    assert calls["recorded"] == 1
