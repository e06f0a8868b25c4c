"""The nearest allowed weights of constraints, and the fixed point of a matrix.

Sources: contrib/constrained_optimization/python/{external,swap}_regret_optimizer.py. The loops
run on at most as many values as there are weights, after which the nearest point is exact
(Michelot, 1986).
"""

from collections.abc import Callable
from typing import Any, Final

from capstan.api import array_ops, math_ops, reduce_ops, while_ops
from capstan.framework.raw import raw

_EPSILON: Final = 1e-6
_ITERATIONS: Final = 100


def in_ball(multipliers: Any, radius: float) -> Any:
    """Return the nearest vector of numbers of at least 0 whose sum is at most `radius`.

    Raises:
        ValueError: the shape of the vector is not known.
    """

    def change(values: Any, active: Any) -> Any:
        excess = radius - reduce_ops.reduce_sum(values)
        count = raw.Maximum(1.0, reduce_ops.reduce_sum(active))
        return raw.Minimum(0.0, excess / count)

    return _nearest(multipliers, 1, change)


def stochastic(matrix: Any) -> Any:
    """Return the nearest square matrix of numbers of at least 0 whose columns have the sum 1.

    Raises:
        ValueError: the matrix is not square, or its shape is not known.
    """

    def change(values: Any, active: Any) -> Any:
        missing = 1.0 - reduce_ops.reduce_sum(values, 0, keepdims=True)
        return missing / raw.Maximum(1.0, reduce_ops.reduce_sum(active, 0, keepdims=True))

    return _nearest(matrix, 2, change)


def log_stochastic(log_matrix: Any) -> Any:
    """Return the logarithms of a matrix whose columns are scaled to the sum 1."""
    log_matrix = log_matrix - reduce_ops.reduce_max(log_matrix, 0, keepdims=True)
    sums = reduce_ops.reduce_sum(raw.Exp(log_matrix), 0, keepdims=True)
    return log_matrix - raw.Log(sums)


def stationary(matrix: Any) -> Any:
    """Return the distribution that a matrix with columns of the sum 1 does not change.

    The power method ends after 100 products, or when the vector no longer moves.
    """

    def step(number: Any, vector: Any, _: Any) -> Any:
        product = math_ops.matmul(matrix, array_ops.expand_dims(vector, 1))[:, 0]
        return number + 1, product / _norm(product), vector

    ones = raw.OnesLike(matrix[:, 0])
    _, vector, _ = while_ops.while_loop(
        lambda number, vector, before: raw.LogicalAnd(
            raw.Less(number, _ITERATIONS), raw.Greater(_norm(vector - before), _EPSILON)
        ),
        step,
        step(0, ones / _norm(ones), ones),
        name="power_method",
    )
    vector = raw.Abs(vector)
    return vector / reduce_ops.reduce_sum(vector)


def _nearest(values: Any, rank: int, change: Callable[[Any, Any], Any]) -> Any:
    """Return values of at least 0. `change` is what active values need to have the right sum.

    Each round makes the negative values inactive, until there are no more of them.
    """
    sizes = values.shape.as_list() if values.shape.ndims == rank else [None]
    if None in sizes or len(set(sizes)) > 1:
        raise ValueError(
            f"multipliers must have {rank} dimensions of one known size, but the shape is "
            f"{values.shape}"
        )

    def step(number: Any, values: Any, active: Any, _: Any) -> Any:
        values = values + change(values, active) * active
        positive = math_ops.cast(raw.Greater(values, 0.0), values.dtype)
        return number + 1, values * positive, positive, active

    ones = raw.OnesLike(values)
    return while_ops.while_loop(
        lambda number, _, active, before: raw.LogicalAnd(
            raw.Less(number, sizes[0]), reduce_ops.reduce_any(raw.NotEqual(active, before))
        ),
        step,
        step(0, raw.Identity(values), ones, ones),
        name="euclidean_projection",
    )[1]


def _norm(vector: Any) -> Any:
    return raw.Sqrt(reduce_ops.reduce_sum(raw.Square(vector)))
