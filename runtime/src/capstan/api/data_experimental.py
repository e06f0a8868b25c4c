"""`tf.data.experimental`: the transformations of TensorFlow 1 that `Dataset.apply` takes."""

import importlib
from collections.abc import Callable
from typing import Any

from capstan.api import data_base, data_structure
from capstan.api.absent import absent
from capstan.api.data_base import DatasetSpec as DatasetStructure
from capstan.api.data_buckets import bucket_by_sequence_length
from capstan.api.data_choice import (
    Counter,
    RandomDataset,
    choose_from_datasets,
    sample_from_datasets,
    unique,
)
from capstan.api.data_csv import CsvDataset, make_csv_dataset
from capstan.api.data_files import make_batched_features_dataset, parse_example_dataset
from capstan.api.data_grouping import Reducer, group_by_reducer, group_by_window, scan
from capstan.api.data_optional import Optional, get_next_as_optional
from capstan.api.data_optional import OptionalSpec as OptionalStructure
from capstan.api.data_options import (
    DistributeOptions,
    MapVectorizationOptions,
    OptimizationOptions,
    StatsOptions,
    ThreadingOptions,
)
from capstan.api.data_readers import SqlDataset
from capstan.api.data_resampling import rejection_resample
from capstan.api.data_saveable import make_saveable_from_iterator
from capstan.api.data_specs import (
    RaggedTensorStructure,
    SparseTensorStructure,
    TensorArrayStructure,
    TensorStructure,
    from_variant,
    get_structure,
    to_variant,
)
from capstan.api.data_stats import StatsAggregator, bytes_produced_stats, latency_stats
from capstan.api.data_writers import TFRecordWriter
from capstan.api.dataset import Dataset, made
from capstan.api.type_spec import TypeSpec as Structure
from capstan.core import tensor_shape
from capstan.framework.raw import raw

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "Counter",
    "CsvDataset",
    "DatasetStructure",
    "DistributeOptions",
    "MapVectorizationOptions",
    "OptimizationOptions",
    "Optional",
    "OptionalStructure",
    "RaggedTensorStructure",
    "RandomDataset",
    "Reducer",
    "SparseTensorStructure",
    "SqlDataset",
    "StatsAggregator",
    "StatsOptions",
    "Structure",
    "TFRecordWriter",
    "TensorArrayStructure",
    "TensorStructure",
    "ThreadingOptions",
    "bucket_by_sequence_length",
    "bytes_produced_stats",
    "cardinality",
    "choose_from_datasets",
    "copy_to_device",
    "dense_to_sparse_batch",
    "enumerate_dataset",
    "from_variant",
    "get_next_as_optional",
    "get_single_element",
    "get_structure",
    "group_by_reducer",
    "group_by_window",
    "ignore_errors",
    "latency_stats",
    "make_batched_features_dataset",
    "make_csv_dataset",
    "make_saveable_from_iterator",
    "map_and_batch",
    "map_and_batch_with_legacy_function",
    "parallel_interleave",
    "parse_example_dataset",
    "prefetch_to_device",
    "rejection_resample",
    "sample_from_datasets",
    "scan",
    "shuffle_and_repeat",
    "take_while",
    "to_variant",
    "unbatch",
    "unique",
]

_TRAINING = ("CheckpointInputPipelineHook",)
"""Names whose modules this one must not import, because they build on it."""

Transformation = Callable[[Dataset], Dataset]

AUTOTUNE = -1
"""Lets Capstan choose the size of a buffer or the number of parallel calls."""

INFINITE_CARDINALITY = -1
"""The cardinality of a dataset without end."""

UNKNOWN_CARDINALITY = -2
"""The cardinality of a dataset whose elements have to be counted."""


def map_and_batch(
    map_func: Callable[..., Any],
    batch_size: Any,
    num_parallel_batches: Any = None,
    drop_remainder: bool = False,
    num_parallel_calls: Any = None,
) -> Transformation:
    """Return the transformation `map(map_func).batch(batch_size, drop_remainder)`.

    An error in `map_func`, also an OutOfRangeError, takes the place of its whole batch.
    `num_parallel_calls` calls run at the same time. By default, and with `num_parallel_batches`,
    Capstan chooses the number.

    Raises:
        ValueError: both numbers are given.
    """
    if num_parallel_batches is not None and num_parallel_calls is not None:
        raise ValueError(
            "The `num_parallel_batches` and `num_parallel_calls` arguments are mutually exclusive."
        )

    def apply(dataset: Dataset) -> Dataset:
        calls = num_parallel_calls or AUTOTUNE
        batches: Dataset = dataset._map_and_batch(map_func, batch_size, calls, drop_remainder)
        return batches

    return apply


