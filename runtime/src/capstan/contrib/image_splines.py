"""Splines through points (contrib/image/python/ops/interpolate_spline.py).

A polyharmonic spline is a sum of functions of the distances to the given points, and a linear
function. Its order decides how smooth it is: 1 is piecewise nearly linear, 2 the thin-plate spline.
"""

from typing import Any, Final

from capstan.api import array_ops, creation_ops, math_ops, matrix_ops, reduce_ops
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

_LEAST: Final = 1e-10
"""The least squared distance whose logarithm or root is computed, because that of 0 has none, or no
derivative."""


def interpolate_spline(
    train_points: Any,
    train_values: Any,
    query_points: Any,
    order: int,
    regularization_weight: float = 0.0,
    name: str = "interpolate_spline",
) -> Any:
    """Return the values [batch, m, k] of the spline of an order at `query_points` [batch, m, d].

    The spline has the values `train_values` [batch, n, k] at `train_points` [batch, n, d]. With a
    positive `regularization_weight` it is smoother, and has them only nearly. All arguments except
    the last three have gradients.

    Raises:
        ValueError: d or k is unknown before the step.
        InvalidArgumentError: in a step, the points do not determine a spline: for example, two of
            them are equal.
    """
    graph = graphs.get_default_graph()
    with graph.name_scope(name):
        points, values, queries = map(
            convert.convert_to_tensor, (train_points, train_values, query_points)
        )
        for what, each in (("input points (d)", points), ("output values (k)", values)):
            if each.shape.ndims is None or each.shape.as_list()[-1] is None:
                raise ValueError(f"The dimensionality of the {what} must be statically-inferrable.")
        with graph.name_scope("solve"):
            weights, slopes = _solved(points, values, order, regularization_weight)
        with graph.name_scope("predict"):
            radial = math_ops.matmul(_phi(_squared_distances(queries, points), order), weights)
            return radial + math_ops.matmul(_with_ones(queries), slopes)


def _solved(points: Any, values: Any, order: int, regularization_weight: float) -> tuple[Any, Any]:
    """Return the weights of the radial functions, and those of the linear function."""
    count = array_ops.shape(points)[1]
    radial = _phi(_squared_distances(points, points), order)
    if regularization_weight > 0:
        eye = matrix_ops.eye(count, dtype=points.dtype.base_dtype)
        radial += regularization_weight * raw.ExpandDims(eye, 0)
    linear = _with_ones(points)
    across = array_ops.transpose(linear, [0, 2, 1])
    corner = creation_ops.zeros_like(math_ops.matmul(across, linear))
    left = array_ops.concat([radial, across], 1)
    right = array_ops.concat([linear, corner], 1)
    rest = creation_ops.zeros_like(math_ops.matmul(across, values))
    solution = raw.MatrixSolve(
        array_ops.concat([left, right], 2), array_ops.concat([values, rest], 1)
    )
    return solution[:, :count], solution[:, count:]


def _with_ones(points: Any) -> Any:
    return array_ops.concat([points, creation_ops.ones_like(points[..., :1])], 2)


def _squared_distances(x: Any, y: Any) -> Any:
    """Return the squared distances [batch, n, m] of the points [batch, n, d] and [batch, m, d]."""
    squares = (reduce_ops.reduce_sum(math_ops.square(each), 2) for each in (x, y))
    of_x, of_y = (raw.ExpandDims(each, axis) for each, axis in zip(squares, (2, 1), strict=True))
    return of_x - 2 * math_ops.matmul(x, y, adjoint_b=True) + of_y


def _phi(squared: Any, order: int) -> Any:
    """Return the radial function of an order at squared distances."""
    bounded = math_ops.maximum(squared, convert.constant(_LEAST, squared.dtype.base_dtype))
    if order == 1:
        return math_ops.sqrt(bounded)
    if order == 2:
        return 0.5 * squared * math_ops.log(bounded)
    if order == 4:
        return 0.5 * math_ops.square(squared) * math_ops.log(bounded)
    power = math_ops.pow(bounded, 0.5 * order)
    return power if order % 2 else 0.5 * power * math_ops.log(bounded)
