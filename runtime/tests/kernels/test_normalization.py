"""Sums over neighbouring channels are those of each channel."""

from typing import Any

import numpy as np
import pytest

import capstan as tf


def normalized(x: Any, radius: int) -> Any:
    sums = np.zeros_like(x)
    for channel in range(x.shape[-1]):
        near = x[..., max(channel - radius, 0) : channel + radius + 1]
        sums[..., channel] = np.square(near).sum(-1)
    return x * (1.5 + 0.3 * sums) ** -0.7


@pytest.mark.parametrize("depth", [1, 2, 3, 7, 64, 65, 100])
@pytest.mark.parametrize("radius", [0, 1, 5, 200])
@pytest.mark.parametrize("largest", [1.0, 1e30, np.inf, np.nan])
def test_lrn_of_few_and_many_channels(depth: int, radius: int, largest: float) -> None:
    x = np.random.default_rng(depth).normal(size=(2, 3, 4, depth)).astype(np.float32)
    x[0, 0, 0, 0] = largest
    with tf.Graph().as_default(), tf.Session() as session, np.errstate(all="ignore"):
        found = session.run(tf.nn.lrn(x, radius, 1.5, 0.3, 0.7))
        np.testing.assert_allclose(found, normalized(x, radius), 1e-5)
