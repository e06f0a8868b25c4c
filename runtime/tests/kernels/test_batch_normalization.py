"""Compiled passes of batch normalization give the numbers of its formulas."""

from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan.kernels import channel_passes

SHAPES = [(32, 32, 32, 16), (3, 100, 100, 3), (40, 7, 7, 100), (2, 16, 16, 256)]
"""Images whose matrices are folded several times, and images of odd sizes."""


def results(images: Any, order: str, is_training: bool) -> Any:
    """Return normalized images, their moments and all gradients."""
    depth = images.shape[-1] if order == "NHWC" else images.shape[1]
    random = np.random.default_rng(1)
    scale, offset, mean = random.normal(size=(3, depth)).astype(np.float32)
    variance = random.uniform(0.5, 2, depth).astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        inputs = [tf.constant(each) for each in (images, scale, offset)]
        given = {} if is_training else {"mean": mean, "variance": variance}
        made = tf.nn.fused_batch_norm(*inputs, **given, data_format=order, is_training=is_training)
        loss = tf.reduce_sum(tf.sin(made[0]))
        return session.run([*made, *tf.gradients(loss, inputs)])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("order", ["NHWC", "NCHW"])
@pytest.mark.parametrize("is_training", [True, False])
def test_passes_and_formulas_agree(
    monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...], order: str, is_training: bool
) -> None:
    images = np.random.default_rng(0).normal(3, 2, shape).astype(np.float32)
    if order == "NCHW":
        images = images.transpose(0, 3, 1, 2).copy()
    found = results(images, order, is_training)
    monkeypatch.setattr(channel_passes.Passes, "serve", lambda self, rows: False)
    expected = results(images, order, is_training)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-4, atol=2e-4 * np.abs(other).max())


@pytest.mark.parametrize(
    ("shape", "order"), [((1, 256, 13, 13), (0, 2, 3, 1)), ((1025, 1, 1, 64), (3, 1, 2, 0))]
)
def test_transposed_images_are_normalized(shape: Any, order: Any) -> None:
    images = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.transpose(tf.placeholder_with_default(images, shape), order)
        depth = x.shape[3]
        found, _, _ = session.run(tf.nn.fused_batch_norm(x, tf.ones([depth]), tf.zeros([depth])))
    given = images.transpose(order).astype(np.float64)
    expected = (given - given.mean((0, 1, 2))) / np.sqrt(given.var((0, 1, 2)) + 0.001)
    np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize("length", [0, 63, 65])
def test_moments_of_another_length_are_refused(length: int) -> None:
    images, ones = np.ones((64, 16, 16, 64), np.float32), np.ones(64, np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        given = tf.placeholder_with_default(np.ones(length, np.float32), [None])
        for moments in ((given, ones), (ones, given)):
            y = tf.raw_ops.FusedBatchNormV3(
                x=images,
                scale=ones,
                offset=ones,
                mean=moments[0],
                variance=moments[1],
                is_training=False,
            ).y
            with pytest.raises(tf.errors.InvalidArgumentError, match="number of elements"):
                session.run(y)
            slopes = tf.raw_ops.FusedBatchNormGradV3(
                y_backprop=images,
                x=images,
                scale=ones,
                reserve_space_1=moments[0],
                reserve_space_2=moments[1],
                reserve_space_3=ones[:0],
            ).x_backprop
            with pytest.raises(tf.errors.InvalidArgumentError, match="number of elements"):
                session.run(slopes)


@pytest.mark.parametrize(("shape", "expected"), [((32, 64, 16), True), ((2, 2, 16), False)])
def test_small_images_need_no_compilation(shape: tuple[int, ...], expected: bool) -> None:
    rows = np.zeros((shape[0] * shape[1] // 4, 4 * shape[2]), np.float32)
    assert channel_passes.Passes().serve(rows) == expected


def test_sums_over_many_pieces_are_exact() -> None:
    rows = np.ones((3000, 1024), np.float32)
    rows[:, 5] = 3
    sums = channel_passes.Passes().sums(rows, 512)
    assert sums.tolist() == [6000.0] * 5 + [12000.0] + [6000.0] * 506
