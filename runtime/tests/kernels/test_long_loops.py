"""Compiled loops over long arrays give the numbers of the kernels for short ones."""

from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan.hardware import cpu_loops
from capstan.kernels import long_loops

NUMBERS = (-np.inf, -2.0, -0.0, 0.0, 1e-40, 3.0, np.inf, np.nan)
SIZE = 1 << 17
"""The numbers of an array that has several pieces."""


def values(dtype: Any, shape: tuple[int, ...]) -> Any:
    return np.random.default_rng(1).choice(NUMBERS, shape).astype(dtype)


def results(features: Any, runs: int) -> list[Any]:
    """Return a rectified array and its gradient, from the last of some runs."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(features.dtype)
        y = tf.nn.relu(x)
        slope = np.random.default_rng(2).normal(size=features.shape).astype(features.dtype)
        nodes = [y, tf.gradients(y, x, slope)[0]]
        for _ in range(runs):
            found = session.run(nodes, {x: features})
        return list(found)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(SIZE,), (SIZE // 64 + 1, 64)])
def test_a_rectifier_and_its_gradient_are_those_of_short_arrays(
    monkeypatch: pytest.MonkeyPatch, dtype: Any, shape: tuple[int, ...]
) -> None:
    features = values(dtype, shape)
    monkeypatch.setattr(long_loops, "_LEAST_NUMBERS", SIZE * 2)
    expected = results(features, 1)
    monkeypatch.setattr(long_loops, "_LEAST_NUMBERS", SIZE)
    monkeypatch.setattr(cpu_loops, "_COMPILE_SECONDS", 0)
    for one, other in zip(results(features, 2), expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_loop_takes_views_one_by_one() -> None:
    features = values(np.float32, (SIZE, 2))[:, 0]
    found = results(features, 40)[0]
    np.testing.assert_array_equal(found, np.maximum(features, 0))