def map_and_batch_with_legacy_function(
    map_func: Callable[..., Any],
    batch_size: Any,
    num_parallel_batches: Any = None,
    drop_remainder: bool = False,
    num_parallel_calls: Any = None,
) -> Transformation:
    """Return `map_and_batch` with the same arguments.

    Capstan has one kind of function, so `map_func` is traced as `map_and_batch` traces it.

    Raises:
        ValueError: both numbers are given.
    """
    return map_and_batch(
        map_func, batch_size, num_parallel_batches, drop_remainder, num_parallel_calls
    )


def shuffle_and_repeat(buffer_size: Any, count: Any = None, seed: Any = None) -> Transformation:
    """Return the transformation `shuffle(buffer_size, seed).repeat(count)`.

    The buffer stays full between two epochs.
    """

    def apply(dataset: Dataset) -> Dataset:
        return made(
            "ShuffleAndRepeatDataset",
            dataset._spec,
            dataset._variant_tensor,
            data_base.int64(buffer_size, "buffer_size"),
            *data_base.seeds(seed),
            data_base.int64(-1 if count is None else count, "count"),
        )

    return apply


def ignore_errors() -> Transformation:
    """Return a transformation that drops the elements that raise an error."""
    return lambda dataset: made("IgnoreErrorsDataset", dataset._spec, dataset._variant_tensor)


def unbatch() -> Transformation:
    """Return the transformation `unbatch()`."""
    return lambda dataset: dataset.unbatch()


def enumerate_dataset(start: int = 0) -> Transformation:
    """Return the transformation `enumerate(start)`."""
    return lambda dataset: dataset.enumerate(start)


def prefetch_to_device(device: Any, buffer_size: Any = None) -> Transformation:
    """Return the transformation `prefetch(buffer_size)`.

    A dataset stays on its task and in host memory. A step copies its element to the devices whose
    operations read the element, so `device` changes nothing.
    """
    return lambda dataset: dataset.prefetch(buffer_size)


def copy_to_device(target_device: Any, source_device: Any = "/cpu:0") -> Transformation:
    """Return the transformation that changes nothing, as `prefetch_to_device` explains."""
    return lambda dataset: dataset


def take_while(predicate: Callable[..., Any]) -> Transformation:
    """Return a transformation that ends before the first element whose `predicate` is false.

    Raises (when it is applied):
        ValueError: `predicate` does not return a scalar bool.
    """

    return lambda dataset: dataset._take_while(predicate)


def parallel_interleave(
    map_func: Callable[..., Any],
    cycle_length: Any,
    block_length: Any = 1,
    sloppy: bool = False,
    buffer_output_elements: Any = None,
    prefetch_input_elements: Any = None,
) -> Transformation:
    """Return the transformation `interleave(map_func, cycle_length, block_length)`.

    The order is always deterministic: `sloppy` allows another order, but does not demand it.
    """
    return lambda dataset: dataset.interleave(map_func, cycle_length, block_length, cycle_length)


def dense_to_sparse_batch(batch_size: Any, row_shape: Any) -> Transformation:
    """Return a transformation to sparse tensors of `batch_size` elements of different shapes.

    `row_shape` is the shape of the rows of a batch. An unknown size becomes the largest size in the
    batch.

    Raises (when it is applied):
        TypeError: the elements have more than one component.
    """

    def apply(dataset: Dataset) -> Dataset:
        element = dataset._spec
        if not isinstance(element, data_structure.TensorSpec):
            raise TypeError(
                "DenseToSparseDataset requires an input whose elements have a single component, "
                f"whereas the input has {dataset.output_types!r}."
            )
        row = tensor_shape.TensorShape(row_shape)
        shape = tensor_shape.TensorShape([None]).concatenate(row)
        return made(
            "DenseToSparseBatchDataset",
            data_structure.SparseTensorSpec(shape, element.dtype),
            dataset._variant_tensor,
            data_base.int64(batch_size, "batch_size"),
            [-1 if size is None else size for size in row.as_list()],
        )

    return apply


def cardinality(dataset: Dataset) -> Any:
    """Return the number of elements of a dataset as an int64 tensor, without a pass.

    The value may be INFINITE_CARDINALITY or UNKNOWN_CARDINALITY.
    """
    return raw.ExperimentalDatasetCardinality(dataset._variant_tensor)


def get_single_element(dataset: Dataset) -> Any:
    """Return the only element of a dataset as tensors.

    A step that runs the tensors fails with InvalidArgumentError if the dataset has no element, or
    more than one.

    Raises:
        TypeError: `dataset` is not a dataset.
    """
    if not isinstance(dataset, Dataset):
        raise TypeError("`dataset` must be a `tf.data.Dataset` object.")
    values = raw.DatasetToSingleElement(
        dataset._variant_tensor, **data_structure.flat(dataset._spec)
    )
    return data_structure.element(dataset._spec, values)


def __getattr__(name: str) -> Any:
    if name in _TRAINING:
        return getattr(importlib.import_module("capstan.train.input_checkpoints"), name)
    raise absent("tf.data.experimental", name)


def __dir__() -> list[str]:
    return sorted({*__all__, *_TRAINING})
