"""The operators of `tf.linalg` give TensorFlow's numbers, shapes, hints and errors."""

from collections.abc import Callable
from typing import Any

import genuine
import numpy as np
import pytest

import capstan as tf

pytestmark = genuine.MARKS

RANDOM = np.random.default_rng(15)


def real(*shape: int) -> Any:
    return RANDOM.normal(size=shape)


def complexes(*shape: int) -> Any:
    return real(*shape) + 1j * real(*shape)


VECTOR, VECTORS, COMPLEX = abs(real(4)) + 1, real(3, 4), complexes(4)
COLUMN = np.array([9.0, 1, -2, 1])
SQUARES = real(3, 4, 4) + 4 * np.eye(4)
POSITIVE = SQUARES @ SQUARES.transpose(0, 2, 1)
TALL, LOW, LOWS = real(3, 4), real(4, 2), real(3, 4, 2)
# TensorFlow's inverse of a circulant operator always has the type complex64.
SPECTRA = complexes(3, 4).astype(np.complex64)
POSITIVE_HINTS = {"is_self_adjoint": True, "is_positive_definite": True}

Make = Callable[[Any, Any], Any]
"""A function of `tf` and of the function that makes a tensor of an array."""

OPERATORS: dict[str, Make] = {
    "diag": lambda tf, t: tf.linalg.LinearOperatorDiag(t(VECTORS)),
    "positive diag": lambda tf, t: tf.linalg.LinearOperatorDiag(t(VECTOR), **POSITIVE_HINTS),
    "complex diag": lambda tf, t: tf.linalg.LinearOperatorDiag(t(COMPLEX)),
    "matrix": lambda tf, t: tf.linalg.LinearOperatorFullMatrix(t(SQUARES)),
    "positive matrix": lambda tf, t: tf.linalg.LinearOperatorFullMatrix(
        t(POSITIVE), **POSITIVE_HINTS
    ),
    "complex matrix": lambda tf, t: tf.linalg.LinearOperatorFullMatrix(t(SQUARES + 1j * POSITIVE)),
    "tall matrix": lambda tf, t: tf.linalg.LinearOperatorFullMatrix(t(TALL)),
    "identity": lambda tf, t: tf.linalg.LinearOperatorIdentity(4, [3], dtype=tf.float64),
    "checked identity": lambda tf, t: tf.linalg.LinearOperatorScaledIdentity(
        t(np.array(4, np.int32)), t(VECTOR[:3]), assert_proper_shapes=True
    ),
    "scaled identity": lambda tf, t: tf.linalg.LinearOperatorScaledIdentity(4, t(VECTOR[:3])),
    "triangular": lambda tf, t: tf.linalg.LinearOperatorLowerTriangular(t(SQUARES)),
    "low rank": lambda tf, t: tf.linalg.LinearOperatorLowRankUpdate(
        tf.linalg.LinearOperatorDiag(t(VECTOR)), t(LOWS), t(VECTOR[:2]), t(LOW)
    ),
    "positive low rank": lambda tf, t: tf.linalg.LinearOperatorLowRankUpdate(
        tf.linalg.LinearOperatorDiag(t(VECTOR), is_positive_definite=True), t(LOWS)
    ),
    "blocks": lambda tf, t: tf.linalg.LinearOperatorBlockDiag(
        [
            tf.linalg.LinearOperatorFullMatrix(t(SQUARES), is_square=True),
            tf.linalg.LinearOperatorDiag(t(VECTOR)),
        ]
    ),
    "one block": lambda tf, t: tf.linalg.LinearOperatorBlockDiag(
        [tf.linalg.LinearOperatorFullMatrix(t(SQUARES), is_square=True)]
    ),
    "positive blocks": lambda tf, t: tf.linalg.LinearOperatorBlockDiag(
        [
            tf.linalg.LinearOperatorFullMatrix(t(POSITIVE), **POSITIVE_HINTS),
            tf.linalg.LinearOperatorDiag(t(VECTOR), **POSITIVE_HINTS),
        ]
    ),
    "composition": lambda tf, t: tf.linalg.LinearOperatorComposition(
        [
            tf.linalg.LinearOperatorFullMatrix(t(SQUARES)),
            tf.linalg.LinearOperatorDiag(t(VECTOR)),
        ]
    ),
    "kronecker": lambda tf, t: tf.linalg.LinearOperatorKronecker(
        [
            tf.linalg.LinearOperatorFullMatrix(t(SQUARES)),
            tf.linalg.LinearOperatorDiag(t(VECTOR[:2])),
            tf.linalg.LinearOperatorFullMatrix(t(SQUARES[0, :2, :2])),
        ]
    ),
    "tall kronecker": lambda tf, t: tf.linalg.LinearOperatorKronecker(
        [
            tf.linalg.LinearOperatorFullMatrix(t(TALL)),
            tf.linalg.LinearOperatorFullMatrix(t(LOW)),
        ]
    ),
    "adjoint": lambda tf, t: tf.linalg.LinearOperatorAdjoint(
        tf.linalg.LinearOperatorFullMatrix(t(SQUARES + 1j * POSITIVE))
    ),
    "inversion": lambda tf, t: tf.linalg.LinearOperatorInversion(
        tf.linalg.LinearOperatorFullMatrix(t(SQUARES))
    ),
    "householder": lambda tf, t: tf.linalg.LinearOperatorHouseholder(t(VECTORS)),
    "circulant": lambda tf, t: tf.linalg.LinearOperatorCirculant(t(SPECTRA)),
    "real circulant": lambda tf, t: tf.linalg.LinearOperatorCirculant(t(np.float32(VECTOR))),
    "circulant blocks": lambda tf, t: tf.linalg.LinearOperatorCirculant2D(t(SPECTRA)),
    "nested circulant blocks": lambda tf, t: tf.linalg.LinearOperatorCirculant3D(
        t(SPECTRA.reshape(1, 3, 2, 2))
    ),
    "toeplitz": lambda tf, t: tf.linalg.LinearOperatorToeplitz(t(COLUMN), t(COLUMN * [1, 2, 3, 4])),
    "zeros": lambda tf, t: tf.linalg.LinearOperatorZeros(4, batch_shape=[3], dtype=tf.float64),
    "tall zeros": lambda tf, t: tf.linalg.LinearOperatorZeros(
        3, 4, dtype=tf.float64, is_square=False, is_self_adjoint=False
    ),
}


