"""Vectors of independent numbers that are scaled and moved (contrib's ops/vector_laplace_diag.py,
ops/vector_exponential_diag.py).
"""

import abc
import math
from typing import Any

import numpy as np

from capstan.api import linear_operators, random_ops, reduce_ops
from capstan.api.distributions import FULLY_REPARAMETERIZED, families
from capstan.api.scoped import scoped
from capstan.contrib.distributions import mvn_diag
from capstan.framework import convert
from capstan.framework.raw import raw


class _ScaledVectors(families.OfVectors):
    """The distribution of `loc + scale * X`, where the elements of X are independent.

    The scale is `scale_diag + scale_identity_multiplier`, of which one may be missing, or 1 without
    both.
    """

    def __init__(
        self, loc: Any, scale_diag: Any, multiplier: Any, validate_args: bool,
        allow_nan_stats: bool, name: str, parameters: dict[str, Any],
    ) -> None:  # fmt: skip
        if loc is None and scale_diag is None:
            raise ValueError("One of loc and scale_diag must be a vector")
        with scoped(None, name, (loc, scale_diag, multiplier)) as scope:
            self._loc = None if loc is None else convert.convert_to_tensor(loc, name="loc")
            self._scale = mvn_diag.diagonal_scale(self._loc, scale_diag, multiplier)
            if self._scale.shape.ndims == 0 or (
                self._loc is not None and self._loc.shape.ndims == 0
            ):
                raise ValueError(f"{type(self).__name__}: loc and scale_diag need an axis.")
            zero = raw.ZerosLike(self._scale)
            self._whole = zero if self._loc is None else self._loc + zero
        super().__init__(
            self._whole.dtype,
            FULLY_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            parameters,
            [each for each in (self._loc, self._scale) if each is not None],
            scope,
        )

    @property
    def loc(self) -> Any:
        """The vectors that are added, or None if the program gave none."""
        return self._loc

    @property
    def scale(self) -> Any:
        """The scale, as a `tf.linalg.LinearOperatorDiag`."""
        return linear_operators.LinearOperatorDiag(self._scale, is_non_singular=True)

    @abc.abstractmethod
    def _drawn(self, shape: Any, seed: int | None) -> Any:
        """Return elements of X."""

    @abc.abstractmethod
    def _density(self, z: Any) -> Any:
        """Return the logarithms of the densities of elements of X."""

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        shape = raw.ConcatV2([[n], raw.Shape(self._whole)], 0)
        return self._drawn(shape, seed) * self._scale + self._whole

    def _log_prob(self, x: Any) -> Any:
        density = self._density((x - self._whole) / self._scale)
        return reduce_ops.reduce_sum(density - raw.Log(raw.Abs(self._scale)), -1)

    def _uniform(self, shape: Any, seed: int | None, low: float) -> Any:
        return random_ops.random_uniform(shape, low, 1.0, self.dtype, seed)

    def _least(self) -> float:
        return float(np.finfo(self.dtype.as_numpy_dtype).tiny)

    def _mode(self) -> Any:
        return raw.Identity(self._whole)

    def _variance(self) -> Any:
        return raw.Square(self._stddev())

    def _covariance(self) -> Any:
        return raw.MatrixDiag(self._variance())

    def _sum_of_entropies(self, of_one: float) -> Any:
        whole = raw.Log(raw.Abs(self._scale)) + of_one + raw.ZerosLike(self._whole)
        return reduce_ops.reduce_sum(whole, -1)


class VectorLaplaceDiag(_ScaledVectors):
    """The Laplace distribution of vectors whose elements are independent."""

    def __init__(
        self,
        loc: Any = None,
        scale_diag: Any = None,
        scale_identity_multiplier: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "VectorLaplaceDiag",
    ) -> None:
        """Create distributions from means and scales, along the last axes.

        The scale is `scale_diag + scale_identity_multiplier`, of which one may be missing, or 1
        without both. Its sign has no effect. Without `loc`, the mean is 0.

        Raises:
            ValueError: neither `loc` nor `scale_diag` is given, or one of them is a scalar.
        """
        super().__init__(
            loc, scale_diag, scale_identity_multiplier, validate_args, allow_nan_stats, name,
            dict(locals()),
        )  # fmt: skip

    def _drawn(self, shape: Any, seed: int | None) -> Any:
        # -1 would give infinity.
        uniform = self._uniform(shape, seed, float(np.nextafter(-1.0, 0.0, dtype=np.float32)))
        return -raw.Sign(uniform) * raw.Log1p(-raw.Abs(uniform))

    def _density(self, z: Any) -> Any:
        return -raw.Abs(z) - math.log(2.0)

    def _entropy(self) -> Any:
        return self._sum_of_entropies(1.0 + math.log(2.0))

    def _mean(self) -> Any:
        return raw.Identity(self._whole)

    def _stddev(self) -> Any:
        # As in TensorFlow, this and the covariance do not have the batch shape of `loc`.
        return math.sqrt(2.0) * raw.Abs(self._scale)


class VectorExponentialDiag(_ScaledVectors):
    """The distribution of vectors of independent exponential numbers, scaled and moved."""

    def __init__(
        self,
        loc: Any = None,
        scale_diag: Any = None,
        scale_identity_multiplier: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "VectorExponentialDiag",
    ) -> None:
        """Create distributions from ends and scales, along the last axes.

        The scale is `scale_diag + scale_identity_multiplier`, of which one may be missing, or 1
        without both. The numbers are beyond `loc`, which is 0 by default, in the direction of the
        sign of the scale. As in TensorFlow, `log_prob` is no density before `loc`.

        Raises:
            ValueError: neither `loc` nor `scale_diag` is given, or one of them is a scalar.
        """
        super().__init__(
            loc, scale_diag, scale_identity_multiplier, validate_args, allow_nan_stats, name,
            dict(locals()),
        )  # fmt: skip

    def _drawn(self, shape: Any, seed: int | None) -> Any:
        return -raw.Log(self._uniform(shape, seed, self._least()))

    def _density(self, z: Any) -> Any:
        return -z

    def _entropy(self) -> Any:
        return self._sum_of_entropies(1.0)

    def _mean(self) -> Any:
        return self._whole + self._scale

    def _stddev(self) -> Any:
        # As in TensorFlow, this and the covariance do not have the batch shape of `loc`.
        return raw.Abs(self._scale)
