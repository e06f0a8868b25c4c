"""Pools with windows of random sizes have TensorFlow's windows, values and gradients.

Deterministic nodes draw TensorFlow's random numbers, so their windows are the same. Each program
runs in TensorFlow, by TensorFlow's client on our servers, and with our own API.
"""

from typing import Any

import genuine
import numpy as np
import pytest

import capstan as tf

pytestmark = genuine.MARKS

RANDOM = np.random.default_rng(8)
IMAGES = RANDOM.normal(size=(2, 11, 9, 3))
EQUAL = RANDOM.integers(-3, 4, (2, 11, 9, 3))
RATIOS = ([1.0, 1.44, 1.73, 1.0], [1.0, 1.0, 3.0, 1.0], [1.0, 4.4, 2.2, 1.0], [1.0, 11.0, 9.0, 1.0])
POOLS = ("fractional_max_pool", "fractional_avg_pool")


def slope(v1: Any, y: Any, x: Any) -> Any:
    """Return the gradient of the sum of the elements of `y`, each with a weight of its own."""
    return v1.gradients(v1.reduce_sum(v1.sin(v1.cast(y, v1.float64))), x)[0]


def windows(v1: Any, name: str) -> list[Any]:
    images, fetches = v1.constant(IMAGES), []
    for ratios in RATIOS:
        for number, (is_pseudo, overlaps) in enumerate(np.ndindex(2, 2)):
            pool, *edges = getattr(v1.nn, name)(
                images, ratios, bool(is_pseudo), bool(overlaps), True, 5 + number, 3 * number
            )
            fetches += [pool, *edges, slope(v1, pool, images)]
    return fetches


def kinds(v1: Any, name: str) -> list[Any]:
    """Return pools of numbers that are equal or not finite, in all types."""
    special = np.float32(EQUAL)
    special[0, :6, :, 0], special[0, :, 0, 1], special[0, 4:, 5, 2] = np.nan, -np.inf, np.inf
    fetches = []
    for values in (EQUAL.astype(np.int32), EQUAL, EQUAL.astype(np.float32), special):
        x = v1.constant(values)
        for overlaps in (False, True):
            pool, *edges = getattr(v1.nn, name)(
                x, [1.0, 2.2, 1.5, 1.0], overlapping=overlaps, deterministic=True, seed=4
            )
            fetches += [pool, *edges]
            # TensorFlow 2 refuses gradients at numbers that are not finite.
            if values.dtype == np.float32 and values is not special:
                fetches.append(slope(v1, pool, x))
    return fetches


@pytest.mark.parametrize("program", [windows, kinds], ids=lambda program: program.__name__)
@pytest.mark.parametrize("name", POOLS)
def test_a_program_gives_the_values_of_tensorflow(
    v1: Any, tasks: genuine.Tasks, program: Any, name: str
) -> None:
    expected, *found_ways = genuine.three_answers(
        v1, lambda module: program(module, name), tasks.target()
    )
    for found in found_ways:
        for value, wanted in zip(found, expected, strict=True):
            assert value.dtype == wanted.dtype
            np.testing.assert_allclose(value, wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", POOLS)
@pytest.mark.parametrize("is_deterministic", [False, True])
def test_a_node_without_seeds_draws_its_windows(name: str, is_deterministic: bool) -> None:
    """One of a million million pairs of draws has equal windows."""
    images = tf.placeholder(tf.float32, [None, None, 60, 1])
    pool, rows, columns = getattr(tf.nn, name)(
        images, [1, 1.7, 1.6, 1], deterministic=is_deterministic
    )
    assert pool.shape.as_list() == [None, None, 37, 1]
    assert [edges.shape.as_list() for edges in (rows, columns)] == [[None], [38]]
    (slopes,) = tf.gradients(pool, images)
    value = np.arange(3600, dtype=np.float32).reshape(1, 60, 60, 1)
    with tf.Session() as session:
        first, second = (
            session.run([pool, rows, columns, slopes], {images: value}) for _ in range(2)
        )
    assert np.array_equal(first[1], second[1]) is is_deterministic
    for found, high, wide, slope_found in (first, second):
        assert found.shape == (1, len(high) - 1, len(wide) - 1, 1)
        assert slope_found.sum() == pytest.approx(found.size)


FAULTS = [
    (ValueError, "smaller than 1", lambda v1: pooled(v1, [1.0, 0.5, 1.0, 1.0])),
    (ValueError, "less than minimum 4", lambda v1: pooled(v1, [1.0, 2.0, 2.0])),
    (ValueError, "4 dimensions", lambda v1: pooled(v1, [1.0, 2.0, 2.0, 1.0, 1.0])),
    (ValueError, "rank 4", lambda v1: v1.nn.fractional_avg_pool(IMAGES[0], RATIOS[0])),
    ("UnimplementedError", "not yet supported", lambda v1: pooled(v1, [2.0, 2.0, 2.0, 1.0])),
    ("UnimplementedError", "not yet supported", lambda v1: pooled(v1, [1.0, 2.0, 2.0, 3.0])),
    ("InvalidArgumentError", "(?i)pooling.ratio", lambda v1: pooled(v1, [1.0, 12.0, 2.0, 1.0])),
    ("InvalidArgumentError", "seed", lambda v1: pooled(v1, RATIOS[0], seed=4)),
    ("InvalidArgumentError", "", lambda v1: slopes_of(v1, "Max", [0, 2], [0, 2, 4])),
    ("InvalidArgumentError", "", lambda v1: slopes_of(v1, "Max", [0, 6, 9], [0, 2, 4])),
    ("InvalidArgumentError", "", lambda v1: slopes_of(v1, "Avg", [0, 2], [0, 2, 4])),
    ("InvalidArgumentError", "negative", lambda v1: slopes_of(v1, "Avg", [0, 2, 4], [-1, 2, 4])),
]


def pooled(v1: Any, ratios: list[float], **options: Any) -> Any:
    return v1.nn.fractional_max_pool(IMAGES, ratios, **options)[0]


def slopes_of(v1: Any, kind: str, rows: list[int], columns: list[int]) -> Any:
    """Return the gradient of images of 4 x 4 elements by 2 x 2 windows with these edges."""
    raw = tf.raw_ops if v1 is tf else genuine.tensorflow().raw_ops
    grads = np.ones((1, 2, 2, 1))
    edges = {"row_pooling_sequence": rows, "col_pooling_sequence": columns}
    if kind == "Avg":
        return raw.FractionalAvgPoolGrad(
            orig_input_tensor_shape=np.array([1, 4, 4, 1]), out_backprop=grads, **edges
        )
    return raw.FractionalMaxPoolGrad(
        orig_input=np.ones((1, 4, 4, 1)), orig_output=grads, out_backprop=grads, **edges
    )


@pytest.mark.parametrize(("error", "message", "build"), FAULTS)
def test_what_tensorflow_refuses_is_refused(v1: Any, error: Any, message: str, build: Any) -> None:
    for module in (v1, tf):
        kind = getattr(module.errors, error) if isinstance(error, str) else error
        refusal = pytest.raises(kind, match=message)
        with module.Graph().as_default(), module.Session() as session, refusal:
            session.run(build(module))


def test_windows_that_reach_beyond_the_image_end_with_it(v1: Any) -> None:
    with v1.Graph().as_default(), v1.Session() as session:
        expected = session.run(slopes_of(v1, "Avg", [0, 6, 9], [0, 3, 9]))
    with tf.Graph().as_default(), tf.Session() as session:
        np.testing.assert_array_equal(
            session.run(slopes_of(tf, "Avg", [0, 6, 9], [0, 3, 9])), expected
        )
