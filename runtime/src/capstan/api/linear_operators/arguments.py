"""Arguments, checks and systems of equations that the classes of operators share.

Source: python/ops/linalg/linear_operator_util.py.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.api import (
    broadcast_ops,
    check_ops,
    check_ranks,
    complex_ops,
    control_flow_ops,
    creation_ops,
    linear_algebra_ops,
    math_ops,
    matrix_ops,
    variables,
)
from capstan.core import dtypes, shapes, tensor_shape
from capstan.framework import convert, operators
from capstan.framework.raw import raw


def parameter(value: Any, name: str) -> Any:
    """Return a tensor, or the variable itself, so that each use reads its value anew."""
    if isinstance(value, variables.Variable):
        return value
    return convert.convert_to_tensor(value, name=name)


def sizes(value: Any, name: str) -> Any:
    """Return the tensor of an argument that is a size or a shape.

    Raises:
        TypeError: the argument is a variable.
    """
    if isinstance(value, variables.Variable):
        raise TypeError(f"Argument {name} cannot be reference type. Found: {type(value)}")
    is_empty = isinstance(value, list | tuple) and not value
    return convert.convert_to_tensor(value, dtypes.int32 if is_empty else None, name)


def checked_sizes(tensor: Any, rank: int, name: str, has_asserts: bool) -> tuple[Any, Any]:
    """Return the tensor of sizes, and its value as an array or None.

    Sizes are integers that are not negative. `has_asserts` adds the check to the step.

    Raises:
        TypeError: the sizes are not integers.
        ValueError: the known sizes have another rank, or one of them is negative.
    """
    kind = f"must be a {rank}-D Tensor."
    if has_asserts:
        checks = [
            check_ranks.assert_rank(tensor, rank, message=f"Argument {name} {kind}"),
            check_ops.assert_non_negative(tensor, message=f"Argument {name} must be non-negative."),
        ]
        tensor = control_flow_ops.with_dependencies(checks, tensor)
    if not tensor.dtype.is_integer:
        raise TypeError(f"Argument {name} must be integer type.  Found: {tensor}")
    known = convert.constant_value(tensor)
    if known is not None:
        if known.ndim != rank:
            raise ValueError(f"Argument {name} {kind}  Found: {known}")
        if np.any(known < 0):
            raise ValueError(f"Argument {name} must be non-negative.  Found: {known}")
    return tensor, known


def check_rank(tensor: Any, least: int, name: str) -> None:
    """Raise ValueError if the tensor is known to have fewer than `least` axes."""
    rank = tensor.shape.ndims
    if rank is not None and rank < least:
        word = "dimension" if least == 1 else "dimensions"
        raise ValueError(f"Argument {name} must have at least {least} {word}.  Found: {tensor}")


def combined_hint(operator: Any, hint: str, provided: bool | None, message: str) -> bool | None:
    """Return the value of a hint that two operators share: the operator's own, or the provided.

    Raises:
        ValueError: the operator contradicts the provided hint. `message` says why.
    """
    own = getattr(operator, hint)
    if (own is False and provided) or (own and provided is False):
        raise ValueError(message)
    if own or provided:
        return True
    return False if own is False or provided is False else None


def implied_hint(
    operators: Sequence[Any], hint: str, provided: bool | None, message: str
) -> bool | None:
    """Return True if all operators have the hint, else the provided value.

    Raises:
        ValueError: all operators have it, and the provided value is False.
    """
    if not all(getattr(operator, hint) for operator in operators):
        return provided
    if provided is False:
        raise ValueError(message)
    return True


def one_dtype(operators: Sequence[Any]) -> Any:
    """Return the type of all operators.

    Raises:
        TypeError: the operators have different types.
    """
    first = operators[0].dtype
    if any(operator.dtype != first for operator in operators):
        found = "   ".join(str((operator.name, operator.dtype)) for operator in operators)
        raise TypeError(f"Expected all operators to have the same dtype.  Found {found}")
    return first


def broadcast_batch(operators: Sequence[Any]) -> shapes.Shape:
    """Return the static batch shape of a combination of operators."""
    batch: shapes.Shape = operators[0].batch_shape.internal
    for operator in operators[1:]:
        batch = shapes.broadcast(batch, operator.batch_shape.internal)
    return batch


def broadcast_batch_tensor(operators: Sequence[Any]) -> Any:
    """Return the batch shape of a combination of operators as a tensor."""
    batch = operators[0].batch_shape_tensor()
    for operator in operators[1:]:
        batch = broadcast_ops.broadcast_dynamic_shape(batch, operator.batch_shape_tensor())
    return batch


def broadcast_matrices(matrices: Sequence[Any]) -> list[Any]:
    """Return the matrices as copies that all have the same batch shape."""
    tensors = [convert.convert_to_tensor(matrix) for matrix in matrices]
    batches = [_batch(tensor) for tensor in tensors]
    static = batches[0]
    for batch in batches[1:]:
        static = shapes.broadcast(static, batch)
    if shapes.is_fully_defined(static):
        wanted = [batch != static for batch in batches]
        batch_shape: Any = np.array(static, np.int32)
    else:
        wanted = [True] * len(tensors)
        batch_shape = raw.Shape(tensors[0])[:-2]
        for tensor in tensors[1:]:
            batch_shape = broadcast_ops.broadcast_dynamic_shape(batch_shape, raw.Shape(tensor)[:-2])
    return [
        raw.BroadcastTo(tensor, raw.ConcatV2([batch_shape, raw.Shape(tensor)[-2:]], 0))
        if is_wanted
        else tensor
        for tensor, is_wanted in zip(tensors, wanted, strict=True)
    ]


def _batch(tensor: Any) -> shapes.Shape:
    shape: shapes.Shape = tensor.shape.internal
    return None if shape is None else shape[:-2]


def matmul(a: Any, b: Any, *, adjoint_a: bool = False, adjoint_b: bool = False) -> Any:
    """Return the product of two matrices, with broadcast batches."""
    a, b = convert.convert_to_tensor(a), convert.convert_to_tensor(b)
    return operators.matrix_product(a, b, None, adjoint_x=adjoint_a, adjoint_y=adjoint_b)


def adjoint_if(is_adjoint: bool, matrix: Any) -> Any:
    return matrix_ops.adjoint(matrix) if is_adjoint else matrix


def cholesky_solve(factor: Any, rhs: Any) -> Any:
    """Solve the system whose matrix has this Cholesky factor, with broadcast batches."""
    return linear_algebra_ops.cholesky_solve(*broadcast_matrices([factor, rhs]))


def matrix_solve(matrix: Any, rhs: Any, *, adjoint: bool = False) -> Any:
    """Solve a system of equations, with broadcast batches."""
    return raw.MatrixSolve(*broadcast_matrices([matrix, rhs]), adjoint=adjoint)


def triangular_solve(matrix: Any, rhs: Any, *, adjoint: bool = False) -> Any:
    """Solve a system with a lower triangular matrix, with broadcast batches."""
    return raw.MatrixTriangularSolve(
        *broadcast_matrices([matrix, rhs]), lower=True, adjoint=adjoint
    )


def with_batch(x: Any, operator: Any) -> Any:
    """Return `x` with a batch shape that is broadcast with the operator's."""
    batch = operator.batch_shape.internal
    if shapes.is_fully_defined(batch):
        special = (*batch, 1, 1)
        if shapes.broadcast(x.shape.internal, special) == x.shape.internal is not None:
            return x
        return x + creation_ops.zeros(special, operator.dtype)
    special = raw.ConcatV2([operator.batch_shape_tensor(), [1, 1]], 0)
    return x + creation_ops.zeros(special, operator.dtype)


