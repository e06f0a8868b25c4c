"""Complex numbers are made and taken apart as in TensorFlow."""

from typing import Any

import genuine
import numpy as np
import pytest
from oracle_tables import compare

import capstan

pytestmark = genuine.MARKS

Z = np.array([[1 + 2j, -3 + 0.5j], [-0.25j, -4 - 1j]])


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_numbers_are_taken_apart_as_by_tensorflow(v1: object, dtype: Any) -> None:
    z = Z.astype(dtype)
    compare(v1, [lambda tf: tf.real(z), lambda tf: tf.imag(z), lambda tf: tf.math.conj(z)])
    with capstan.Graph().as_default(), capstan.Session() as session:
        found = session.run(capstan.angle(z))
    assert found.dtype == z.real.dtype
    np.testing.assert_allclose(found, np.angle(z), rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_parts_broadcast_to_complex_numbers(v1: object, dtype: Any) -> None:
    a, b = np.array([[1], [np.inf]], dtype), np.array([2, -0.0], dtype)
    compare(v1, [lambda tf: tf.complex(a, b), lambda tf: tf.complex(b, b)])


def test_real_numbers_have_no_imaginary_part(v1: object) -> None:
    compare(
        v1,
        [
            lambda tf: tf.real([1.0, 2.0]),
            lambda tf: tf.imag([1.0, 2.0]),
            lambda tf: tf.math.conj([1, 2]),
        ],
    )


def test_parts_of_two_types_and_conjugates_of_text_are_refused() -> None:
    with capstan.Graph().as_default():
        with pytest.raises(TypeError, match="incorrect types: float32 float64"):
            capstan.complex(np.float32(1), np.float64(1))
        with pytest.raises(TypeError, match="Expected numeric"):
            capstan.conj("text")


def test_gradients_of_the_parts_are_tensorflows(v1: object) -> None:
    def gradients(tf: Any, function: Any) -> Any:
        a = tf.constant([[1.0], [-2.0]])
        b = tf.constant([0.5, 4.0])
        return tf.gradients(function(tf, tf.complex(a, b)), [a, b])

    compare(
        v1,
        [
            lambda tf: gradients(tf, lambda tf, z: tf.real(z)),
            lambda tf: gradients(tf, lambda tf, z: tf.imag(z)),
            lambda tf: gradients(tf, lambda tf, z: tf.imag(tf.math.conj(z))),
        ],
    )
    with capstan.Graph().as_default(), capstan.Session() as session:
        found = session.run(gradients(capstan, lambda tf, z: tf.angle(z)))
    with v1.Graph().as_default(), v1.Session() as session:  # type: ignore[attr-defined]
        expected = session.run(gradients(v1, lambda tf, z: tf.math.angle(z)))
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)
