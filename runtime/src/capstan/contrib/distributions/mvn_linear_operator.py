"""Normal distributions of vectors with any scale (contrib's ops/mvn_linear_operator.py)."""

import math
from typing import Any

from capstan.api import random_ops, reduce_ops
from capstan.api.distributions import FULLY_REPARAMETERIZED, RegisterKL, families
from capstan.api.scoped import scoped
from capstan.contrib.distributions.mvn_diag import MultivariateNormalDiag
from capstan.framework.raw import raw


class MultivariateNormalLinearOperator(families.OfVectors):
    """The normal distribution of the vectors `loc + scale @ z`, for independent normal `z`.

    `scale` is a LinearOperator that can be inverted, and `loc` a tensor, or None for 0. `tensors`
    are those that the scale is made of.
    """

    def __init__(
        self,
        loc: Any,
        scale: Any,
        tensors: list[Any],
        validate_args: bool,
        allow_nan_stats: bool,
        parameters: dict[str, Any],
        name: str | None,
    ) -> None:
        self._loc, self._operator = loc, scale
        zero = raw.ZerosLike(scale.diag_part())
        self._whole = zero if loc is None else loc + zero
        super().__init__(
            self._whole.dtype,
            FULLY_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            parameters,
            [each for each in (loc, *tensors) if each is not None],
            name,
        )

    @property
    def loc(self) -> Any:
        """The mean, or None if it was not given."""
        return self._loc

    @property
    def scale(self) -> Any:
        """The scale, as a `tf.linalg.LinearOperator`."""
        return self._operator

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        shape = raw.ConcatV2([[n], raw.Shape(self._whole)], 0)
        drawn = random_ops.random_normal(shape, dtype=self.dtype, seed=seed)
        return self._operator.matvec(drawn) + self._whole

    def _log_prob(self, x: Any) -> Any:
        squares = raw.Square(self._operator.solvevec(x - self._whole))
        terms = -0.5 * squares - 0.5 * math.log(2 * math.pi)
        return reduce_ops.reduce_sum(terms, -1) - self._operator.log_abs_determinant()

    def _entropy(self) -> Any:
        terms = raw.ZerosLike(self._whole) + 0.5 * math.log(2 * math.pi * math.e)
        return reduce_ops.reduce_sum(terms, -1) + self._operator.log_abs_determinant()

    def _mean(self) -> Any:
        return raw.Identity(self._whole)

    def _mode(self) -> Any:
        return raw.Identity(self._whole)

    def _covariance(self) -> Any:
        # As in TensorFlow, this and the variance do not have the batch shape of `loc`.
        factor = self._operator.to_dense()
        return raw.BatchMatMulV2(factor, factor, adj_y=True)

    def _variance(self) -> Any:
        return reduce_ops.reduce_sum(raw.Square(self._operator.to_dense()), -1)

    def _stddev(self) -> Any:
        return raw.Sqrt(self._variance())


def _divergence(a: Any, b: Any, name: str | None = None) -> Any:
    with scoped(name, "kl_mvn", (a._whole, b._whole)):
        ratios = raw.Square(b.scale.solve(a.scale.to_dense()))
        distances = raw.Square(b.scale.solvevec(b.mean() - a.mean()))
        total = reduce_ops.reduce_sum(ratios, [-2, -1]) + reduce_ops.reduce_sum(distances - 1.0, -1)
        logarithms = b.scale.log_abs_determinant() - a.scale.log_abs_determinant()
        return logarithms + 0.5 * total


_PAIRS = (
    (MultivariateNormalLinearOperator, MultivariateNormalLinearOperator),
    (MultivariateNormalLinearOperator, MultivariateNormalDiag),
    (MultivariateNormalDiag, MultivariateNormalLinearOperator),
)
for _pair in _PAIRS:
    RegisterKL(*_pair)(_divergence)
