"""`tf.contrib.integrate`: solutions of ordinary differential equations.

Source: contrib/integrate/python/ops/odes.py. `func(y, t)` returns the derivative of the state `y`,
a tensor of any shape, at the time `t`, a scalar.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from capstan.api import (
    array_ops,
    cond_ops,
    context,
    control_flow_ops,
    math_ops,
    reduce_ops,
    while_ops,
)
from capstan.api.absent import absent
from capstan.api.scoped import scoped
from capstan.core import alias, dtypes
from capstan.framework import convert
from capstan.framework.raw import raw
from capstan.framework.tensor_array import TensorArray

__all__ = ["odeint", "odeint_fixed"]

Function = Callable[[Any, Any], Any]

# The coefficients of Dormand and Prince, with the middle of a step by Shampine (1986).
_ALPHA: Final = (1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
_BETA: Final = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
_MIDDLE: Final = (
    6025192743 / 30085553152 / 2, 0.0, 51252292925 / 65400821598 / 2,
    -2691868925 / 45128329728 / 2, 187940372067 / 1594534317056 / 2,
    -1776094331 / 19743644256 / 2, 11237099 / 235043384 / 2,
)  # fmt: skip
_ERROR: Final = (
    1951 / 21600 - 35 / 384, 0.0, 22642 / 50085 - 500 / 1113, 451 / 720 - 125 / 192,
    -12231 / 42400 + 2187 / 6784, 649 / 6300 - 11 / 84, 1 / 60,
)  # fmt: skip
_ORDER: Final = 5


def odeint(
    func: Function,
    y0: Any,
    t: Any,
    rtol: float = 1e-6,
    atol: float = 1e-12,
    method: str | None = None,
    options: dict[str, Any] | None = None,
    full_output: bool = False,
    name: str | None = None,
) -> Any:
    """Return the states at the times `t`, a vector that grows. The first state is `y0`.

    The steps adapt to the errors, which stay below `atol` + `rtol` times the state (the method
    "dopri5"). `options` are `first_step`, `safety`, `ifactor`, `dfactor` and `max_num_steps`. With
    `full_output`, return a dictionary too: `num_func_evals`, and for each step `integrate_points`
    and `error_ratio`. The result has gradients. A step fails with InvalidArgumentError if the times
    do not grow, or if a state between two times needs more than `max_num_steps` steps.

    Raises:
        ValueError: the method is unknown, or there are options without a method.
        TypeError: the state or the times are no floating point numbers.
    """
    if method not in (None, "dopri5"):
        raise ValueError(f"invalid method: {method!r}")
    if options is not None and method is None:
        raise ValueError("cannot supply `options` without specifying `method`")
    with scoped(name, "odeint", (y0, t)):
        y0, t = convert.convert_to_tensor(y0), _times(t)
        _check_types(y0, t)
        return _Adaptive(func, y0, t, rtol, atol, **(options or {})).solution(full_output)


class _Adaptive:
    """The method of Dormand and Prince, with polynomials between the ends of a step."""

    def __init__(
        self, func: Function, y0: Any, t: Any, rtol: float, atol: float, first_step: float = 1.0,
        safety: float = 0.9, ifactor: float = 10.0, dfactor: float = 0.2, max_num_steps: int = 1000,
    ) -> None:  # fmt: skip
        self._func, self._y0, self._t = func, y0, t
        self._rtol, self._atol = rtol, atol
        self._first_step = math_ops.cast(first_step, t.dtype)
        self._safety, self._ifactor, self._dfactor = safety, ifactor, dfactor
        self._max_num_steps = max_num_steps

    def solution(self, full_output: bool) -> Any:
        t, y0 = self._t, self._y0
        with context.control_dependencies([_assert_growing(t)]):
            count = array_ops.size(t)
        states = TensorArray(y0.dtype, size=count).write(0, y0)
        points = TensorArray(t.dtype, size=0, dynamic_size=True)
        ratios = TensorArray(t.dtype, size=0, dynamic_size=True)
        # The polynomial is constant before the first step.
        polynomial = array_ops.stack([y0] * 5)
        step = (y0, self._func(y0, t[0]), t[0], t[0], self._first_step, polynomial)

        def advance(i: Any, states: Any, points: Any, ratios: Any, *step: Any) -> tuple[Any, ...]:
            _, points, ratios, *step = while_ops.while_loop(
                lambda n, points, ratios, y, f, t0, t1, *_: t[i] > t1,
                self._try_step,
                (0, points, ratios, *step),
            )
            return (i + 1, states.write(i, self._between(step, t[i])), points, ratios, *step)

        _, states, points, ratios, *_ = while_ops.while_loop(
            lambda i, *_: i < count, advance, (1, states, points, ratios, *step)
        )
        found = states.stack()
        found.set_shape(t.shape.concatenate(y0.shape))
        if not full_output:
            return found
        ends = points.stack()
        more = {
            "num_func_evals": 6 * array_ops.size(ends) + 1,
            "integrate_points": ends,
            "error_ratio": ratios.stack(),
        }
        return found, more

    def _try_step(
        self, n: Any, points: Any, ratios: Any, y: Any, f: Any, t0: Any, t1: Any, dt: Any,
        polynomial: Any,
    ) -> tuple[Any, ...]:  # fmt: skip
        """Take a step from `t1`, and keep the old state if the error is too large."""
        checks = [
            control_flow_ops.Assert(t1 + dt > t1, ["underflow in dt", dt]),
            control_flow_ops.Assert(n < self._max_num_steps, ["max_num_steps exceeded"]),
            control_flow_ops.Assert(
                reduce_ops.reduce_all(raw.IsFinite(math_ops.abs(y))),
                ["non-finite values in state `y`", y],
            ),
        ]
        with context.control_dependencies(checks):
            y = array_ops.identity(y)
        length = math_ops.cast(dt, y.dtype)
        slopes, end = [f], y
        for alpha, beta in zip(_ALPHA, _BETA, strict=True):
            end = y + length * _weighted(beta, slopes)
            slopes.append(self._func(end, t1 + alpha * dt))
        error = math_ops.abs(length * _weighted(_ERROR, slopes))
        limit = self._atol + self._rtol * math_ops.maximum(math_ops.abs(y), math_ops.abs(end))
        ratio = math_ops.cast(
            math_ops.sqrt(reduce_ops.reduce_mean(math_ops.square(error / limit))), dt.dtype
        )
        fitted = _fitted(y, end, y + length * _weighted(_MIDDLE, slopes), f, slopes[-1], length)
        is_good = ratio <= 1.0
        kept = cond_ops.cond(
            is_good,
            lambda: (end, slopes[-1], t1 + dt, fitted),
            lambda: (y, f, array_ops.identity(t1), polynomial),
        )
        shrink = ratio ** (1.0 / _ORDER) / self._safety
        factor = math_ops.maximum(
            1.0 / self._ifactor, math_ops.minimum(shrink, 1.0 / self._dfactor)
        )
        return (
            n + 1,
            points.write(points.size(), t1 + dt),
            ratios.write(ratios.size(), ratio),
            kept[0],
            kept[1],
            t1,
            kept[2],
            dt / factor,
            kept[3],
        )

    def _between(self, step: Sequence[Any], time: Any) -> Any:
        """Return the state at a time inside of the last step."""
        *_, t0, t1, _, polynomial = step
        x = math_ops.cast((time - t0) / (t1 - t0), polynomial.dtype)
        found = polynomial[0]
        for place in range(1, 5):
            found = found * x + polynomial[place]
        return found


def _weighted(weights: Sequence[float], slopes: Sequence[Any]) -> Any:
    terms = [weight * slope for weight, slope in zip(weights, slopes, strict=True) if weight]
    return math_ops.add_n(terms)


def _fitted(y0: Any, y1: Any, middle: Any, f0: Any, f1: Any, dt: Any) -> Any:
    """Return the coefficients of the polynomial of degree 4 through a step, the highest first."""
    ends = (dt * f0, dt * f1, y0, y1, middle)
    rows = ((-2, 2, -8, -8, 16), (5, -3, 18, 14, -32), (-4, 1, -11, -5, 16))
    highest = [_weighted([float(each) for each in row], ends) for row in rows]
    return array_ops.stack([*highest, dt * f0, y0])


def odeint_fixed(
    func: Function,
    y0: Any,
    t: Any,
    dt: Any = None,
    method: str = "rk4",
    name: str | None = None,
) -> Any:
    """Return the states at the times `t`, which are reached in equal steps of about `dt`.

    `dt` is a scalar, or a vector with a number for each interval. It is made smaller so that a
    whole number of steps fits. By default, an interval is one step. `method` is "midpoint" or
    "rk4".

    Raises:
        ValueError: the method is unknown, or `t` and `dt` do not go together.
        TypeError: as `odeint`.
    """
    steps = {"midpoint": _midpoint, "rk4": _runge_kutta}
    if method not in steps:
        raise ValueError(f"method not supported: {method!s}")
    with scoped(name, "odeint_fixed", (y0, t)):
        y0, t = convert.convert_to_tensor(y0), _times(t)
        _check_types(y0, t)
        intervals = t[1:] - t[:-1]
        length = intervals if dt is None else math_ops.cast(dt, t.dtype)
        if t.shape.ndims not in (None, 1) or length.shape.ndims not in (None, 0, 1):
            raise ValueError("t must be a 1D tensor, and dt a scalar or a 1D tensor")
        intervals.shape.assert_is_compatible_with((intervals / length).shape)
        counts = raw.Ceil(intervals / length)
        lengths = intervals / counts
        with context.control_dependencies([_assert_growing(t)]):
            times = array_ops.size(t)

        def advance(i: Any, states: Any, y: Any) -> tuple[Any, ...]:
            each = lengths[i - 1]

            def step(j: Any, y: Any) -> tuple[Any, ...]:
                now = t[i - 1] + math_ops.cast(j, t.dtype) * each
                change = steps[method](func, y, now, each)
                return j + 1, y + math_ops.cast(change, y.dtype)

            count = math_ops.cast(counts[i - 1], dtypes.int32)
            _, y = while_ops.while_loop(lambda j, _: j < count, step, (0, y))
            return i + 1, states.write(i, y), y

        states = TensorArray(y0.dtype, size=times).write(0, y0)
        _, states, _ = while_ops.while_loop(lambda i, *_: i < times, advance, (1, states, y0))
        found = states.stack()
        found.set_shape(t.shape.concatenate(y0.shape))
        return found


def _midpoint(func: Function, y: Any, t: Any, dt: Any) -> Any:
    length = math_ops.cast(dt, y.dtype)
    return length * func(y + func(y, t) * length / 2.0, t + dt / 2.0)


def _runge_kutta(func: Function, y: Any, t: Any, dt: Any) -> Any:
    length = math_ops.cast(dt, y.dtype)
    first = func(y, t)
    second = func(y + length * first / 2.0, t + dt / 2.0)
    third = func(y + length * second / 2.0, t + dt / 2.0)
    fourth = func(y + length * third, t + dt)
    return (first + 2.0 * second + 2.0 * third + fourth) * (length / 6.0)


def _times(t: Any) -> Any:
    """Return the times as a tensor: numbers of Python are float64."""
    return convert.convert_to_tensor(t, None if hasattr(t, "dtype") else dtypes.float64)


def _check_types(y0: Any, t: Any) -> None:
    if not (y0.dtype.is_floating or y0.dtype.is_complex):
        raise TypeError("`y0` must have a floating point or complex floating point dtype")
    if not t.dtype.is_floating:
        raise TypeError("`t` must have a floating point dtype")


def _assert_growing(t: Any) -> Any:
    return control_flow_ops.Assert(
        reduce_ops.reduce_all(t[1:] > t[:-1]), ["`t` must be monotonic increasing"]
    )


alias.grow(__name__, {"python.ops.odes": (__name__,)})


def __getattr__(name: str) -> Any:
    raise absent("tf.contrib.integrate", name)


def __dir__() -> list[str]:
    return sorted(__all__)
