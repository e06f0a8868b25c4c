"""Complex numbers are computed with, and differentiated, as in TensorFlow."""

from collections.abc import Callable
from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS

Z = np.array([[1 + 2j, -3 + 0.5j], [-0.25j, 1.5 - 1j]])
W = np.array([[0.5 - 1j, 2 + 1j], [1 + 0.75j, -2 - 0.5j]])
GRAD = np.array([[1 - 1j, 0.5j], [2 + 0.5j, -1 + 0j]])
KINDS = pytest.mark.parametrize("dtype", [np.complex64, np.complex128])

Function = Callable[[Any, Any, Any], Any]


def restored(tf: Any, values: Any, vectors: Any) -> Any:
    return tf.matmul(vectors * tf.exp(values), vectors, adjoint_b=True)


SMOOTH: dict[str, Function] = {
    "add": lambda tf, z, w: z + w,
    "sub": lambda tf, z, w: z - w,
    "mul": lambda tf, z, w: z * w,
    "a real constant times a complex number": lambda tf, z, w: 2 * z,
    "truediv": lambda tf, z, w: z / w,
    "div": lambda tf, z, w: tf.div(z, w),
    "Div": lambda tf, z, w: tf.raw_ops.Div(x=z, y=w) if hasattr(tf, "raw_ops") else z / w,
    "div_no_nan": lambda tf, z, w: tf.math.divide_no_nan(z, w),
    "pow": lambda tf, z, w: tf.pow(z, w),
    "neg": lambda tf, z, w: -z,
    "square": lambda tf, z, w: tf.square(z),
    "squared_difference": lambda tf, z, w: tf.math.squared_difference(z, w),
    "reciprocal": lambda tf, z, w: tf.math.reciprocal(z),
    "sqrt": lambda tf, z, w: tf.sqrt(z),
    "rsqrt": lambda tf, z, w: tf.math.rsqrt(z),
    "exp": lambda tf, z, w: tf.exp(z),
    "log": lambda tf, z, w: tf.math.log(z),
    "log1p": lambda tf, z, w: tf.math.log1p(z),
    "sin": lambda tf, z, w: tf.sin(z),
    "cos": lambda tf, z, w: tf.cos(z),
    "tanh": lambda tf, z, w: tf.tanh(z),
    "sigmoid": lambda tf, z, w: tf.sigmoid(z),
    **{
        name: lambda tf, z, w, name=name: getattr(tf, name)(z)
        for name in (
            *("acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "sinh", "tan"),
            "expm1",
        )
    },
    "euclidean norm": lambda tf, z, w: tf.math.reduce_euclidean_norm(z, 0, True),
    "eigenvalues": lambda tf, z, w: tf.linalg.eigvalsh([z + tf.transpose(z, conjugate=True)]),
    "the matrix of eigenvalues and eigenvectors": lambda tf, z, w: restored(
        tf, *tf.linalg.eigh(z + tf.transpose(z, conjugate=True))
    ),
    "xlogy": lambda tf, z, w: tf.math.xlogy(z, w),
    "xdivy": lambda tf, z, w: tf.math.xdivy(z, w),
    "multiply_no_nan": lambda tf, z, w: tf.math.multiply_no_nan(z, w),
    "add_n": lambda tf, z, w: tf.add_n([z, w, z]),
    "accumulate_n": lambda tf, z, w: tf.math.accumulate_n([z, w]),
    "reduce_sum": lambda tf, z, w: tf.reduce_sum(z, 0, keepdims=True),
    "reduce_mean": lambda tf, z, w: tf.reduce_mean(z, 1, keepdims=True),
    "norm": lambda tf, z, w: tf.norm(z, keepdims=True),
    "norm of rows": lambda tf, z, w: tf.norm(z, axis=1, keepdims=True),
    "norm of order 1": lambda tf, z, w: tf.cast(tf.norm(z, 1), z.dtype) * z,
    "norm of order 2": lambda tf, z, w: tf.norm(z, 2, axis=0, keepdims=True),
    "norm of a matrix": lambda tf, z, w: tf.norm(z, "fro", [0, 1], True),
    "variance": lambda tf, z, w: tf.cast(tf.math.reduce_variance(z, 0), z.dtype) * z,
    "deviation": lambda tf, z, w: tf.cast(tf.math.reduce_std(z), z.dtype) * z,
    "reduce_prod": lambda tf, z, w: tf.reduce_prod(z, 0, keepdims=True),
    "cumsum": lambda tf, z, w: tf.cumsum(z, 1, exclusive=True),
    "cumprod": lambda tf, z, w: tf.math.cumprod(z, 1, reverse=True),
    "matmul": lambda tf, z, w: tf.matmul(z, w),
    "matmul of adjoint matrices": lambda tf, z, w: tf.matmul(z, w, adjoint_a=True, adjoint_b=True),
    "matmul of a transposed and an adjoint matrix": lambda tf, z, w: tf.matmul(
        z, w, transpose_a=True, adjoint_b=True
    ),
    "matmul of batches": lambda tf, z, w: tf.matmul([z], [w], adjoint_a=True)[0],
    "matmul of transposed batches": lambda tf, z, w: tf.matmul([z], [w], transpose_b=True)[0],
    "transpose": lambda tf, z, w: tf.transpose(z),
    "conjugate transpose": lambda tf, z, w: tf.transpose(z, conjugate=True),
    "where": lambda tf, z, w: tf.where([True, False], z, w),
    "cast to a real type and back": lambda tf, z, w: tf.cast(tf.cast(z, tf.float32), z.dtype),
    "cast to the other complex type": lambda tf, z, w: tf.cast(tf.cast(z, tf.complex64), z.dtype),
    "abs": lambda tf, z, w: tf.cast(tf.abs(z), z.dtype) * z,
    "gather": lambda tf, z, w: tf.gather(z, [1, 0]),
    "concat and tile": lambda tf, z, w: tf.tile(tf.concat([z, w], 0), [1, 2])[:2, 1:3],
    "broadcasting": lambda tf, z, w: z * w[0] + w[0, 0],
}
OTHER: dict[str, Function] = {
    "equal": lambda tf, z, w: tf.equal(z, tf.where([True, False], z, w)),
    "not_equal": lambda tf, z, w: tf.not_equal(z, tf.where([True, False], z, w)),
    "fill": lambda tf, z, w: tf.fill([2], z[0, 0]),
    "zeros_like": lambda tf, z, w: tf.zeros_like(z),
    "ones_like": lambda tf, z, w: tf.ones_like(z),
    "sign": lambda tf, z, w: tf.sign(z),
    "places that are not 0": lambda tf, z, w: tf.where(z - [[0, -3 + 0.5j], [0, 0]]),
    "cast from integers": lambda tf, z, w: tf.cast([1, -2], z.dtype),
    "to_complex64 and to_complex128": lambda tf, z, w: tf.to_complex128(tf.to_complex64(z)),
    "cast to bool": lambda tf, z, w: tf.cast(z, tf.bool),
    "cast to int32": lambda tf, z, w: tf.cast(z, tf.int32),
    "norm of order infinity": lambda tf, z, w: tf.norm(z, np.inf, axis=1),
    "norm of order 1 of a matrix": lambda tf, z, w: tf.norm(z, 1, [0, 1], True),
    "variance along an axis": lambda tf, z, w: tf.math.reduce_variance(z, 1, keepdims=True),
    "deviation along an axis": lambda tf, z, w: tf.math.reduce_std(z, 1),
    "abs by the operator": lambda tf, z, w: abs(z),
    "product of no matrices": lambda tf, z, w: tf.matmul(z[:, :0], w[:0]),
}


def _run(tf: Any, function: Function, *arrays: Any) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(function(tf, *(tf.constant(array) for array in arrays)))


def _assert_alike(v1: Any, function: Function, *arrays: Any) -> None:
    ours, theirs = _run(capstan, function, *arrays), _run(v1, function, *arrays)
    assert len(ours) == len(theirs)
    for mine, expected in zip(ours, theirs, strict=True):
        assert mine.dtype == expected.dtype
        is_single = arrays[0].dtype == np.complex64
        np.testing.assert_allclose(mine, expected, rtol=3e-5 if is_single else 1e-6, atol=1e-6)


@KINDS
@pytest.mark.parametrize("name", [*SMOOTH, *OTHER])
def test_values_are_tensorflows(v1: object, name: str, dtype: Any) -> None:
    function = (SMOOTH | OTHER)[name]
    _assert_alike(v1, function, Z.astype(dtype), W.astype(dtype))


@KINDS
@pytest.mark.parametrize("name", SMOOTH)
def test_gradients_are_tensorflows(v1: object, name: str, dtype: Any) -> None:
    def gradients(tf: Any, z: Any, w: Any, grad: Any) -> Any:
        y = SMOOTH[name](tf, z, w)
        found = tf.gradients(y, [z, w], grad_ys=grad[: y.shape[0], : y.shape[1]])
        return [tf.convert_to_tensor(each) for each in found if each is not None]

    _assert_alike(v1, gradients, *(each.astype(dtype) for each in (Z, W, GRAD)))


@pytest.mark.parametrize("name", ["sqrt", "rsqrt", "reciprocal", "tanh", "sigmoid", "mul", "pow"])
def test_second_gradients_are_tensorflows(v1: object, name: str) -> None:
    def gradients(tf: Any, z: Any, w: Any, grad: Any) -> Any:
        (first,) = tf.gradients(SMOOTH[name](tf, z, w), [z], grad_ys=grad)
        return [each for each in tf.gradients(first, [z, grad], grad_ys=w) if each is not None]

    _assert_alike(v1, gradients, Z, W, GRAD)


def test_the_gradient_of_a_power_is_0_where_the_base_is_0(v1: object) -> None:
    def gradients(tf: Any, z: Any, w: Any) -> Any:
        return tf.gradients(tf.pow(z, w), [w], grad_ys=w)

    _assert_alike(v1, gradients, np.array([0j, 1j]), np.array([2 + 0j, 2 + 1j]))


def test_the_gradient_of_an_absolute_value_is_0_at_0(v1: object) -> None:
    def gradients(tf: Any, z: Any) -> Any:
        return tf.gradients(tf.abs(z), [z])

    _assert_alike(v1, gradients, np.array([0j, 3 + 4j]))


@KINDS
def test_sparse_tensors_add_complex_values(v1: object, dtype: Any) -> None:
    def total(tf: Any, z: Any, w: Any) -> Any:
        a = tf.SparseTensor([[0, 0], [1, 1]], z[0], [2, 2])
        b = tf.SparseTensor([[1, 0], [1, 1]], w[0], [2, 2])
        both = tf.sparse_add(a, b, 1.0)
        grad = tf.constant(np.array([1j, 2, 3 - 1j], dtype))
        by_a, by_b = tf.gradients(tf.sparse_add(a, b).values, [z, w], grad_ys=[grad])
        return [both.indices, both.values, tf.sparse_add(a, w), by_a, by_b]

    _assert_alike(v1, total, Z.astype(dtype), W.astype(dtype))


@pytest.mark.parametrize("dtype", [capstan.complex64, capstan.complex128])
def test_difference_quotients_agree_with_the_gradients_of_products(dtype: Any) -> None:
    with capstan.Graph().as_default(), capstan.Session():
        z, w = capstan.constant(Z, dtype), capstan.constant(W, dtype)
        for y in (z * w, capstan.matmul(z, w), capstan.reduce_prod(z, 0)):
            for x in (z, w):
                if capstan.gradients(y, x, grad_ys=y)[0] is None:
                    continue
                error = capstan.test.compute_gradient_error(x, [2, 2], y, y.shape.as_list())
                assert error < (2e-2 if dtype == capstan.complex64 else 1e-6)


def test_difference_quotients_of_a_scalar_agree_with_its_gradients() -> None:
    with capstan.Graph().as_default(), capstan.Session():
        x = capstan.constant(11 - 13j, capstan.complex64)
        y = capstan.constant(5 + 7j, capstan.complex64) * x
        found, estimated = capstan.test.compute_gradient(x, (), y, ())
    np.testing.assert_array_equal(found, [[5, 7], [-7, 5]])
    np.testing.assert_allclose(estimated, found, rtol=1e-4)
