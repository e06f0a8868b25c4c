"""Mixtures of normal distributions by expectation maximisation
(contrib/factorization/python/ops/gmm_ops.py).
"""

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Final

import numpy as np

from capstan.api import (
    array_ops,
    check_ops,
    cond_ops,
    context,
    control_flow_ops,
    creation_ops,
    gather_ops,
    linear_algebra_ops,
    math_ops,
    matrix_ops,
    random_ops,
    reduce_ops,
    state_ops,
    variables,
)
from capstan.core import dtypes
from capstan.framework import convert, grouping
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

FULL_COVARIANCE: Final = "full"
DIAG_COVARIANCE: Final = "diag"
_LEAST_VARIANCE: Final = 1e-3
"""What is added to each variance, so that covariances can be inverted."""
_LEAST_COUNT: Final = float(np.finfo(float).eps)


class GmmAlgorithm:
    """A mixture of `num_classes` normal distributions, fitted to the points of a step.

    `data` is a list of float32 matrices with a point in each row. `initial_means` is a matrix of
    the first centers; by default they are random points. `params` has the letters of what training
    changes: "w" for the weights, "m" for the means and "c" for the covariances, which are "full"
    matrices or "diag", vectors of variances. `random_seed` is the seed of the first centers.

    Raises:
        ValueError: the covariance type or a letter of `params` is unknown.
    """

    CLUSTERS_WEIGHT: ClassVar[str] = "alphas"
    CLUSTERS_VARIABLE: ClassVar[str] = "clusters"
    CLUSTERS_COVS_VARIABLE: ClassVar[str] = "clusters_covs"

    def __init__(
        self,
        data: Sequence[Any],
        num_classes: int,
        initial_means: Any = None,
        params: str = "wmc",
        covariance_type: str = FULL_COVARIANCE,
        random_seed: int | None = 0,
    ) -> None:
        if covariance_type not in (DIAG_COVARIANCE, FULL_COVARIANCE):
            raise ValueError(f"Invalid covariance type: {covariance_type}. Use full or diag.")
        if set(params) - set("wmc"):
            raise ValueError(f"params may have the letters w, m and c, and is {params!r}")
        self._is_full, self._params = covariance_type == FULL_COVARIANCE, params
        self._count, self._seed = num_classes, random_seed
        self._shards = [convert.convert_to_tensor(each, dtypes.float32) for each in data]
        self._points = array_ops.concat(self._shards, 0)
        self._dimensions = array_ops.shape(self._points)[1]
        self._means = variables.Variable(
            np.zeros(0, np.float32), name=self.CLUSTERS_VARIABLE, validate_shape=False
        )
        self._covs = variables.Variable(
            np.zeros(0, np.float32), name=self.CLUSTERS_COVS_VARIABLE, validate_shape=False
        )
        self._alphas = variables.Variable(
            np.full(num_classes, 1 / num_classes, np.float32), name=self.CLUSTERS_WEIGHT
        )
        self._initialized = variables.Variable(False, name="initialized")
        self._init_op = cond_ops.cond(
            self._initialized, grouping.no_op, lambda: self._initial(initial_means)
        )
        logs = self._log_densities() + raw.Log(array_ops.identity(self._alphas))
        self._log_probabilities = reduce_ops.reduce_logsumexp(logs, axis=1, keepdims=True)
        self._shares = raw.Exp(logs - self._log_probabilities)
        self._train_op = self._maximized()

    def init_ops(self) -> Any:
        """Return the operation that sets the centers and covariances, unless they are set."""
        return self._init_op

    def training_ops(self) -> Any:
        """Return the operation of a step of expectation maximisation."""
        return self._train_op

    def is_initialized(self) -> Any:
        """Return the boolean variable that tells whether the centers are set."""
        return self._initialized

    def alphas(self) -> Any:
        """Return the variable of the weights of the classes."""
        return self._alphas

    def clusters(self) -> Any:
        """Return the variable of the means [num_classes, 1, dimensions]."""
        return self._means

    def covariances(self) -> Any:
        """Return the variable of the covariances: matrices, or vectors of variances."""
        return self._covs

    def assignments(self) -> list[Any]:
        """Return for each matrix of points the most probable class of each point, as int64."""
        sizes = [array_ops.shape(each)[0] for each in self._shards]
        parts = array_ops.split(reduce_ops.argmax(self._shares, 1), array_ops.stack(sizes))
        return [array_ops.identity(part) for part in parts]

    def scores(self) -> Any:
        """Return the logarithm of the density at each point [points, 1]."""
        return self._log_probabilities

    def log_likelihood_op(self) -> Any:
        """Return the logarithm of the sum of the densities at all points."""
        return reduce_ops.reduce_logsumexp(self._log_probabilities)

    def _initial(self, means: Any) -> Any:
        means = self._random_points() if means is None else convert.convert_to_tensor(means)
        first = self._shards[0]
        moved = first - reduce_ops.reduce_mean(first, 0, keepdims=True)
        count = math_ops.cast(array_ops.shape(first)[0], dtypes.float32)
        cov = math_ops.matmul(moved, moved, transpose_a=True) / (count - 1)
        if not self._is_full:
            cov = raw.MatrixDiagPart(cov)
        covs = array_ops.stack([cov + self._least()] * self._count)
        centers = raw.ExpandDims(means, 1)
        set_both = [
            state_ops.assign(self._means, centers, validate_shape=False),
            state_ops.assign(self._covs, covs, validate_shape=False),
        ]
        with context.control_dependencies(set_both):
            return state_ops.assign(self._initialized, True).op

    def _random_points(self) -> Any:
        count = array_ops.shape(self._points, out_type=dtypes.int64)[0]
        is_enough = check_ops.assert_less_equal(np.int64(self._count), count)
        with context.control_dependencies([is_enough]):
            rows = random_ops.random_uniform([self._count], 0, count, dtypes.int64, seed=self._seed)
        return gather_ops.gather(self._points, rows)

    def _least(self) -> Any:
        if self._is_full:
            return _LEAST_VARIANCE * matrix_ops.eye(self._dimensions)
        return _LEAST_VARIANCE

    def _log_densities(self) -> Any:
        """Return the logarithm of the density of each class at each point [points, classes]."""
        apart = raw.ExpandDims(self._points, 0) - array_ops.identity(self._means)
        covs = array_ops.identity(self._covs) + self._least()
        if self._is_full:
            root = raw.Cholesky(covs)
            solved = linear_algebra_ops.matrix_triangular_solve(
                root, raw.Transpose(apart, [0, 2, 1]), lower=True
            )
            distances = reduce_ops.reduce_sum(raw.Square(solved), 1)
            volumes = 2.0 * reduce_ops.reduce_sum(raw.Log(raw.MatrixDiagPart(root)), 1)
        else:
            distances = reduce_ops.reduce_sum(raw.Square(apart) / raw.ExpandDims(covs, 1), 2)
            volumes = reduce_ops.reduce_sum(raw.Log(covs), 1)
        size = math_ops.cast(self._dimensions, dtypes.float32)
        return -0.5 * (raw.Transpose(distances, [1, 0]) + size * math.log(2 * math.pi) + volumes)

    def _maximized(self) -> Any:
        """Return the operation that fits the classes to their shares of the points."""
        steps = []
        with context.control_dependencies([self._shares]):
            counts = reduce_ops.reduce_sum(self._shares, 0)
            if "w" in self._params:
                total = reduce_ops.reduce_sum(counts)
                steps.append(state_ops.assign(self._alphas, counts / (total + _LEAST_COUNT)))
            divisors = raw.Reshape(counts, [-1, 1, 1]) + _LEAST_COUNT
            if "m" in self._params:
                sums = math_ops.matmul(self._shares, self._points, transpose_a=True)
                means = state_ops.assign(self._means, raw.ExpandDims(sums, 1) / divisors)
                steps.append(means)
            else:
                means = array_ops.identity(self._means)
            if "c" in self._params:
                squares = self._squares() / (divisors if self._is_full else divisors[:, :, 0])
                steps.append(
                    state_ops.assign(
                        self._covs,
                        squares - _square(means, self._is_full) + self._least(),
                        validate_shape=False,
                    )
                )
        return control_flow_ops.group(*steps)

    def _squares(self) -> Any:
        """Return the sums of the products of points by class: matrices, or their diagonals."""
        if not self._is_full:
            return math_ops.matmul(self._shares, raw.Square(self._points), transpose_a=True)
        shares = raw.ExpandDims(raw.Transpose(self._shares, [1, 0]), 2)
        points = raw.ExpandDims(self._points, 0)
        every = points + creation_ops.zeros_like(shares)
        return math_ops.matmul(shares * points, every, transpose_a=True)


