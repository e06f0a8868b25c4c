"""The initial kernels of `tf.contrib.framework` that keep the norm of the input."""

import itertools
from typing import Any

import numpy as np
import pytest

import capstan as tf

framework = tf.contrib.framework
KINDS = {
    1: framework.convolutional_orthogonal_1d,
    2: framework.convolutional_orthogonal_2d,
    3: framework.convolutional_orthogonal_3d,
}


def run(fetches: Any) -> Any:
    with tf.Session() as session:
        return session.run(fetches)


def on_a_ring(kernel: Any, image: Any) -> Any:
    """Return the convolution of an image whose opposite sides touch."""
    sizes, total = kernel.shape[:-2], 0
    axes = tuple(range(len(sizes)))
    for place in itertools.product(*map(range, sizes)):
        total = total + np.roll(image, place, axes) @ kernel[place]
    return total


@pytest.mark.parametrize("rank, size", [(1, 1), (1, 4), (2, 1), (2, 3), (3, 2)])
def test_orthogonal_convolutions_keep_the_norm_of_an_image(rank: int, size: int) -> None:
    initializer = KINDS[rank](gain=3.0, seed=5, dtype=tf.float64)
    kernel = run(initializer([size] * rank + [2, 4]))
    assert kernel.shape == (*[size] * rank, 2, 4)
    image = np.random.RandomState(1).normal(size=(*[5] * rank, 2))
    found = on_a_ring(kernel, image)
    np.testing.assert_allclose(np.linalg.norm(found), 3 * np.linalg.norm(image))
    assert size == 1 or (np.abs(kernel).sum((-1, -2)) > 0).sum() > 1


@pytest.mark.parametrize("sizes", [[3], [4, 3], [1, 2, 5]])
def test_a_delta_kernel_has_an_orthogonal_matrix_in_its_middle(sizes: list[int]) -> None:
    kernel = run(framework.convolutional_delta_orthogonal(2.0)([*sizes, 3, 6]))
    assert kernel.dtype == np.float32
    middle = tuple((size - 1) // 2 for size in sizes)
    np.testing.assert_allclose(kernel[middle] @ kernel[middle].T, 4 * np.eye(3), atol=1e-5)
    kernel[middle] = 0
    assert not kernel.any()


def test_kernels_are_values_of_variables_and_their_seed_repeats_them() -> None:
    made = [
        tf.get_variable(f"k{number}", [3, 3, 2, 2], initializer=KINDS[2](seed=seed))
        for number, seed in enumerate((4, 4, 5))
    ]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        first, second, third = session.run(made)
    np.testing.assert_array_equal(first, second)
    assert np.abs(first - third).max() > 0.01


@pytest.mark.parametrize(
    "kind, shape, message",
    [
        (KINDS[2], [3, 2, 2, 2], "sizes must be equal"),
        (KINDS[2], [3, 2, 2], "must have 4 axes"),
        (KINDS[1], [3, 5, 2], "cannot be greater"),
        (framework.convolutional_delta_orthogonal, [3, 2], "3 or 4 or 5 axes"),
    ],
)
def test_kernels_that_cannot_keep_the_norm_are_refused(kind: Any, shape: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        kind()(shape)


def test_kernels_of_integers_are_refused() -> None:
    with pytest.raises(ValueError, match="floating point"):
        KINDS[1](dtype=tf.int32)
