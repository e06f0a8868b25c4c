"""`tf.data.experimental`: the transformations of TensorFlow 1 that `Dataset.apply` takes."""

from collections.abc import Callable
from typing import Any

from capstan.api import data_base, data_functions, data_structure
from capstan.api.absent import absent
from capstan.api.data_saveable import make_saveable_from_iterator
from capstan.api.dataset import Dataset, made
from capstan.core import dtypes, tensor_shape
from capstan.framework import convert
from capstan.framework.raw import raw

__all__ = [
    "AUTOTUNE",
    "enumerate_dataset",
    "get_single_element",
    "group_by_window",
    "ignore_errors",
    "make_saveable_from_iterator",
    "map_and_batch",
    "parallel_interleave",
    "scan",
    "shuffle_and_repeat",
    "take_while",
    "unbatch",
]

Transformation = Callable[[Dataset], Dataset]

AUTOTUNE = -1
"""Lets Capstan choose the size of a buffer or the number of parallel calls."""


def map_and_batch(
    map_func: Callable[..., Any],
    batch_size: Any,
    num_parallel_batches: Any = None,
    drop_remainder: bool = False,
    num_parallel_calls: Any = None,
) -> Transformation:
    """Return the transformation `map(map_func).batch(batch_size, drop_remainder)`.

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
        mapped = dataset.map(map_func, num_parallel_calls or AUTOTUNE)
        return mapped.batch(batch_size, drop_remainder)

    return apply


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


def take_while(predicate: Callable[..., Any]) -> Transformation:
    """Return a transformation that ends before the first element whose `predicate` is false.

    Raises (when it is applied):
        ValueError: `predicate` does not return a scalar bool.
    """

    def apply(dataset: Dataset) -> Dataset:
        traced = data_functions.trace(predicate, "take_while()", dataset._spec)
        data_functions.check_predicate(traced.spec)
        return made(
            "TakeWhileDataset",
            dataset._spec,
            dataset._variant_tensor,
            traced.captured,
            predicate=traced.reference,
        )

    return apply


def parallel_interleave(
    map_func: Callable[..., Any],
    cycle_length: Any,
    block_length: Any = 1,
    sloppy: bool = False,
    buffer_output_elements: Any = None,
    prefetch_input_elements: Any = None,
) -> Transformation:
    """Return the transformation `interleave(map_func, cycle_length, block_length)`.

    The order is always deterministic: `sloppy` only allows another one.
    """
    return lambda dataset: dataset.interleave(map_func, cycle_length, block_length)


def scan(initial_state: Any, scan_func: Callable[[Any, Any], Any]) -> Transformation:
    """Return a transformation to the outputs of `scan_func(state, element)`.

    `scan_func` returns the next state and an element of the new dataset.

    Raises (when it is applied):
        TypeError, ValueError: the next state has another structure or other types.
    """

    def apply(dataset: Dataset) -> Dataset:
        state = data_structure.converted(initial_state, "initial_state")
        spec = data_structure.spec_of(state)
        while True:
            traced = data_functions.trace(scan_func, "scan()", spec, dataset._spec)
            if not isinstance(traced.spec, tuple) or len(traced.spec) != 2:
                raise TypeError("The scan function must return a pair: the new state, the output.")
            following, output = traced.spec
            data_base.check_state(spec, following, "scan_func")
            general = data_base.relaxed(spec, following)
            if general == spec:
                break
            spec = general
        return made(
            "ScanDataset",
            output,
            dataset._variant_tensor,
            data_structure.tensors(state),
            traced.captured,
            f=traced.reference,
        )

    return apply


def group_by_window(
    key_func: Callable[..., Any],
    reduce_func: Callable[[Any, Any], Any],
    window_size: Any = None,
    window_size_func: Callable[[Any], Any] | None = None,
) -> Transformation:
    """Return a transformation that groups elements by `key_func(element)`, an int64.

    `reduce_func(key, window)` gets up to `window_size` elements of one key as a dataset, and
    returns a dataset. `window_size_func(key)` may give the size instead.

    Raises:
        ValueError: not exactly one of `window_size` and `window_size_func` is given.
    """
    if (window_size is None) == (window_size_func is None):
        raise ValueError("Must pass either window_size or window_size_func.")
    size_of = window_size_func or (lambda key: convert.convert_to_tensor(window_size, dtypes.int64))

    def apply(dataset: Dataset) -> Dataset:
        number = data_structure.TensorSpec(dtypes.int64, tensor_shape.TensorShape([]))
        key = data_functions.trace(key_func, "group_by_window()", dataset._spec)
        for traced, name in ((key, "key_func"),):
            if traced.spec != number:
                raise ValueError(f"`{name}` must return a single tf.int64 tensor.")
        reduced = data_functions.trace(
            reduce_func, "group_by_window()", number, data_base.DatasetSpec(dataset._spec, Dataset)
        )
        if not isinstance(reduced.spec, data_base.DatasetSpec):
            raise TypeError("`reduce_func` must return a `Dataset` object.")
        size = data_functions.trace(size_of, "group_by_window()", number)
        if size.spec != number:
            raise ValueError("`window_size_func` must return a single tf.int64 scalar tensor.")
        return made(
            "GroupByWindowDataset",
            reduced.spec.element_spec,
            dataset._variant_tensor,
            key.captured,
            reduced.captured,
            size.captured,
            key_func=key.reference,
            reduce_func=reduced.reference,
            window_size_func=size.reference,
        )

    return apply


def get_single_element(dataset: Dataset) -> Any:
    """Return the only element of a dataset as tensors.

    A step that runs the tensors fails with InvalidArgumentError if the dataset has no element, or
    more than one.

    Raises:
        TypeError: `dataset` is no dataset.
    """
    if not isinstance(dataset, Dataset):
        raise TypeError("`dataset` must be a `tf.data.Dataset` object.")
    values = raw.DatasetToSingleElement(
        dataset._variant_tensor, **data_structure.flat(dataset._spec)
    )
    return data_structure.element(dataset._spec, values)


def __getattr__(name: str) -> Any:
    raise absent("tf.data.experimental", name)