def _square(means: Any, is_full: bool) -> Any:
    if is_full:
        return math_ops.matmul(means, means, transpose_a=True)
    return raw.Square(array_ops.squeeze(means, [1]))


def gmm(
    inp: Any,
    initial_clusters: Any,
    num_clusters: int,
    random_seed: int | None,
    covariance_type: str = FULL_COVARIANCE,
    params: str = "wmc",
) -> tuple[Any, Any, Any, Any, Any, Any]:
    """Build a mixture of normal distributions. The arguments are those of `GmmAlgorithm`.

    `inp` is a matrix of points or a list of them. `initial_clusters` is "random", or the first
    centers.

    Returns the logarithm of the likelihood, the logarithm of the density at each point, a list with
    the list of assignments, the operations of training and of initialization, and the variable that
    tells whether the centers are set.
    """
    is_random = isinstance(initial_clusters, str) and initial_clusters == "random"
    means: Any = None
    if not is_random:
        is_tensor = isinstance(initial_clusters, graphs.Tensor)
        means = (
            initial_clusters if is_tensor else convert.constant(initial_clusters, dtypes.float32)
        )
    data = inp if isinstance(inp, list) else [inp]
    built = GmmAlgorithm(data, num_clusters, means, params, covariance_type, random_seed)
    return (
        built.log_likelihood_op(), built.scores(), [built.assignments()], built.training_ops(),
        built.init_ops(), built.is_initialized(),
    )  # fmt: skip
