"""`tf.data.experimental`: datasets that choose among elements, and random numbers.

Sources: python/data/experimental/ops/{interleave_ops,random_ops,counter,unique}.py.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from capstan.api import data_base, data_structure
from capstan.api.dataset import Dataset, made
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

__all__ = ["Counter", "RandomDataset", "choose_from_datasets", "sample_from_datasets", "unique"]

_NUMBER = data_structure.TensorSpec([], dtypes.int64)


class RandomDataset(Dataset):
    """Endless random numbers from 0 to 2**32 - 1, as int64. The seed decides the numbers."""

    def __init__(self, seed: Any = None) -> None:
        numbers = raw.RandomDataset(*data_base.seeds(seed), **data_structure.flat(_NUMBER))
        super().__init__(numbers, _NUMBER)


def Counter(start: Any = 0, step: Any = 1, dtype: Any = dtypes.int64) -> Dataset:
    """Return an endless dataset of the numbers `start`, `start + step`, and so on."""
    from_start = convert.convert_to_tensor(start, dtype, name="start")
    by = convert.convert_to_tensor(step, dtype, name="step")
    zeros = Dataset.from_tensors(0).repeat()
    counted: Dataset = zeros.enumerate().map(
        lambda number, _: from_start + raw.Cast(number, DstT=by.dtype) * by
    )
    return counted


def unique() -> Callable[[Dataset], Dataset]:
    """Return a transformation that drops each element that equals an earlier element.

    The elements are scalars or tensors without structure.
    """
    return lambda dataset: made("UniqueDataset", dataset._spec, dataset._variant_tensor)


def choose_from_datasets(datasets: Sequence[Dataset], choice_dataset: Dataset) -> Dataset:
    """Return elements of `datasets`. Each number in `choice_dataset` chooses one dataset.

    Numbers of a dataset that is at its end are skipped.

    Raises:
        TypeError: the datasets have different types, or `choice_dataset` has no scalars of int64.
    """
    spec = choice_dataset._spec
    if not isinstance(spec, data_structure.TensorSpec) or spec.dtype is not dtypes.int64:
        raise TypeError(
            "`choice_dataset` must be a dataset of scalar `tf.int64` tensors, but its elements are "
            f"{spec}."
        )
    return _directed(choice_dataset, datasets)


def sample_from_datasets(
    datasets: Sequence[Dataset], weights: Any = None, seed: Any = None
) -> Dataset:
    """Return elements of `datasets`, each from a random dataset, until all are at their end.

    `weights` are the probabilities of the datasets: numbers, a tensor, or a dataset of tensors. By
    default they are equal. The random numbers are not those of TensorFlow.

    Raises:
        ValueError: the number of weights differs from the number of datasets.
        TypeError: the datasets have different types, or the weights are no floats.
    """
    count = len(datasets)
    numbers: Any = RandomDataset(seed)
    if isinstance(weights, Dataset):
        chosen = Dataset.zip((numbers, weights)).map(_chosen)
        return _directed(chosen, datasets)
    tensor = convert.convert_to_tensor(
        [1.0] * count if weights is None else weights, name="weights"
    )
    if tensor.dtype.base_dtype not in (dtypes.float32, dtypes.float64):
        raise TypeError(
            "`weights` must be convertible to a tensor of `tf.float32` or `tf.float64` elements."
        )
    if not tensor.shape.is_compatible_with([count]):
        raise ValueError("`weights` must be a vector of length `len(datasets)`.")
    return _directed(numbers.map(lambda number: _chosen(number, tensor)), datasets)


def _chosen(number: Any, weights: graphs.Tensor) -> Any:
    """Return the index that a random number of 32 bits chooses."""
    shares = raw.Cumsum(raw.Cast(weights, DstT=dtypes.float64), np.int32(0))
    total = raw.Max(shares, np.int32(0))
    place = raw.Cast(number, DstT=dtypes.float64) * np.float64(2.0**-32) * total
    is_before = raw.LessEqual(shares, place)
    return raw.Sum(raw.Cast(is_before, DstT=dtypes.int64), np.int32(0))


def _directed(selector: Dataset, datasets: Sequence[Dataset]) -> Dataset:
    if not datasets:
        raise ValueError("`datasets` must be a non-empty list of datasets.")
    spec = datasets[0]._spec
    for dataset in datasets[1:]:
        if data_structure.types(spec) != data_structure.types(dataset._spec):
            raise TypeError(
                "`datasets` must have elements of the same types: "
                f"{datasets[0].output_types} and {dataset.output_types}"
            )
        spec = data_base.relaxed(spec, dataset._spec)
    sources = [dataset._variant_tensor for dataset in datasets]
    return made("DirectedInterleaveDataset", spec, selector._variant_tensor, sources)