def described(tf: Any, make: Make, is_static: bool) -> list[Any]:
    """Return shapes and hints of an operator, and the values or errors of its methods."""
    feeds: dict[Any, Any] = {}

    def tensor(array: Any) -> Any:
        if is_static:
            return tf.constant(array)
        placeholder = tf.placeholder(array.dtype)
        feeds[placeholder] = array
        return placeholder

    with tf.Graph().as_default(), tf.Session() as session:
        own = make(tf, tensor)
        found: list[Any] = [
            own.name, own.dtype.name, own.is_square, own.is_self_adjoint, own.is_non_singular,
            own.is_positive_definite, str(own.shape), str(own.batch_shape), own.tensor_rank,
            str(own.domain_dimension), str(own.range_dimension),
        ]  # fmt: skip
        methods = [
            own.shape_tensor, own.batch_shape_tensor, own.tensor_rank_tensor,
            own.domain_dimension_tensor, own.range_dimension_tensor, own.to_dense, own.trace,
            own.diag_part, own.determinant, own.log_abs_determinant,
            lambda: own.H.to_dense(), lambda: own.inverse().to_dense(),
            lambda: own.cholesky().to_dense(), lambda: own.matmul(own).to_dense(),
            lambda: own.solve(own).to_dense(), lambda: own.inverse().H.to_dense(),
            lambda: own.add_to_tensor(tf.constant(np.ones(sizes, dtype))),
        ]  # fmt: skip
        sizes = session.run(own.shape_tensor(), feeds)
        dtype = own.dtype.as_numpy_dtype
        source = np.random.default_rng(8)
        # TensorFlow takes seconds for a graph whose shapes are unknown, so that graph has no more
        # than the adjoints.
        for adjoint in (False, True) if is_static else (True,):
            rows, columns = sizes[-2:][:: -1 if adjoint else 1]
            for of, size in (("matmul", columns), ("solve", rows)):
                values = source.normal(size=(size, 3)).astype(dtype)
                if np.issubdtype(dtype, np.complexfloating):
                    values = values * (1 + 2j)
                methods += [
                    call(own, of, tensor(values), adjoint=adjoint),
                    call(own, of, tensor(values.conj().T), adjoint=adjoint, adjoint_arg=True),
                    call(own, of, tensor(np.stack([values] * 3)), adjoint=adjoint),
                    call(own, of[:3].replace("sol", "solve") + "vec", tensor(values[:, 0]),
                         adjoint=adjoint),
                ]  # fmt: skip
        results = []
        for method in methods:
            try:
                results.append(method())
            except (ValueError, NotImplementedError) as error:
                results.append(f"{type(error).__name__}: {error}")
        return found + values_of(tf, session, results, feeds)


