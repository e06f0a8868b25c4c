"""The inner names of TensorFlow that TensorFlow Probability 0.7 calls."""

import importlib
import itertools
from typing import Any

import genuine
import numpy as np
import pytest
from oracle_tables import compare

import capstan

pytestmark = genuine.MARKS


def inner(v1: Any, module: str) -> Any:
    package = "capstan" if v1 is capstan else "tensorflow"
    return importlib.import_module(f"{package}.python.{module}")


def regular(*shape: int) -> np.ndarray:
    """Return matrices with a large diagonal."""
    rows = np.arange(np.prod(shape), dtype=np.float32).reshape(shape) % 5
    return rows + 8 * np.eye(shape[-1], dtype=np.float32)


def test_systems_of_equations_with_broadcast_batches_have_tensorflows_solutions(v1: Any) -> None:
    matrix, rhs = regular(2, 1, 3, 3), np.arange(12, dtype=np.float32).reshape(2, 3, 2)

    def case(is_known: bool, adjoint: bool) -> Any:
        def solved(v1: Any) -> Any:
            shapes = [matrix.shape, rhs.shape] if is_known else [None, None]
            given = [
                v1.placeholder_with_default(value, shape)
                for value, shape in zip((matrix, rhs), shapes, strict=True)
            ]
            util = inner(v1, "ops.linalg.linear_operator_util")
            found = util.matrix_solve_with_broadcast(*given, adjoint=adjoint)
            return v1.cast(v1.round(found * 1000), v1.int32)

        return solved

    compare(v1, [case(*each) for each in itertools.product([True, False], repeat=2)])


def test_triangular_matrices_and_factors_solve_systems_with_broadcast_batches() -> None:
    util = inner(capstan, "ops.linalg.linear_operator_util")
    matrix, rhs = regular(2, 1, 3, 3).astype(np.float64), np.arange(12.0).reshape(2, 3, 2)
    lower, upper = np.tril(matrix), np.triu(matrix)
    transposed = np.swapaxes(lower, -1, -2)
    with capstan.Graph().as_default(), capstan.Session() as session:
        solve = util.matrix_triangular_solve_with_broadcast
        solutions = [
            (lower, solve(matrix, rhs)),
            (upper, solve(matrix, rhs, lower=False)),
            (transposed, solve(matrix, rhs, adjoint=True)),
            (lower @ transposed, util.cholesky_solve_with_broadcast(lower, rhs)),
        ]
        for factor, found in solutions:
            product = factor @ session.run(found)
            np.testing.assert_allclose(product, [rhs, rhs], atol=1e-12)


def test_matrices_get_the_same_batch_shape(v1: Any) -> None:
    def case(v1: Any) -> Any:
        util = inner(v1, "ops.linalg.linear_operator_util")
        return list(util.broadcast_matrix_batch_dims([regular(2, 1, 3, 3), regular(4, 2, 2)]))

    compare(v1, [case])


def test_the_division_of_python_2_rounds_integers_down(v1: Any) -> None:
    compare(
        v1,
        [
            lambda v1: v1.constant([7, -7]).__div__(2),
            lambda v1: v1.constant([2, -2]).__rdiv__(7),
            lambda v1: v1.constant([7.0, -7.0]).__div__(2.0),
            lambda v1: v1.constant([1j, 2]).__div__(2j),
        ],
    )
    for each in (v1, capstan):
        with each.Graph().as_default(), pytest.raises(TypeError, match="Expected int32"):
            each.constant([7]).__div__(2.0)


def test_a_tensor_has_no_truth_value_in_python_2(v1: Any) -> None:
    for each in (v1, capstan):
        with each.Graph().as_default(), pytest.raises(TypeError):
            each.constant(True).__nonzero__()


def test_values_of_several_tensors_are_composite(v1: Any) -> None:
    def kinds(v1: Any) -> list[bool]:
        composite = inner(v1, "framework.composite_tensor").CompositeTensor
        with v1.Graph().as_default():
            values = [
                v1.constant(1),
                v1.Variable(1, use_resource=False),
                v1.IndexedSlices(v1.constant([1.0]), v1.constant([0])),
                v1.SparseTensor([[0]], [1], [2]),
                v1.ragged.constant([[1]]),
            ]
            return [isinstance(value, composite) for value in values]

    assert kinds(capstan) == kinds(v1) == [False, False, True, True, True]


def test_values_that_are_no_tensors_are_static(v1: Any) -> None:
    def are_returned(v1: Any) -> list[bool]:
        with v1.Graph().as_default():
            values = [
                *(True, np.True_, np.int64(3), np.array(3), [1], (1, 2), {}, None, "axis", 1j),
                *(v1.TensorShape([1]), v1.float32, v1.FIFOQueue(1, v1.float32)),
                *(v1.Variable(1.0), v1.constant(1), v1.SparseTensor([[0]], [1], [2])),
            ]
            return [v1.get_static_value(value) is value for value in values]

    assert are_returned(capstan) == are_returned(v1) == [True] * 13 + [False] * 3


def test_a_value_that_is_computed_from_constants_is_known() -> None:
    functions = inner(capstan, "pywrap_tensorflow")
    with capstan.Graph().as_default() as graph:

        def known(tensor: Any) -> Any:
            return functions.TF_TryEvaluateConstant_wrapper(graph._c_graph, tensor._as_tf_output())

        assert known(capstan.constant(2) * 3 > 5) == np.True_
        assert known(capstan.placeholder(capstan.int32) > 5) is None


@pytest.mark.parametrize("data_format", ["NHWC", "NWC"])
def test_a_prepared_convolution_is_that_of_its_options(data_format: str) -> None:
    nn_ops = inner(capstan, "ops.nn_ops")
    rank = len(data_format)
    images = np.arange(2 * 6 ** (rank - 2) * 2, dtype=np.float32).reshape(2, *[6] * (rank - 2), 2)
    filters = np.ones([*[3] * (rank - 2), 2, 4], np.float32)
    options = {"strides": [2] * (rank - 2), "data_format": data_format}
    with capstan.Graph().as_default(), capstan.Session() as session:
        shapes = [capstan.TensorShape(each.shape) for each in (images, filters)]
        prepared = nn_ops.Convolution(*shapes, padding="SAME", name="c", **options)
        made = prepared(images, filters)
        assert made.op.name.startswith("c")
        found, expected = session.run(
            [made, capstan.nn.convolution(images, filters, "SAME", **options)]
        )
        np.testing.assert_array_equal(found, expected)
        unknown = capstan.TensorShape(None)
        with pytest.raises(ValueError, match="rank of input or filter must be known"):
            nn_ops.Convolution(unknown, unknown, "SAME")
