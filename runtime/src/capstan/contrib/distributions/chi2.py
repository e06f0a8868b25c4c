"""The chi-squared distribution (contrib/distributions/python/ops/chi2.py)."""

from typing import Any

from capstan.api import check_ops
from capstan.api.distributions import Gamma
from capstan.api.scoped import scoped
from capstan.framework import convert
from capstan.framework.raw import raw


class Chi2(Gamma):
    """The distribution of the sum of the squares of `df` standard normal numbers."""

    _shaped = ("df",)

    def __init__(
        self,
        df: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Chi2",
    ) -> None:
        """Create distributions from numbers of degrees of freedom, which may be fractions.

        With `validate_args`, steps check that `df` and values are positive.

        Raises:
            ValueError: `df` is not floating-point.
        """
        parameters = dict(locals())
        with scoped(None, name, (df,)) as scope:
            given = convert.convert_to_tensor(df)
            checks = [check_ops.assert_positive(given)] if validate_args else []
            with given.graph.control_dependencies(checks):
                self._df = raw.Identity(given, name="df")
            rate = convert.constant(0.5, given.dtype)
            super().__init__(0.5 * self._df, rate, validate_args, allow_nan_stats, scope)
        self._parameters = parameters

    @property
    def df(self) -> Any:
        """The number of degrees of freedom."""
        return self._df


class Chi2WithAbsDf(Chi2):
    """A chi-squared distribution of floor(|df|) degrees of freedom."""

    def __init__(
        self,
        df: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Chi2WithAbsDf",
    ) -> None:
        parameters = dict(locals())
        with scoped(None, name, (df,)) as scope:
            whole = raw.Floor(raw.Abs(df, name="abs_df"), name="floor_abs_df")
            super().__init__(whole, validate_args, allow_nan_stats, scope)
        self._parameters = parameters
