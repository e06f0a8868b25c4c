"""`tf.data.experimental.rejection_resample` (python/data/experimental/ops/resampling.py)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from capstan.api import array_ops, creation_ops, gather_ops, math_ops, random_ops, reduce_ops
from capstan.api.data_choice import sample_from_datasets
from capstan.api.data_grouping import scan
from capstan.api.dataset import Dataset
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw

__all__ = ["rejection_resample"]

_BATCH = 32
"""The number of elements from which the distribution of the classes is estimated again."""
_FIRST_COUNT = 10
"""The number of elements of each class that the estimate begins with."""


def rejection_resample(
    class_func: Callable[..., Any], target_dist: Any, initial_dist: Any = None, seed: Any = None
) -> Callable[[Dataset], Dataset]:
    """Return a transformation that drops elements so that their classes get a distribution.

    `class_func(element)` returns the class of an element, an int32 from 0. The new elements are
    pairs of a class and an element. `target_dist` has the wanted share of each class.
    `initial_dist` has their shares in the dataset; without it, the shares are estimated while the
    dataset is read. Some elements come from the dataset as it is, so that few are dropped. The
    random numbers are not those of TensorFlow.
    """

    def apply(dataset: Dataset) -> Dataset:
        target = convert.convert_to_tensor(target_dist, name="target_dist")
        # The class is computed beside its element: two passes may shuffle differently.
        pairs: Any = dataset.map(
            lambda *parts: (
                class_func(*parts),
                parts if isinstance(dataset._spec, tuple) else parts[0],
            )
        )
        shares: Any
        if initial_dist is None:
            shares = _estimated(target, pairs.map(lambda found, _: found))
        else:
            initial = convert.convert_to_tensor(initial_dist, name="initial_dist")
            shares = Dataset.from_tensors(initial).repeat()
        acceptances = shares.map(lambda found: _acceptance(found, target))
        accepted = (
            Dataset.zip((acceptances, pairs))
            .filter(
                lambda acceptance, pair: (
                    random_ops.random_uniform([], seed=seed)
                    < gather_ops.gather(acceptance[0], pair[0])
                )
            )
            .map(lambda _, pair: pair)
            .prefetch(3)
        )
        weights = acceptances.map(lambda _, original: array_ops.stack([original, 1.0 - original]))
        return sample_from_datasets([pairs, accepted], weights, seed)

    return apply


def _acceptance(initial: Any, target: Any) -> tuple[Any, Any]:
    """Return the probability with which an element of each class is accepted.

    The second result is the probability with which an element is taken without this choice.
    """
    ratios = target / (initial + np.finfo(initial.dtype.as_numpy_dtype).tiny)
    least, most = reduce_ops.reduce_min(ratios), reduce_ops.reduce_max(ratios)
    return (ratios - least) / (most - least), least


def _estimated(target: Any, classes: Any) -> Any:
    """Return an estimate of the shares of the classes for each element of `classes`."""
    count = array_ops.shape(target)[0]

    def update(seen: Any, batch: Any) -> tuple[Any, Any]:
        found = creation_ops.one_hot(batch, count, dtype=dtypes.int64)
        seen += reduce_ops.reduce_sum(found, 0)
        shares = math_ops.cast(seen / reduce_ops.reduce_sum(seen), dtypes.float32)
        return seen, raw.Tile(array_ops.expand_dims(shares, 0), [_BATCH, 1])

    first = raw.Fill([count], np.int64(_FIRST_COUNT))
    return classes.batch(_BATCH).apply(scan(first, update)).unbatch()
