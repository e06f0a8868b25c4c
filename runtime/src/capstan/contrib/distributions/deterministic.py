"""The distributions of one value (contrib/distributions/python/ops/deterministic.py)."""

from typing import Any, ClassVar

from capstan.api import check_ops, check_ranks, control_flow_ops, creation_ops, reduce_ops
from capstan.api.distributions import NOT_REPARAMETERIZED, Distribution, families
from capstan.api.scoped import scoped
from capstan.framework import convert
from capstan.framework.raw import raw


class _OfOneValue(Distribution):
    """What the distributions of one number and of one vector share."""

    def __init__(
        self,
        loc: Any,
        atol: Any = None,
        rtol: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Deterministic",
    ) -> None:
        """Create distributions from their values.

        `prob` is 1 at values whose distance from `loc` is at most `atol + rtol |loc|`. Both are 0
        by default. With `validate_args`, steps check that they are not negative.
        """
        parameters = dict(locals())
        with scoped(None, name, (loc, atol, rtol)) as scope:
            self._loc = convert.convert_to_tensor(loc, name="loc")
            self._atol, self._rtol = (
                _tolerance(each, self._loc.dtype, validate_args) for each in (atol, rtol)
            )
            self._slack = self._atol + self._rtol * raw.Abs(self._loc)
        super().__init__(
            self._loc.dtype,
            NOT_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            parameters,
            [self._loc],
            scope,
        )

    @property
    def loc(self) -> Any:
        """The value."""
        return self._loc

    @property
    def atol(self) -> Any:
        """The absolute tolerance of `prob`."""
        return self._atol

    @property
    def rtol(self) -> Any:
        """The tolerance of `prob` relative to `loc`."""
        return self._rtol

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        shape = raw.ConcatV2([[n], raw.Shape(self.loc)], 0)
        return self.loc + creation_ops.zeros(shape, self.dtype)

    def _is_near(self, x: Any) -> Any:
        return raw.LessEqual(raw.Abs(x - self.loc), self._slack)

    def _entropy(self) -> Any:
        return creation_ops.zeros(self.batch_shape_tensor(), self.dtype)

    def _mean(self) -> Any:
        return raw.Identity(self.loc)

    def _mode(self) -> Any:
        return raw.Identity(self.loc)

    def _variance(self) -> Any:
        return raw.ZerosLike(self.loc)


class Deterministic(_OfOneValue, families.OfNumbers):
    """The distribution of numbers that are always `loc`."""

    _shaped: ClassVar[tuple[str, ...]] = ("loc",)

    def _prob(self, x: Any) -> Any:
        return raw.Cast(self._is_near(x), DstT=self.dtype)

    def _cdf(self, x: Any) -> Any:
        return raw.Cast(raw.GreaterEqual(x, self.loc - self._slack), DstT=self.dtype)


class VectorDeterministic(_OfOneValue, families.OfVectors):
    """The distribution of vectors that are always `loc`, along its last axis."""

    def __init__(
        self,
        loc: Any,
        atol: Any = None,
        rtol: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "VectorDeterministic",
    ) -> None:
        """Create distributions from their values, with the tolerances of Deterministic.

        With `validate_args`, steps also check that values have as many elements as `loc`.

        Raises:
            ValueError: `loc` is a scalar, and `validate_args` is set.
        """
        super().__init__(loc, atol, rtol, validate_args, allow_nan_stats, name)
        if validate_args and self._loc.shape.ndims == 0:
            raise ValueError("Argument loc must be at least rank 1.")
        self._whole = self._loc

    def _prob(self, x: Any) -> Any:
        if self.validate_args:
            message = "Argument 'x' not defined in the same space R^k as this distribution"
            asserted = [
                check_ranks.assert_rank_at_least(x, 1),
                check_ops.assert_equal(
                    raw.Shape(self.loc)[-1:], raw.Shape(x)[-1:], message=message
                ),
            ]
            x = control_flow_ops.with_dependencies(asserted, x)
        return raw.Cast(reduce_ops.reduce_all(self._is_near(x), -1), DstT=self.dtype)


def _tolerance(value: Any, kind: Any, validate_args: bool) -> Any:
    tensor = convert.convert_to_tensor(0 if value is None else value, kind, "tol")
    if not validate_args:
        return tensor
    message = "Argument 'tol' must be non-negative"
    check = check_ops.assert_non_negative(tensor, message=message)
    return control_flow_ops.with_dependencies([check], tensor)
