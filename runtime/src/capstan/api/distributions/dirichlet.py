"""The distribution of shares of several classes (python/ops/distributions/dirichlet.py)."""

from typing import Any

from capstan.api import (
    check_ops,
    check_ranks,
    check_types,
    control_flow_ops,
    math_functions,
    random_ops,
    reduce_ops,
)
from capstan.api.distributions import checks, families, reparameterization
from capstan.api.distributions.divergence import RegisterKL
from capstan.api.scoped import scoped
from capstan.framework import convert
from capstan.framework.raw import raw


class Dirichlet(families.OfVectors):
    """The distribution of vectors of positive numbers with the sum 1."""

    def __init__(
        self,
        concentration: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Dirichlet",
    ) -> None:
        """Create distributions from positive concentrations along the last axis.

        With `validate_args`, steps check that there are at least two concentrations, that they
        are positive, and that values are positive and have the sum 1.
        """
        parameters = dict(locals())
        with scoped(None, name, (concentration,)) as scope:
            self._concentration = convert.convert_to_tensor(concentration, name="concentration")
            if validate_args:
                self._concentration = _checked(self._concentration)
            self._whole = self._concentration
            self._total_concentration = reduce_ops.reduce_sum(self._concentration, -1)
        super().__init__(
            self._concentration.dtype,
            reparameterization.FULLY_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            parameters,
            [self._concentration, self._total_concentration],
            scope,
        )

    @property
    def concentration(self) -> Any:
        """The concentrations of the classes."""
        return self._concentration

    @property
    def total_concentration(self) -> Any:
        """The sum of the concentrations."""
        return self._total_concentration

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        drawn = random_ops.random_gamma([n], self.concentration, dtype=self.dtype, seed=seed)
        return drawn / reduce_ops.reduce_sum(drawn, -1, keepdims=True)

    def _log_prob(self, x: Any) -> Any:
        if self.validate_args:
            total = reduce_ops.reduce_sum(x, -1)
            message = "sample last-dimension must sum to `1`"
            inside = [
                check_ops.assert_positive(x, message="samples must be positive"),
                check_types.assert_near(total, 1.0, message=message),
            ]
            x = control_flow_ops.with_dependencies(inside, x)
        powers = raw.Xlogy(self.concentration - 1.0, x)
        return reduce_ops.reduce_sum(powers, -1) - math_functions.lbeta(self.concentration)

    def _entropy(self) -> Any:
        weighted = (self.concentration - 1.0) * raw.Digamma(self.concentration)
        spread = self.total_concentration - self._class_count()
        return (
            math_functions.lbeta(self.concentration)
            + spread * raw.Digamma(self.total_concentration)
            - reduce_ops.reduce_sum(weighted, -1)
        )

    def _class_count(self) -> Any:
        return raw.Cast(self.event_shape_tensor()[0], DstT=self.dtype)

    def _mean(self) -> Any:
        return self.concentration / raw.ExpandDims(self.total_concentration, -1)

    def _scaled_mean(self) -> tuple[Any, Any]:
        scale = raw.Rsqrt(1.0 + raw.ExpandDims(self.total_concentration, -1))
        return scale, scale * self._mean()

    def _variance(self) -> Any:
        scale, mean = self._scaled_mean()
        return mean * (scale - mean)

    def _covariance(self) -> Any:
        _, mean = self._scaled_mean()
        return families.negative_outer_product(mean, mean, self._variance())

    def _mode(self) -> Any:
        total = raw.ExpandDims(self.total_concentration, -1)
        mode = (self.concentration - 1.0) / (total - self._class_count())
        least = reduce_ops.reduce_min(self.concentration, -1, keepdims=True)
        limits = [(least, "Mode undefined when any concentration <= 1")]
        return checks.above_one(mode, limits, allow_nan_stats=self.allow_nan_stats)


def _checked(concentration: Any) -> Any:
    few = "Concentration parameter must have event_size >= 2."
    asserted = [
        check_ops.assert_positive(
            concentration, message="Concentration parameter must be positive."
        ),
        check_ranks.assert_rank_at_least(
            concentration, 1, message="Concentration parameter must have >=1 dimensions."
        ),
        check_ops.assert_less(1, raw.Shape(concentration)[-1], message=few),
    ]
    return control_flow_ops.with_dependencies(asserted, concentration)


@RegisterKL(Dirichlet, Dirichlet)
def _divergence(a: Dirichlet, b: Dirichlet, name: str | None = None) -> Any:
    with scoped(name, "kl_dirichlet_dirichlet", (a.concentration, b.concentration)):
        total = raw.ExpandDims(raw.Digamma(a.total_concentration), -1)
        slopes = raw.Digamma(a.concentration) - total
        distance = (a.concentration - b.concentration) * slopes
        normalization = math_functions.lbeta(a.concentration)
        other = math_functions.lbeta(b.concentration)
        return reduce_ops.reduce_sum(distance, -1) - normalization + other