def values_of(tf: Any, session: Any, results: Any, feeds: Any) -> list[Any]:
    """Return the static shape and the value of each result. An error takes their place."""
    tensors = [each for each in results if not isinstance(each, str)]
    try:
        values = iter(session.run(tensors, feeds))
    except tf.errors.InvalidArgumentError:
        values = (value_of(tf, session, each, feeds) for each in tensors)
    return [each if isinstance(each, str) else (str(each.shape), next(values)) for each in results]


def value_of(tf: Any, session: Any, tensor: Any, feeds: Any) -> Any:
    try:
        return session.run(tensor, feeds)
    except tf.errors.InvalidArgumentError:
        return "the step failed"


def call(own: Any, method: str, values: Any, **how: Any) -> Callable[[], Any]:
    return lambda: getattr(own, method)(values, **how)


CASES = [
    (kind, is_static)
    for kind in OPERATORS
    for is_static in (True, False)
    # Hints and complex numbers do not change how shapes are computed.
    if is_static or not kind.startswith(("complex ", "positive "))
    # The cases with unknown shapes take longest. Others of these have the same code.
    if is_static or kind not in ("kronecker", "real circulant", "circulant blocks")
    # TensorFlow does not broadcast an argument of unknown rank to the batch of an identity.
    if is_static or kind not in ("identity", "zeros")
    # TensorFlow finds no diagonal for factors that are not square.
    if not is_static or kind != "tall kronecker"
]


@pytest.mark.parametrize(("kind", "is_static"), CASES)
def test_an_operator_gives_the_results_of_tensorflow(v1: Any, kind: str, is_static: bool) -> None:
    own, expected = (described(each, OPERATORS[kind], is_static) for each in (tf, v1))
    assert own[:11] == expected[:11]
    for place, (value, v1_value) in enumerate(zip(own[11:], expected[11:], strict=True)):
        if isinstance(v1_value, str) or isinstance(v1_value[1], str):
            assert value == v1_value, place
            continue
        # TensorFlow knows fewer static shapes.
        assert v1_value[0] == "<unknown>" or value[0] == v1_value[0], place
        assert value[1].dtype == v1_value[1].dtype
        tolerance = 1e-4 if value[1].dtype in (np.float32, np.complex64) else 1e-7
        np.testing.assert_allclose(value[1], v1_value[1], tolerance, tolerance, err_msg=str(place))


FUNCTIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "adjoint": lambda tf, operator, x: tf.linalg.adjoint(operator).to_dense(),
    "cholesky": lambda tf, operator, x: tf.cholesky(operator).to_dense(),
    "det": lambda tf, operator, x: tf.linalg.det(operator),
    "diag_part": lambda tf, operator, x: tf.linalg.diag_part(operator),
    "inv": lambda tf, operator, x: tf.linalg.inv(operator, adjoint=True).to_dense(),
    "logdet": lambda tf, operator, x: tf.linalg.logdet(operator),
    "matmul": lambda tf, operator, x: tf.matmul(operator, x),
    "matmul of operators": lambda tf, operator, x: tf.matmul(operator, operator).to_dense(),
    "hints of a product": lambda tf, operator, x: tf.matmul(
        operator, tf.linalg.LinearOperatorFullMatrix(x)
    ).solve(x),
    "matmul from the left": lambda tf, operator, x: tf.linalg.matmul(
        x, operator, adjoint_a=True, adjoint_b=True
    ),
    "solve": lambda tf, operator, x: tf.linalg.solve(operator, x, adjoint=True),
    "trace": lambda tf, operator, x: tf.trace(x=operator),
    "transposed": lambda tf, operator, x: tf.matmul(operator, x, transpose_a=True),
    "solve for an operator": lambda tf, operator, x: tf.linalg.solve(x, operator),
    "logdet of any matrix": lambda tf, operator, x: tf.linalg.logdet(
        tf.linalg.LinearOperatorFullMatrix(x)
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_tf_takes_an_operator(v1: Any, name: str) -> None:
    results = []
    for each in (tf, v1):
        with each.Graph().as_default(), each.Session() as session:
            operator = OPERATORS["positive matrix"](each, each.constant)
            try:
                found = FUNCTIONS[name](each, operator, each.constant(SQUARES))
            except ValueError as error:
                results.append(str(error))
            else:
                results.append(session.run(found))
    if isinstance(results[1], str):
        assert results[0] == results[1]
    else:
        np.testing.assert_allclose(*results, rtol=1e-8)
