"""Further bijectors that map each number by itself (contrib/distributions' ops/bijectors)."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.api import check_ops, check_types, control_flow_ops, known_values, math_ops
from capstan.api.distributions import checks
from capstan.contrib.distributions.bijectors.bijector import Bijector
from capstan.framework import convert
from capstan.framework.raw import raw


class _Curve(Bijector):
    """A function of numbers with parameters, whose names are those of its properties."""

    def __init__(self, validate_args: bool, name: str, positive: Sequence[str], **given: Any):
        """Keep the parameters. With `validate_args`, steps check that the `positive` ones are."""
        tensors = {
            key: checks.positive(
                value,
                key,
                f"Argument {key} was not positive",
                validate_args=validate_args and key in positive,
            )
            for key, value in given.items()
        }
        check_types.assert_same_float_dtype(list(tensors.values()))
        self._parameters = tensors
        super().__init__(
            graph_parents=list(tensors.values()),
            forward_min_event_ndims=0,
            validate_args=validate_args,
            name=name,
        )

    def __getattr__(self, name: str) -> Any:
        if name in self.__dict__.get("_parameters", ()):
            return self._parameters[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _checked(self, value: Any, least: str, most: str | None = None) -> Any:
        """Return a value. With `validate_args`, steps check that it is from 0, or from 0 to 1."""
        if not self.validate_args:
            return value
        asserted = [check_ops.assert_non_negative(value, message=least)]
        if most is not None:
            asserted.append(check_ops.assert_less_equal(value, raw.OnesLike(value), message=most))
        return control_flow_ops.with_dependencies(asserted, value)

    def _fraction(self, y: Any) -> Any:
        return self._checked(
            y,
            "Inverse transformation input must be greater than 0.",
            "Inverse transformation input must be less than or equal to 1.",
        )


class Gumbel(_Curve):
    """The function y = exp(-exp(-(x - loc) / scale)), which makes a uniform of a Gumbel value."""

    def __init__(
        self,
        loc: Any = 0.0,
        scale: Any = 1.0,
        validate_args: bool = False,
        name: str = "gumbel",
    ) -> None:
        super().__init__(validate_args, name, ("scale",), loc=loc, scale=scale)

    def _forward(self, x: Any) -> Any:
        return raw.Exp(-raw.Exp(-(x - self.loc) / self.scale))

    def _inverse(self, y: Any) -> Any:
        return self.loc - self.scale * raw.Log(-raw.Log(self._fraction(y)))

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        y = self._fraction(y)
        return raw.Log(self.scale / (-raw.Log(y) * y))

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        z = (x - self.loc) / self.scale
        return -z - raw.Exp(-z) - raw.Log(self.scale)


class Kumaraswamy(_Curve):
    """The function y = (1 - (1 - x)^(1 / concentration0))^(1 / concentration1) from 0 to 1."""

    def __init__(
        self,
        concentration1: Any = None,
        concentration0: Any = None,
        validate_args: bool = False,
        name: str = "kumaraswamy",
    ) -> None:
        given = {"concentration1": concentration1, "concentration0": concentration0}
        super().__init__(validate_args, name, tuple(given), **given)

    def _within(self, value: Any) -> Any:
        return self._checked(
            value, "sample must be non-negative", "sample must be no larger than `1`."
        )

    def _forward(self, x: Any) -> Any:
        left = raw.Exp(raw.Log1p(-self._within(x)) / self.concentration0)
        return raw.Exp(raw.Log1p(-left) / self.concentration1)

    def _inverse(self, y: Any) -> Any:
        left = (1 - self._within(y) ** self.concentration1) ** self.concentration0
        return raw.Exp(raw.Log1p(-left))

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        y, a, b = self._within(y), self.concentration1, self.concentration0
        factors = raw.Log(a) + raw.Log(b) + (a - 1) * raw.Log(y)
        return factors + (b - 1) * raw.Log1p(-(y**a))


class Weibull(_Curve):
    """The function y = 1 - exp(-(x / scale)^concentration) of positive numbers."""

    def __init__(
        self,
        scale: Any = 1.0,
        concentration: Any = 1.0,
        validate_args: bool = False,
        name: str = "weibull",
    ) -> None:
        given = {"scale": scale, "concentration": concentration}
        super().__init__(validate_args, name, tuple(given), **given)

    def _least(self, x: Any) -> Any:
        return self._checked(x, "Forward transformation input must be at least 0.")

    def _forward(self, x: Any) -> Any:
        return -raw.Expm1(-((self._least(x) / self.scale) ** self.concentration))

    def _inverse(self, y: Any) -> Any:
        return self.scale * (-raw.Log1p(-self._fraction(y))) ** (1 / self.concentration)

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        left, power = raw.Log1p(-self._fraction(y)), 1 / self.concentration
        return -left + (power - 1) * raw.Log(-left) + raw.Log(self.scale / self.concentration)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        x, power = self._least(x), self.concentration
        change = -((x / self.scale) ** power) + (power - 1) * raw.Log(x)
        return change + raw.Log(power) - power * raw.Log(self.scale)


class SinhArcsinh(_Curve):
    """The function y = sinh((arcsinh(x) + skewness) tailweight)."""

    def __init__(
        self,
        skewness: Any = None,
        tailweight: Any = None,
        validate_args: bool = False,
        name: str = "SinhArcsinh",
    ) -> None:
        """Create a function. By default, the skewness is 0 and the weight of the tails is 1."""
        skew = convert.convert_to_tensor(0.0 if skewness is None else skewness, name="skewness")
        weight = convert.convert_to_tensor(
            1.0 if tailweight is None else tailweight, skew.dtype, "tailweight"
        )
        super().__init__(validate_args, name, ("tailweight",), skewness=skew, tailweight=weight)

    def _forward(self, x: Any) -> Any:
        return raw.Sinh((raw.Asinh(x) + self.skewness) * self.tailweight)

    def _inverse(self, y: Any) -> Any:
        return raw.Sinh(raw.Asinh(y) / self.tailweight - self.skewness)

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        slope = raw.Cosh(raw.Asinh(y) / self.tailweight - self.skewness)
        return raw.Log(slope / _hypotenuse(y)) - raw.Log(self.tailweight)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        slope = raw.Cosh((raw.Asinh(x) + self.skewness) * self.tailweight)
        return raw.Log(slope / _hypotenuse(x)) + raw.Log(self.tailweight)


def _hypotenuse(x: Any) -> Any:
    """Return sqrt(x^2 + 1), without an overflow of the square."""
    size = raw.Abs(x)
    limit = 1 / math.sqrt(np.finfo(x.dtype.as_numpy_dtype).eps)
    small = raw.LessEqual(size, math_ops.cast(limit, x.dtype))
    return raw.SelectV2(small, raw.Sqrt(raw.Square(x) + 1), size)


class PowerTransform(Bijector):
    """The function y = (1 + power x)^(1 / power), and exp(x) for the power 0."""

    def __init__(
        self, power: Any = 0.0, validate_args: bool = False, name: str = "power_transform"
    ) -> None:
        """Create a function.

        Raises:
            ValueError: `power` is not known while the graph is built, or negative.
        """
        known = known_values.constant_value(convert.convert_to_tensor(power, name="power"))
        if known is None or known < 0:
            raise ValueError("`power` must be a non-negative TF constant.")
        self._power = known
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    @property
    def power(self) -> Any:
        """The power, as an array."""
        return self._power

    def _domain(self, x: Any) -> Any:
        if not self.validate_args or self.power == 0:
            return x
        message = f"Forward transformation input must be at least {-1.0 / self.power}."
        check = check_ops.assert_non_negative(1.0 + self.power * x, message=message)
        return control_flow_ops.with_dependencies([check], x)

    def _image(self, y: Any) -> Any:
        if not self.validate_args:
            return y
        message = "Inverse transformation input must be greater than 0."
        check = check_ops.assert_positive(y, message=message)
        return control_flow_ops.with_dependencies([check], y)

    def _forward(self, x: Any) -> Any:
        x = self._domain(x)
        return raw.Exp(x if self.power == 0 else raw.Log1p(x * self.power) / self.power)

    def _inverse(self, y: Any) -> Any:
        logarithm = raw.Log(self._image(y))
        return logarithm if self.power == 0 else raw.Expm1(logarithm * self.power) / self.power

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return (self.power - 1.0) * raw.Log(self._image(y))

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        x = self._domain(x)
        return x if self.power == 0 else (1.0 / self.power - 1.0) * raw.Log1p(x * self.power)


class Softsign(Bijector):
    """The function y = x / (1 + |x|)."""

    def __init__(self, validate_args: bool = False, name: str = "softsign") -> None:
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    def _image(self, y: Any) -> Any:
        if not self.validate_args:
            return y
        one = raw.OnesLike(y)
        above = "Inverse transformation input must be greater than -1."
        below = "Inverse transformation input must be less than 1."
        asserted = [
            check_ops.assert_greater(y, -one, message=above),
            check_ops.assert_less(y, one, message=below),
        ]
        return control_flow_ops.with_dependencies(asserted, y)

    def _forward(self, x: Any) -> Any:
        return x / (1.0 + raw.Abs(x))

    def _inverse(self, y: Any) -> Any:
        y = self._image(y)
        return y / (1.0 - raw.Abs(y))

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return -2.0 * raw.Log1p(raw.Abs(x))

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return -2.0 * raw.Log1p(-raw.Abs(self._image(y)))
