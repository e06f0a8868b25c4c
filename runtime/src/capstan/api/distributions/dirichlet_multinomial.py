"""The distribution of counts of classes whose probabilities are drawn themselves.

The source is python/ops/distributions/dirichlet_multinomial.py.
"""

from typing import Any

from capstan.api import creation_ops, math_functions, random_ops, reduce_ops
from capstan.api.distributions import checks, families, multinomial, reparameterization, sampling
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw


class DirichletMultinomial(families.OfVectors):
    """The distribution of a Multinomial whose probabilities are drawn from a Dirichlet."""

    def __init__(
        self,
        total_count: Any,
        concentration: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "DirichletMultinomial",
    ) -> None:
        """Create distributions from a number of draws, and positive concentrations.

        Both have one floating-point dtype. The last axis of `concentration` has the classes. With
        `validate_args`, steps check that counts are whole numbers with the sum `total_count`.
        """
        parameters = dict(locals())
        with scoped(None, name, (total_count, concentration)) as scope:
            self._total_count = convert.convert_to_tensor(total_count, name="total_count")
            self._concentration = convert.convert_to_tensor(concentration, name="concentration")
            if validate_args:
                self._total_count = checks.counts(self._total_count)
                self._concentration = checks.positive(
                    checks.classes(self._concentration),
                    "concentration",
                    "Concentration parameter must be positive.",
                    validate_args=True,
                )
            self._whole = self._concentration
            self._total_concentration = reduce_ops.reduce_sum(self._concentration, -1)
        super().__init__(
            self._concentration.dtype,
            reparameterization.NOT_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            parameters,
            [self._total_count, self._concentration],
            scope,
        )

    @property
    def total_count(self) -> Any:
        """The number of draws."""
        return self._total_count

    @property
    def concentration(self) -> Any:
        """The concentrations of the classes."""
        return self._concentration

    @property
    def total_concentration(self) -> Any:
        """The sum of the concentrations."""
        return self._total_concentration

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        gammas = random_ops.random_gamma([n], self.concentration, dtype=self.dtype, seed=seed)
        shape = raw.Shape(gammas)
        rows = raw.Reshape(raw.Log(gammas), raw.Pack([-1, self.event_shape_tensor()[0]]))
        totals = self.total_count + creation_ops.zeros(shape[:-1], self.total_count.dtype)
        totals = raw.Reshape(raw.Cast(totals, DstT=dtypes.int32), [-1])
        drawn = sampling.counts(rows, totals, sampling.salted(seed, "dirichlet_multinomial"))
        return raw.Reshape(drawn, shape)

    def _log_prob(self, counts: Any) -> Any:
        if self.validate_args:
            message = "counts last-dimension must sum to `self.total_count`"
            counts = multinomial.with_total(counts, self.total_count, message)
        ordered = math_functions.lbeta(self.concentration + counts)
        ordered -= math_functions.lbeta(self.concentration)
        return ordered + multinomial.log_combinations(self.total_count, counts)

    def _totals(self) -> tuple[Any, Any]:
        """Return the number of draws and the sum of the concentrations, for vectors of classes.

        The number of draws of TensorFlow's programs may have an axis for the classes already.
        """
        total = raw.ExpandDims(self.total_concentration, -1)
        if self.total_count.shape.ndims in (0, self.concentration.shape.ndims):
            return self.total_count, total
        return raw.ExpandDims(self.total_count, -1), total

    def _mean(self) -> Any:
        draws, total = self._totals()
        return draws * (self.concentration / total)

    def _scaled_mean(self) -> tuple[Any, Any]:
        draws, total = self._totals()
        scale = raw.Sqrt((1.0 + total / draws) / (1.0 + total))
        return scale, scale * self._mean()

    def _variance(self) -> Any:
        draws, _ = self._totals()
        scale, mean = self._scaled_mean()
        return mean * (draws * scale - mean)

    def _covariance(self) -> Any:
        _, mean = self._scaled_mean()
        return families.negative_outer_product(mean, mean, self._variance())