def with_checked_rows(operator: Any, x: Any) -> Any:
    """Return `x`, whose step fails if its rows do not fit the operator."""
    check = check_ops.assert_equal(
        raw.Shape(x)[-2],
        operator.domain_dimension_tensor(),
        message="Dimensions are not compatible.  "
        "shape[-2] of argument to be the same as this operator",
    )
    return control_flow_ops.with_dependencies([check], x)


def assert_no_zeros(x: Any, message: str) -> Any:
    """Return an operation that fails if an element has the absolute value 0."""
    x = convert.convert_to_tensor(x, name="x")
    zero = convert.convert_to_tensor(0, x.dtype.base_dtype.real_dtype)
    return check_ops.assert_less(zero, operators.absolute(x, None), message=message)


def assert_real(x: Any, message: str) -> Any:
    """Return an operation that fails if an element has an imaginary part."""
    x = convert.convert_to_tensor(x, name="x")
    if x.dtype.is_floating:
        return control_flow_ops.no_op()
    zero = convert.convert_to_tensor(0, x.dtype.base_dtype.real_dtype)
    return check_ops.assert_equal(zero, complex_ops.imag(x), message=message)


def log_absolute(x: Any) -> Any:
    """Return the logarithm of the absolute value of each element, in the real type."""
    return math_ops.log(operators.absolute(convert.convert_to_tensor(x), None))


def static(*sizes: Any) -> tuple[int | None, ...]:
    """Return dimensions and arrays of one size as a static shape."""
    values = [tensor_shape.dimension_value(size) for size in sizes]
    return tuple(None if value is None else int(value) for value in values)


def static_in_batch(batch: Any, known_batch: Any, matrix: tuple[int | None, ...]) -> shapes.Shape:
    """Return the static shape of matrices in a batch whose shape is the tensor `batch`, or None.

    `known_batch` is the constant value of `batch`, or None.
    """
    if batch is None:
        return matrix
    if known_batch is None:
        count = batch.shape.internal
        return None if not count or count[0] is None else (None,) * count[0] + matrix
    return (*known_batch.tolist(), *matrix)


def in_batch(batch: Any, sizes: list[Any]) -> Any:
    """Return the shape of matrices in a batch whose shape is the tensor `batch`, or None."""
    matrix = raw.Pack(sizes)
    return matrix if batch is None else raw.ConcatV2([batch, matrix], 0)
