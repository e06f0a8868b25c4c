"""Rows of complex numbers are changed by index, and multiplied by segment, as in TensorFlow."""

from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS

START = np.array([[1 + 2j, 1], [3 - 1j, 2j], [0.5j, 4], [2, 0], [-1 + 1j, 1]])
ROWS = np.array([[1j, 1], [2, -1j], [3 - 1j, 1 + 1j]])
PLACES = [0, 3, 0]


def of_rows(tf: Any, name: str, v: Any, dtype: Any) -> Any:
    return getattr(tf, name)(v, PLACES, ROWS.astype(dtype))


def of_slices(tf: Any, name: str, v: Any, dtype: Any) -> Any:
    return getattr(tf, name)(v, [[place] for place in PLACES], ROWS.astype(dtype))


CHANGES = [
    *((of_rows, f"scatter_{kind}") for kind in ("add", "sub", "mul", "div", "update")),
    *((of_slices, f"scatter_nd_{kind}") for kind in ("add", "sub")),
    *((of_slices, f"tensor_scatter_{kind}") for kind in ("add", "sub")),
]


def close(v1: Any, case: Any) -> None:
    """Check that a case has TensorFlow's values. The order of operations may round differently."""
    found = []
    for tf in (capstan, v1):
        with tf.Graph().as_default(), tf.Session() as session:
            before, fetches = case(tf)
            session.run(tf.global_variables_initializer())
            session.run(before)
            found.append(session.run(fetches))
    assert found[0].dtype == found[1].dtype
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("is_resource", [False, True])
@pytest.mark.parametrize(("change", "name"), CHANGES)
def test_rows_change_as_in_tensorflow(
    v1: Any, change: Any, name: str, is_resource: bool, dtype: Any
) -> None:
    def case(tf: Any) -> Any:
        v = tf.get_variable("v", initializer=START.astype(dtype), use_resource=is_resource)
        changed = change(tf, name, v, dtype)
        return (changed, v) if "tensor" not in name else ((), changed)

    close(v1, case)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_products_of_segments_and_their_gradients_are_those_of_tensorflow(
    v1: Any, dtype: Any
) -> None:
    def product(tf: Any) -> Any:
        x = tf.constant(START.astype(dtype))
        return x, tf.math.unsorted_segment_prod(x, [0, 1, 0, -1, 1], 3)

    def slopes(tf: Any) -> Any:
        x, y = product(tf)
        weights = np.arange(1, 7).reshape(3, 2).astype(dtype) * (1 + 1j)
        return (), tf.gradients(y, x, grad_ys=tf.constant(weights.astype(dtype)))[0]

    close(v1, lambda tf: ((), product(tf)[1]))
    close(v1, slopes)


@pytest.mark.parametrize("name", ["scatter_max", "scatter_min"])
def test_complex_numbers_have_no_order(name: str) -> None:
    with capstan.Graph().as_default():
        v = capstan.get_variable("v", initializer=START.astype(np.complex64))
        with pytest.raises(TypeError, match="complex64 not in list"):
            of_rows(capstan, name, v, np.complex64)
