"""The distributions that a gamma distribution describes by its concentration and rate."""

from typing import Any, ClassVar

from capstan.api import check_ops, check_types, control_flow_ops
from capstan.api.distributions import checks, families
from capstan.api.distributions.reparameterization import ReparameterizationType
from capstan.api.scoped import scoped


class ConcentrationRate(families.OfNumbers):
    """A distribution of positive numbers with two positive parameters."""

    _shaped: ClassVar[tuple[str, ...]] = ("concentration", "rate")

    def __init__(
        self,
        concentration: Any,
        rate: Any,
        reparameterization_type: ReparameterizationType,
        validate_args: bool,
        allow_nan_stats: bool,
        name: str,
        parameters: dict[str, Any],
    ) -> None:
        """Create distributions from the concentration and the rate.

        With `validate_args`, steps check that parameters and values are positive. `parameters` are
        the arguments of the subclass's constructor.

        Raises:
            ValueError: the dtypes are different, or not floating-point.
        """
        with scoped(None, name, (concentration, rate)) as scope:
            asserted = (
                [check_ops.assert_positive(concentration), check_ops.assert_positive(rate)]
                if validate_args
                else []
            )
            self._concentration, self._rate = checks.floats(
                asserted, concentration=concentration, rate=rate
            )
        super().__init__(
            self._concentration.dtype,
            reparameterization_type,
            validate_args,
            allow_nan_stats,
            parameters,
            [self._concentration, self._rate],
            scope,
        )

    @property
    def concentration(self) -> Any:
        """The concentration, or shape, of the gamma distribution."""
        return self._concentration

    @property
    def rate(self) -> Any:
        """The rate of the gamma distribution, the inverse of its scale."""
        return self._rate

    def _checked(self, x: Any) -> Any:
        """Return values, which steps check if the distribution has `validate_args`."""
        check_types.assert_same_float_dtype([x], self.dtype)
        if not self.validate_args:
            return x
        return control_flow_ops.with_dependencies([check_ops.assert_positive(x)], x)
