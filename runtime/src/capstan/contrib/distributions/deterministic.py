"""The distribution of one value (contrib/distributions/python/ops/deterministic.py)."""

from typing import Any, ClassVar

from capstan.api import creation_ops
from capstan.api.distributions import NOT_REPARAMETERIZED, families
from capstan.api.scoped import scoped
from capstan.framework import convert
from capstan.framework.raw import raw


class Deterministic(families.OfNumbers):
    """The distribution of numbers that are always `loc`."""

    _shaped: ClassVar[tuple[str, ...]] = ("loc",)

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
        by default.
        """
        parameters = dict(locals())
        with scoped(None, name, (loc, atol, rtol)) as scope:
            self._loc = convert.convert_to_tensor(loc, name="loc")
            self._atol, self._rtol = (
                convert.convert_to_tensor(0 if each is None else each, self._loc.dtype)
                for each in (atol, rtol)
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
        return self.loc + creation_ops.zeros(self._drawn_shape(n), self.dtype)

    def _prob(self, x: Any) -> Any:
        return raw.Cast(raw.LessEqual(raw.Abs(x - self.loc), self._slack), DstT=self.dtype)

    def _cdf(self, x: Any) -> Any:
        return raw.Cast(raw.GreaterEqual(x, self.loc - self._slack), DstT=self.dtype)

    def _entropy(self) -> Any:
        return raw.ZerosLike(self.loc)

    def _mean(self) -> Any:
        return raw.Identity(self.loc)

    def _mode(self) -> Any:
        return raw.Identity(self.loc)

    def _variance(self) -> Any:
        return raw.ZerosLike(self.loc)
