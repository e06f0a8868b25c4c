"""The first centers of k-means clustering (python/ops/clustering_ops.py)."""

from collections.abc import Callable
from typing import Any, Final

from capstan.api import (
    array_ops,
    check_ops,
    cond_ops,
    context,
    control_flow_ops,
    math_ops,
    nn,
    random_ops,
    state_ops,
)
from capstan.core import dtypes
from capstan.framework.raw import raw

RANDOM_INIT: Final = "random"
KMEANS_PLUS_PLUS_INIT: Final = "kmeans_plus_plus"

Initial = str | Callable[[Any, Any], Any] | Any
"""How centers are chosen: an algorithm by name, a function of points and a number, or centers."""


class CenterChooser:
    """Chooses centers from batches until there are `num_clusters`, and keeps them in `centers`.

    The variable `copy` gets the same centers, unless it is the variable `centers`.
    """

    def __init__(
        self,
        points: Any,
        num_clusters: Any,
        initial: Initial,
        is_cosine: bool,
        seed: int | None,
        num_retries: int,
        centers: Any,
        copy: Any,
        is_initialized: Any,
    ) -> None:
        self._points, self._num_clusters, self._initial = points, num_clusters, initial
        self._is_cosine, self._seed, self._num_retries = is_cosine, seed, num_retries
        self._centers, self._copy, self._is_initialized = centers, copy, is_initialized
        self._num_selected = raw.Shape(centers)[0]
        self._num_remaining = num_clusters - self._num_selected
        self._num_points = raw.Shape(points)[0]

    def op(self) -> Any:
        """Return the operation that chooses as many centers as one batch gives."""
        return cond_ops.cond(
            raw.Equal(self._num_remaining, 0),
            lambda: check_ops.assert_equal(self._is_initialized, True),
            self._add,
        )

    def _add(self) -> Any:
        with context.control_dependencies([check_ops.assert_positive(self._num_remaining)]):
            chosen = self._chosen()
            if self._is_cosine:
                chosen = nn.l2_normalize(chosen, 1)
            # Without any center, the variable does not have two axes yet.
            together = cond_ops.cond(
                raw.Equal(self._num_selected, 0),
                lambda: chosen,
                lambda: array_ops.concat([self._centers, chosen], 0),
            )
            kept = state_ops.assign(self._centers, together, validate_shape=False)
            if self._copy is not self._centers:
                kept = state_ops.assign(self._copy, kept, validate_shape=False)
            return cond_ops.cond(
                raw.Equal(raw.Shape(kept)[0], self._num_clusters),
                lambda: state_ops.assign(self._is_initialized, True),
                control_flow_ops.no_op,
            )

    def _chosen(self) -> Any:
        if isinstance(self._initial, str):
            if self._initial == RANDOM_INIT:
                is_small = self._num_points <= self._num_remaining
                return cond_ops.cond(is_small, lambda: self._points, self._random)
            enough = check_ops.assert_greater_equal(self._num_points, self._num_remaining)
            with context.control_dependencies([enough]):
                return self._far_apart()
        if callable(self._initial):
            return self._initial(self._points, self._num_remaining)
        fits = check_ops.assert_equal(self._num_remaining, raw.Shape(self._initial)[0])
        with context.control_dependencies([fits]):
            return array_ops.identity(self._initial)

    def _random(self) -> Any:
        rows = random_ops.random_uniform(
            raw.Reshape(self._num_remaining, [-1]),
            0,
            math_ops.cast(self._num_points, dtypes.int64),
            dtypes.int64,
            self._seed,
        )
        return raw.GatherV2(self._points, rows, 0)

    def _far_apart(self) -> Any:
        points = nn.l2_normalize(self._points, 1) if self._is_cosine else self._points
        count = math_ops.cast(self._num_remaining, dtypes.int64)
        return raw.KmeansPlusPlusInitialization(points, count, self._seed or 0, self._num_retries)
