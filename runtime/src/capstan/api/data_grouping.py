"""`tf.data.experimental`: transformations that keep a state or group elements."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from capstan.api import data_base, data_functions, data_structure
from capstan.api.dataset import Dataset, made
from capstan.core import dtypes

__all__ = ["Reducer", "group_by_reducer", "group_by_window", "scan"]

Transformation = Callable[[Dataset], Dataset]

_NUMBER = data_structure.TensorSpec([], dtypes.int64)


def scan(initial_state: Any, scan_func: Callable[[Any, Any], Any]) -> Transformation:
    """Return a transformation to the outputs of `scan_func(state, element)`.

    `scan_func` returns the next state and an element of the new dataset.

    Raises (when it is applied):
        TypeError, ValueError: the next state has another structure or other types.
    """

    return lambda dataset: dataset._scan(initial_state, scan_func)


def group_by_window(
    key_func: Callable[..., Any],
    reduce_func: Callable[[Any, Any], Any],
    window_size: Any = None,
    window_size_func: Callable[[Any], Any] | None = None,
) -> Transformation:
    """Return a transformation that groups elements by `key_func(element)`.

    The key is an int64 or a Python integer.

    `reduce_func(key, window)` gets up to `window_size` elements of one key as a dataset, and
    returns a dataset. `window_size_func(key)` may give the size instead.

    Raises:
        ValueError: not exactly one of `window_size` and `window_size_func` is given.
    """
    if (window_size is None) == (window_size_func is None):
        raise ValueError("Must pass either window_size or window_size_func.")
    size_of = data_functions.of_integers(window_size_func or (lambda key: window_size))

    def apply(dataset: Dataset) -> Dataset:
        number = _NUMBER
        key_of = data_functions.of_integers(key_func)
        key = data_functions.trace(key_of, "group_by_window()", dataset._spec)
        _check_key(key)
        reduced = data_functions.trace(
            reduce_func, "group_by_window()", number, data_base.DatasetSpec(dataset._spec)
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


@dataclass(frozen=True, slots=True)
class Reducer:
    """A reduction: `init_func(key)` returns a state, `reduce_func(state, element)` the next state.

    `finalize_func(state)` returns the result.
    """

    init_func: Callable[[Any], Any]
    reduce_func: Callable[[Any, Any], Any]
    finalize_func: Callable[..., Any]


def group_by_reducer(key_func: Callable[..., Any], reducer: Reducer) -> Transformation:
    """Return a transformation to one element for each key: the reduction of its elements.

    `key_func(element)` returns the key of an element, an int64. The keys are in rising order.

    Raises (when it is applied):
        ValueError: `key_func` returns something else.
        TypeError, ValueError: the next state has another structure or other types.
    """
    where = "tf.data.experimental.group_by_reducer()"

    def apply(dataset: Dataset) -> Dataset:
        key = data_functions.trace(key_func, where, dataset._spec)
        _check_key(key)
        init = data_functions.trace(reducer.init_func, where, _NUMBER)
        spec = init.spec
        while True:
            reduced = data_functions.trace(reducer.reduce_func, where, spec, dataset._spec)
            data_base.check_state(spec, reduced.spec, "reduce_func")
            general = data_base.relaxed(spec, reduced.spec)
            if general == spec:
                break
            spec = general
        result = data_functions.trace(reducer.finalize_func, where, spec)
        return made(
            "GroupByReducerDataset",
            result.spec,
            dataset._variant_tensor,
            key.captured,
            init.captured,
            reduced.captured,
            result.captured,
            key_func=key.reference,
            init_func=init.reference,
            reduce_func=reduced.reference,
            finalize_func=result.reference,
        )

    return apply


def _check_key(key: data_functions.Traced) -> None:
    if key.spec != _NUMBER:
        raise ValueError("`key_func` must return a single tf.int64 tensor.")
