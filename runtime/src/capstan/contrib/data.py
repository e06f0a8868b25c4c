"""`tf.contrib.data`: transformations of datasets that had this place before TensorFlow 1.13.

Most are those of `tf.data.experimental`. The others follow contrib/data/python/ops of TensorFlow
1.12.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from capstan.api import check_ops, data_experimental, data_structure
from capstan.api.absent import absent
from capstan.api.data_experimental import (
    AUTOTUNE,
    Counter,
    CsvDataset,
    Optional,
    RandomDataset,
    Reducer,
    StatsAggregator,
    TFRecordWriter,
    Transformation,
    bucket_by_sequence_length,
    bytes_produced_stats,
    choose_from_datasets,
    copy_to_device,
    dense_to_sparse_batch,
    enumerate_dataset,
    get_next_as_optional,
    get_single_element,
    group_by_reducer,
    group_by_window,
    ignore_errors,
    latency_stats,
    make_batched_features_dataset,
    make_csv_dataset,
    make_saveable_from_iterator,
    map_and_batch,
    parallel_interleave,
    parse_example_dataset,
    prefetch_to_device,
    rejection_resample,
    sample_from_datasets,
    scan,
    shuffle_and_repeat,
    unbatch,
    unique,
)
from capstan.api.data_options import Options
from capstan.api.data_readers import SqlDataset, TFRecordDataset
from capstan.api.dataset import Dataset
from capstan.contrib import package_aliases
from capstan.core import public

__all__ = [
    "AUTOTUNE",
    "Counter",
    "CsvDataset",
    "Optional",
    "RandomDataset",
    "Reducer",
    "SqlDataset",
    "StatsAggregator",
    "TFRecordWriter",
    "assert_element_shape",
    "batch_and_drop_remainder",
    "bucket_by_sequence_length",
    "bytes_produced_stats",
    "choose_from_datasets",
    "copy_to_device",
    "dense_to_sparse_batch",
    "enumerate_dataset",
    "get_next_as_optional",
    "get_single_element",
    "group_by_reducer",
    "group_by_window",
    "ignore_errors",
    "latency_stats",
    "make_batched_features_dataset",
    "make_csv_dataset",
    "make_saveable_from_iterator",
    "map_and_batch",
    "padded_batch_and_drop_remainder",
    "parallel_interleave",
    "parse_example_dataset",
    "prefetch_to_device",
    "read_batch_features",
    "reduce_dataset",
    "rejection_resample",
    "sample_from_datasets",
    "scan",
    "set_stats_aggregator",
    "shuffle_and_repeat",
    "sliding_window_batch",
    "sloppy_interleave",
    "unbatch",
    "unique",
]


def batch_and_drop_remainder(batch_size: Any) -> Transformation:
    """Return the transformation `batch(batch_size, drop_remainder=True)`."""
    return lambda dataset: dataset.batch(batch_size, drop_remainder=True)


def padded_batch_and_drop_remainder(
    batch_size: Any, padded_shapes: Any, padding_values: Any = None
) -> Transformation:
    """Return the transformation `padded_batch(..., drop_remainder=True)`."""
    return lambda dataset: dataset.padded_batch(
        batch_size, padded_shapes, padding_values, drop_remainder=True
    )


def sloppy_interleave(
    map_func: Callable[..., Any], cycle_length: Any, block_length: Any = 1
) -> Transformation:
    """Return the transformation of `parallel_interleave` with `sloppy`."""
    return parallel_interleave(map_func, cycle_length, block_length, sloppy=True)


def sliding_window_batch(
    window_size: Any, stride: Any = None, window_shift: Any = None, window_stride: Any = 1
) -> Transformation:
    """Return a transformation to batches of `window_size` elements that may overlap.

    A batch begins `window_shift` elements (by default 1) after the previous batch, and takes every
    `window_stride`-th element. A last batch with fewer elements is dropped. `stride` is an old name
    of `window_shift`.

    Raises:
        ValueError: both `stride` and `window_shift` are given.
    """
    if stride is not None and window_shift is not None:
        raise ValueError("Cannot specify both `stride` and `window_shift`")
    given = stride if window_shift is None else window_shift
    shift = 1 if given is None else given

    def batch(*windows: Any) -> Any:
        parts = windows[0] if len(windows) == 1 else windows
        return Dataset.zip(data_structure.mapped(lambda each: each.batch(window_size), parts))

    def apply(dataset: Dataset) -> Dataset:
        windows = dataset.window(window_size, shift, window_stride, drop_remainder=True)
        batches: Dataset = windows.flat_map(batch)
        return batches

    return apply


def assert_element_shape(expected_shapes: Any) -> Transformation:
    """Return a transformation that gives the components of each element their shapes.

    `expected_shapes` has the structure of an element. A size of None may be any.

    Raises (when it is applied):
        ValueError: the static shape of a component does not fit.
    A step that reads an element raises InvalidArgumentError if the element does not fit.
    """

    def apply(dataset: Dataset) -> Dataset:
        wanted = data_structure.shapes_up_to(dataset.output_types, expected_shapes)

        def check(*element: Any) -> Any:
            shapes = iter(wanted)
            whole = element[0] if len(element) == 1 else element
            return data_structure.mapped(
                lambda tensor: check_ops.ensure_shape(tensor, next(shapes)), whole
            )

        checked: Dataset = dataset.map(check)
        return checked

    return apply


def set_stats_aggregator(
    stats_aggregator: StatsAggregator, prefix: str = "", counter_prefix: str = ""
) -> Transformation:
    """Return a transformation that gives the measurements of a dataset to an aggregator.

    `prefix` begins the names of its summaries.
    """
    options: Any = Options()
    options.experimental_stats.aggregator = stats_aggregator
    options.experimental_stats.prefix = prefix
    options.experimental_stats.counter_prefix = counter_prefix
    return lambda dataset: dataset.with_options(options)


def reduce_dataset(dataset: Dataset, reducer: Reducer) -> Any:
    """Return the reduction of all elements, as tensors. `reducer.init_func` gets the key 0."""
    state = dataset.reduce(reducer.init_func(np.int64(0)), reducer.reduce_func)
    parts = state if isinstance(state, tuple) else (state,)
    return reducer.finalize_func(*parts)


def read_batch_features(
    file_pattern: Any,
    batch_size: Any,
    features: Mapping[str, Any],
    reader: Any = TFRecordDataset,
    reader_args: Any = None,
    randomize_input: bool = True,
    num_epochs: int | None = None,
    capacity: int = 10000,
) -> dict[str, Any]:
    """Return the next batch of features, by name, of `make_batched_features_dataset`.

    Raises:
        ValueError: no file matches.
    """
    dataset = make_batched_features_dataset(
        file_pattern,
        batch_size,
        features,
        reader=reader,
        reader_args=reader_args,
        num_epochs=num_epochs,
        shuffle=randomize_input,
        shuffle_buffer_size=capacity,
    )
    batch: dict[str, Any] = dataset.make_one_shot_iterator().get_next()
    return batch


package_aliases.grow(__name__)


def __getattr__(name: str) -> Any:
    if name == "CheckpointInputPipelineHook":
        return getattr(data_experimental, name)
    raise absent("tf.contrib.data", name)


def __dir__() -> list[str]:
    return sorted({*public.names(globals()), "CheckpointInputPipelineHook"})
