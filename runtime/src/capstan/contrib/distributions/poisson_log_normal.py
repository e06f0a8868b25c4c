"""Counts whose rates have a log-normal distribution (contrib's ops/poisson_lognormal.py)."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from capstan.api import creation_ops, math_ops
from capstan.api.distributions import Categorical, Normal
from capstan.api.scoped import scoped
from capstan.contrib.distributions.mixture_same_family import MixtureSameFamily
from capstan.contrib.distributions.poisson import Poisson
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw

Quadrature = Callable[[Any, Any, int, bool], tuple[Any, Any]]


def quadrature_scheme_lognormal_gauss_hermite(
    loc: Any, scale: Any, quadrature_size: int, validate_args: bool = False, name: str | None = None
) -> tuple[Any, Any]:
    """Return the logarithms of rates, along a last axis, and their weights by Gauss and Hermite."""
    with scoped(name, "vector_diffeomixture_quadrature_gauss_hermite", (loc, scale)):
        loc = convert.convert_to_tensor(loc, name="loc")
        scale = convert.convert_to_tensor(scale, loc.dtype, "scale")
        kind = loc.dtype.as_numpy_dtype
        places, weights = np.polynomial.hermite.hermgauss(quadrature_size)
        probs = convert.constant((weights / weights.sum()).astype(kind), name="probs")
        steps = (math.sqrt(2.0) * places).astype(kind)
        return raw.ExpandDims(loc, -1) + raw.ExpandDims(scale, -1) * steps, probs


def quadrature_scheme_lognormal_quantiles(
    loc: Any, scale: Any, quadrature_size: int, validate_args: bool = False, name: str | None = None
) -> tuple[Any, Any]:
    """Return points between the quantiles of the log-normal distribution, and equal weights.

    As in TensorFlow, `PoissonLogNormalQuadratureCompound` takes the points for logarithms of rates.
    """
    with scoped(name, "quadrature_scheme_lognormal_quantiles", (loc, scale)):
        normal = Normal(loc, scale, validate_args=validate_args)
        kind = normal.dtype
        # Quantiles of 0 and 1 are infinite.
        inner = np.linspace(0.0, 1.0, quadrature_size + 3)[1:-1].astype(kind.as_numpy_dtype)
        ones = creation_ops.ones([raw.Size(normal.batch_shape_tensor())], dtypes.int32)
        edges = raw.Reshape(convert.constant(inner), raw.ConcatV2([[-1], ones], 0))
        quantiles = raw.Exp(normal.quantile(edges))
        rank = raw.Rank(quantiles)
        order = raw.ConcatV2([raw.Range(1, rank, 1), [0]], 0)
        quantiles = raw.Transpose(quantiles, order)
        grid = (quantiles[..., :-1] + quantiles[..., 1:]) / 2
        grid.set_shape(normal.batch_shape.concatenate([quadrature_size]))
        return grid, creation_ops.fill([quadrature_size], math_ops.cast(1 / quadrature_size, kind))


class PoissonLogNormalQuadratureCompound(MixtureSameFamily):
    """The distribution of counts whose rates have a log-normal distribution, approximately.

    It is a mixture of `quadrature_size` Poisson distributions. `quadrature_fn` returns the
    logarithms of their rates and their weights.
    """

    def __init__(
        self,
        loc: Any,
        scale: Any,
        quadrature_size: int = 8,
        quadrature_fn: Quadrature = quadrature_scheme_lognormal_quantiles,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "PoissonLogNormalQuadratureCompound",
    ) -> None:
        """Create distributions from the parameters of the normal distribution of log(rate).

        Raises:
            TypeError: the points and the weights of `quadrature_fn` have different dtypes.
        """
        parameters = dict(locals())
        with scoped(None, name, (loc, scale)) as scope:
            self._loc = convert.convert_to_tensor(loc, name="loc")
            self._scale = convert.convert_to_tensor(scale, self._loc.dtype, "scale")
            self._quadrature_size = quadrature_size
            grid, probs = quadrature_fn(self._loc, self._scale, quadrature_size, validate_args)
            if grid.dtype.base_dtype != probs.dtype.base_dtype:
                raise TypeError(
                    f"Quadrature grid dtype ({grid.dtype.name}) does not match quadrature probs "
                    f"dtype ({probs.dtype.name})."
                )
            checked: dict[str, Any] = {
                "validate_args": validate_args,
                "allow_nan_stats": allow_nan_stats,
            }
            super().__init__(
                Categorical(raw.Log(probs), **checked),
                Poisson(log_rate=grid, **checked),
                **checked,
                name=scope,
            )
        self._parameters = parameters

    @property
    def distribution(self) -> Poisson:
        """The Poisson distributions that are mixed."""
        found = self.components_distribution
        assert isinstance(found, Poisson)
        return found

    @property
    def loc(self) -> Any:
        """The mean of the logarithm of the rate."""
        return self._loc

    @property
    def scale(self) -> Any:
        """The standard deviation of the logarithm of the rate."""
        return self._scale

    @property
    def quadrature_size(self) -> int:
        """The number of Poisson distributions."""
        return self._quadrature_size
