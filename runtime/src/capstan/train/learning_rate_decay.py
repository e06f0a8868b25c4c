"""`tf.train.*_decay`: learning rates that are functions of the global step.

Each function returns a scalar tensor with the dtype of the learning rate. `learning_rate` and the
other parameters are numbers or scalar tensors; `global_step` is a scalar, a variable or a number.
`name` is the name of the name scope. Source: tensorflow/python/training/learning_rate_decay.py.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from capstan.api import cond_ops, math_ops
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


def exponential_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Any:
    """Return learning_rate * decay_rate ^ (global_step / decay_steps).

    With `staircase`, the quotient is an integer. Raises ValueError without a global step.
    """
    with scope(global_step, "exponential_decay", name or "ExponentialDecay") as name_scope:
        rate = convert.convert_to_tensor(learning_rate, name="learning_rate")
        base = math_ops.cast(decay_rate, rate.dtype)
        exponent = _quotient(global_step, decay_steps, rate.dtype, staircase)
        return raw.Mul(rate, raw.Pow(base, exponent), name=name_scope)


def natural_exp_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Any:
    """Return learning_rate * exp(-decay_rate * global_step / decay_steps)."""
    base = raw.Exp(raw.Neg(decay_rate))
    return exponential_decay(learning_rate, global_step, decay_steps, base, staircase, name)


def inverse_time_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Any:
    """Return learning_rate / (1 + decay_rate * global_step / decay_steps)."""
    with scope(global_step, "inverse_time_decay", name or "InverseTimeDecay") as name_scope:
        rate = convert.convert_to_tensor(learning_rate, name="learning_rate")
        factor = math_ops.cast(decay_rate, rate.dtype)
        progress = _quotient(global_step, decay_steps, rate.dtype, staircase)
        one = math_ops.cast(1, rate.dtype)
        return raw.RealDiv(rate, raw.Add(one, raw.Mul(factor, progress)), name=name_scope)


def polynomial_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    end_learning_rate: Any = 0.0001,
    power: Any = 1.0,
    cycle: bool = False,
    name: str | None = None,
) -> Any:
    """Return (learning_rate - end) * (1 - global_step / decay_steps) ^ power + end.

    After `decay_steps` steps, the rate stays `end_learning_rate`. With `cycle`, `decay_steps` is
    multiplied by the smallest integer that makes it at least as large as the global step.
    """
    with scope(global_step, "polynomial_decay", name or "PolynomialDecay") as name_scope:
        rate = convert.convert_to_tensor(learning_rate, name="learning_rate")
        end = math_ops.cast(end_learning_rate, rate.dtype)
        exponent = math_ops.cast(power, rate.dtype)
        step = math_ops.cast(global_step, rate.dtype)
        steps = math_ops.cast(decay_steps, rate.dtype)
        if cycle:
            one = math_ops.cast(1.0, rate.dtype)
            cycles = cond_ops.cond(
                raw.Equal(step, 0), lambda: one, lambda: raw.Ceil(raw.RealDiv(step, steps))
            )
            steps = raw.Mul(steps, cycles)
        else:
            step = raw.Minimum(step, steps)
        left = raw.Sub(1, raw.RealDiv(step, steps))
        return raw.Add(raw.Mul(raw.Sub(rate, end), raw.Pow(left, exponent)), end, name=name_scope)


def piecewise_constant(
    x: Any, boundaries: Sequence[Any], values: Sequence[Any], name: str | None = None
) -> Any:
    """Return values[i] for the first i with x <= boundaries[i], or else the last value.

    Raises:
        ValueError: there is not one value more than there are boundaries, or their dtypes differ.
    """
    if len(boundaries) != len(values) - 1:
        raise ValueError("The length of boundaries should be 1 less than the length of values")
    point = convert.convert_to_tensor(x)
    limits = [_boundary(limit, point.dtype.base_dtype) for limit in boundaries]
    rates = [convert.convert_to_tensor(value) for value in values]
    for rate in rates[1:]:
        if rate.dtype.base_dtype != rates[0].dtype.base_dtype:
            raise ValueError(
                "Values must have elements all with the same dtype "
                f"({rates[0].dtype.base_dtype} vs {rate.dtype.base_dtype})."
            )
    with graphs.get_default_graph().name_scope(name or "PiecewiseConstant"):
        if not limits:
            return raw.Identity(rates[0])
        cases = [
            (raw.LessEqual(point, limits[0]), _always(rates[0])),
            (raw.Greater(point, limits[-1]), _always(rates[-1])),
        ]
        for low, high, rate in zip(limits[:-1], limits[1:], rates[1:-1], strict=True):
            is_between = raw.LogicalAnd(raw.Greater(point, low), raw.LessEqual(point, high))
            cases.append((is_between, _always(rate)))
        # The cases are complete, so the default is never used, but TensorFlow's graph has one.
        return cond_ops.case(cases, _always(rates[0]), exclusive=True)


piecewise_constant_decay = piecewise_constant


def _always(rate: Any) -> Callable[[], Any]:
    return lambda: rate


def _boundary(limit: Any, dtype: dtypes.DType) -> Any:
    boundary = convert.convert_to_tensor(limit)
    own = boundary.dtype.base_dtype
    if own == dtype:
        return boundary
    # A cast of a float boundary to an integer would change the comparison.
    if (own, dtype) != (dtypes.int32, dtypes.int64):
        raise ValueError(f"Boundaries ({own}) must have the same dtype as x ({dtype}).")
    return math_ops.cast(boundary, dtype)


def _quotient(global_step: Any, decay_steps: Any, dtype: dtypes.DType, is_integer: bool) -> Any:
    steps = math_ops.cast(decay_steps, dtype)
    quotient = raw.RealDiv(math_ops.cast(global_step, dtype), steps)
    return raw.Floor(quotient) if is_integer else quotient


@contextlib.contextmanager
def scope(global_step: Any, function: str, name: str) -> Iterator[str]:
    """Open the name scope of a decay.

    Raises:
        ValueError: the global step is None.
    """
    if global_step is None:
        raise ValueError(f"global_step is required for {function}.")
    with graphs.get_default_graph().name_scope(name) as name_scope:
        yield name_scope
