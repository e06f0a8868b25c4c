"""`tf.data.experimental`: transformations that keep a state or group elements."""

from collections.abc import Callable
from typing import Any

from capstan.api import data_base, data_functions, data_structure
from capstan.api.dataset import Dataset, made
from capstan.core import dtypes, tensor_shape
from capstan.framework import convert

__all__ = ["group_by_window", "scan"]

Transformation = Callable[[Dataset], Dataset]


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
