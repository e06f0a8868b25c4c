"""Products of matrices of int32 are exact, or wrap around as sums of int32 do."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import capstan as tf
from capstan.kernels import integer_products


@pytest.mark.parametrize("largest", [1, 200, 2**15, 2**24, 2**28, 2**31 - 1])
@pytest.mark.parametrize("has_out", [False, True])
@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 1000),
    batch=st.sampled_from([(), (0,), (3,), (2, 2)]),
    sizes=st.tuples(*[st.sampled_from([0, 1, 7, 40])] * 3),
)
def test_the_product_is_that_of_integers(
    has_out: bool, largest: int, seed: int, batch: tuple[int, ...], sizes: tuple[int, int, int]
) -> None:
    draw = np.random.default_rng(seed)
    rows, along, columns = sizes
    x = draw.integers(-largest - 1, largest + 1, (*batch, rows, along)).astype(np.int32)
    y = draw.integers(-largest - 1, largest + 1, (*batch, along, columns)).astype(np.int32)
    out = np.empty((*batch, rows, columns), np.int32) if has_out else None
    found = integer_products.product(x, y, out)
    assert out is None or found is out
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, np.matmul(x, y))


@pytest.mark.parametrize("bits", range(20, 31))
def test_the_product_of_large_numbers_is_exact(bits: int) -> None:
    x, y = (
        np.random.default_rng(bits).integers(0, 1 << bits, (20, 20)).astype(np.int32) | 1
        for _ in range(2)
    )
    np.testing.assert_array_equal(integer_products.product(x, y), np.matmul(x, y))


@pytest.mark.parametrize("transposes", [False, True])
def test_nodes_multiply_integers(transposes: bool) -> None:
    x = np.random.default_rng(1).integers(-9, 9, (2, 50, 50)).astype(np.int32)
    with tf.Graph().as_default(), tf.Session() as session:
        given_x = tf.placeholder(tf.int32, [None, 50, 50])
        several = tf.matmul(given_x, given_x, transpose_b=transposes)
        single = tf.matmul(given_x[0], given_x[1], transpose_a=transposes)
        found = session.run([several, single], {given_x: x})
    turned = x.transpose(0, 2, 1) if transposes else x
    np.testing.assert_array_equal(found[0], np.matmul(x, turned))
    np.testing.assert_array_equal(found[1], np.matmul(turned[0], x[1]))
