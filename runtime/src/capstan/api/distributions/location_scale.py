"""The distributions of `loc + scale * Z`, where Z has the standard distribution of the class."""

from typing import Any, ClassVar

from capstan.api import check_ops
from capstan.api.distributions import checks, families, reparameterization
from capstan.api.scoped import scoped


class LocationScale(families.OfNumbers):
    """A distribution of numbers that `loc` shifts and `scale` stretches."""

    _shaped: ClassVar[tuple[str, ...]] = ("loc", "scale")

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool,
        allow_nan_stats: bool,
        name: str,
        parameters: dict[str, Any],
    ) -> None:
        """Create distributions from their centres and positive scales.

        With `validate_args`, steps check that the scale is positive. `parameters` are the arguments
        of the subclass's constructor.

        Raises:
            ValueError: the dtypes are different, or not floating-point.
        """
        with scoped(None, name, (loc, scale)) as scope:
            asserted = [check_ops.assert_positive(scale)] if validate_args else []
            self._loc, self._scale = checks.floats(asserted, loc=loc, scale=scale)
        super().__init__(
            self._scale.dtype,
            reparameterization.FULLY_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            parameters,
            [self._loc, self._scale],
            scope,
        )

    @property
    def loc(self) -> Any:
        """The centre of the distribution."""
        return self._loc

    @property
    def scale(self) -> Any:
        """The width of the distribution. Its unit depends on the class."""
        return self._scale

    def _standard(self, x: Any) -> Any:
        """Return values of Z."""
        return (x - self.loc) / self.scale
