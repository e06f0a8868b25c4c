"""Local: a train step of a residual network of 15 convolutions with batch normalization."""

from typing import Any

import numpy as np

import contest
import sides

IMAGES, SIZE, CLASSES = 32, 32, 10
STAGES = ((16, 1), (32, 2), (64, 2))
"""The channels of each stage, and the stride of its first convolution."""

BLOCKS = 2


def convolved(tf: Any, name: str, images: Any, width: int, channels: int, stride: int = 1) -> Any:
    """Return the normalized convolution of images with filters of `width` by `width`."""
    with tf.variable_scope(name):
        filters = tf.get_variable("filters", [width, width, images.shape[3], channels])
        scale = tf.get_variable("scale", [channels], initializer=tf.ones_initializer())
        offset = tf.get_variable("offset", [channels], initializer=tf.zeros_initializer())
        found = tf.nn.conv2d(images, filters, strides=[1, stride, stride, 1], padding="SAME")
        return tf.nn.fused_batch_norm(found, scale, offset)[0]


def block(tf: Any, name: str, images: Any, channels: int, stride: int) -> Any:
    hidden = tf.nn.relu(convolved(tf, f"{name}/first", images, 3, channels, stride))
    hidden = convolved(tf, f"{name}/second", hidden, 3, channels)
    if images.shape[3] != channels:
        images = convolved(tf, f"{name}/short", images, 1, channels, stride)
    return tf.nn.relu(images + hidden)


def prepare(place: contest.Place) -> contest.Step:
    tf = place.tf
    images = tf.placeholder(tf.float32, [IMAGES, SIZE, SIZE, 3])
    labels = tf.placeholder(tf.int32, [IMAGES])
    hidden = tf.nn.relu(convolved(tf, "begin", images, 3, STAGES[0][0]))
    for stage, (channels, stride) in enumerate(STAGES):
        for number in range(BLOCKS):
            hidden = block(tf, f"{stage}/{number}", hidden, channels, 1 if number else stride)
    weights = tf.get_variable("weights", [STAGES[-1][0], CLASSES])
    logits = tf.matmul(tf.reduce_mean(hidden, [1, 2]), weights)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    loss = tf.reduce_mean(losses)
    train = tf.train.MomentumOptimizer(0.01, 0.9).minimize(loss)
    session = place.session()
    session.run(tf.global_variables_initializer())
    random = np.random.default_rng(0)
    fed = {
        images: random.random(images.shape.as_list(), np.float32),
        labels: random.integers(0, CLASSES, IMAGES),
    }
    return lambda: session.run([train, loss], fed)


ROW = contest.Row(
    "local: train step, residual network, 32 images of 32x32",
    "us",
    1,
    prepare,
    (sides.POOL, sides.CALLER),
)

if __name__ == "__main__":
    contest.main(ROW, __spec__)
