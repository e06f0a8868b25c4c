"""Functions of `tf.math`: statistics, polynomials, Bessel functions and running sums.

Most of them have no other name in TensorFlow 1. Sources: python/ops/math_ops.py,
special_math_ops.py. Floating-point arguments keep their type.
"""

from typing import Any

import numpy as np

from capstan.api import plain, reduce_ops
from capstan.api.scoped import scoped
from capstan.framework import convert, operators
from capstan.framework.raw import raw

__all__ = ["lbeta"]

bessel_i0e = plain.function(
    "bessel_i0e", "BesselI0e", "Return the modified Bessel function of order 0, times exp(-|x|)."
)
bessel_i1e = plain.function(
    "bessel_i1e", "BesselI1e", "Return the modified Bessel function of order 1, times exp(-|x|)."
)
nextafter = plain.function(
    "nextafter",
    "NextAfter",
    "Return the number next to x1 in the direction of x2, for float32 and float64.",
)


def bessel_i0(x: Any, name: str | None = None) -> Any:
    """Return the modified Bessel function of order 0."""
    return _unscaled(raw.BesselI0e, x, "bessel_i0", name)


def bessel_i1(x: Any, name: str | None = None) -> Any:
    """Return the modified Bessel function of order 1."""
    return _unscaled(raw.BesselI1e, x, "bessel_i1", name)


def _unscaled(scaled: Any, x: Any, default: str, name: str | None) -> Any:
    with scoped(name, default, (x,)):
        x = convert.convert_to_tensor(x, name="x")
        return raw.Exp(abs(x)) * scaled(x)


def lbeta(x: Any, name: str | None = None) -> Any:
    """Return the logarithm of |Beta(x)| along the last axis.

    Beta is the product of the gamma functions of the elements, divided by the gamma function of
    their sum. It is 0 for no elements.
    """
    with scoped(name, "lbeta", (x,)):
        x = convert.convert_to_tensor(x, name="x")
        logarithms = raw.Sum(raw.Lgamma(x), [-1])
        return raw.Sub(logarithms, raw.Lgamma(raw.Sum(x, [-1])), name="sub")


def polyval(coeffs: Any, x: Any, name: str | None = None) -> Any:
    """Return a polynomial of x. The coefficients are a list, that of the highest power first.

    Raises:
        ValueError: `coeffs` is not a list.
    """
    if not isinstance(coeffs, list):
        kind = type(coeffs)
        raise ValueError(  # noqa: TRY004 - as in TensorFlow
            f"Argument coeffs must be list type. Received type {kind}."
        )
    with scoped(name, "polyval", (*coeffs, x)) as scope:
        x = convert.convert_to_tensor(x, name="x")
        if not coeffs:
            return raw.ZerosLike(x, name=scope)
        total, *rest = (
            convert.convert_to_tensor(each, name=f"coeff_{index}")
            for index, each in enumerate(coeffs)
        )
        for coefficient in rest:
            total = coefficient + total * x
        return total


def reciprocal_no_nan(x: Any, name: str | None = None) -> Any:
    """Return 1 / x. The result is 0 where `x` is 0."""
    with scoped(name, "reciprocal_no_nan", (x,)) as scope:
        x = convert.convert_to_tensor(x, name="x")
        one = np.asarray(1).astype(x.dtype.as_numpy_dtype)
        return raw.DivNoNan(one, x, name=scope)


def reduce_euclidean_norm(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Any:
    """Return the root of the sum of the squares along axes. None stands for all axes."""
    return reduce_ops.reduced("EuclideanNorm", input_tensor, axis, keepdims, name)


def reduce_variance(
    input_tensor: Any, axis: Any = None, keepdims: bool | None = None, name: str | None = None
) -> Any:
    """Return the mean square of the distance from the mean along axes. None stands for all axes.

    The result for complex numbers is real.

    Raises:
        TypeError: the elements are integers.
    """
    with scoped(name, "reduce_variance", (input_tensor,)):
        value = convert.convert_to_tensor(input_tensor)
        if value.dtype.is_integer:
            raise TypeError(
                "Input must be either real or complex. Received integer type "
                f"<dtype: '{value.dtype.name}'>."
            )
        centre = reduce_ops.reduce_mean(value, axis, keepdims=True)
        distance = raw.Sub(value, centre)
        if value.dtype.is_complex:
            distance = operators.absolute(distance, None)
        squares = raw.Square(distance)
        return reduce_ops.reduce_mean(squares, axis, keepdims=keepdims)


def reduce_std(
    input_tensor: Any, axis: Any = None, keepdims: bool | None = None, name: str | None = None
) -> Any:
    """Return the root of `reduce_variance`.

    Raises:
        TypeError: the elements are integers.
    """
    with scoped(name, "reduce_std", (input_tensor,)):
        return raw.Sqrt(reduce_variance(input_tensor, axis, keepdims))


def cumulative_logsumexp(
    x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Any:
    """Return the logarithms of the running sums of exp(x), computed without overflow.

    `exclusive` leaves each element out of its own sum. `reverse` sums from the end.
    """
    with scoped(name, "CumulativeLogsumexp", (x,)) as scope:
        x = convert.convert_to_tensor(x, name="x")
        return raw.CumulativeLogsumexp(x, axis, exclusive=exclusive, reverse=reverse, name=scope)
