"""`tf.estimator.inputs`: input functions for NumPy arrays and pandas DataFrames in memory.

Sources: tensorflow/python/estimator/inputs/{numpy_io,pandas_io}.py.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from capstan.api import data_flow_ops, script_ops
from capstan.api.absent import absent
from capstan.core import dtypes
from capstan.framework import random_seed
from capstan.train import queue_runner

__all__ = ["numpy_input_fn", "pandas_input_fn"]


def numpy_input_fn(
    x: Any,
    y: Any = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool | None = None,
    queue_capacity: int = 1000,
    num_threads: int = 1,
) -> Callable[[], Any]:
    """Return an input function for arrays whose first dimensions are the examples.

    `x` is an array or a dictionary of arrays, and `y` too, or None. The input function returns
    tensors in the same structures: the features, or a tuple of features and labels. It adds a queue
    to the default graph, which `num_threads` threads fill with up to `queue_capacity` examples.
    Each example comes `num_epochs` times, or for ever if that is None. The last batch may be
    smaller. With `shuffle`, each epoch has an order of its own.

    Raises:
        ValueError: `shuffle` is not given. The input function raises ValueError for arrays of
            different lengths, empty dictionaries, empty arrays, and names that are in both `x` and
            `y`.
        TypeError: the input function finds that `x` is neither an array nor a dictionary.
    """
    _check_shuffle(shuffle)

    def input_fn() -> Any:
        features = _features(x)
        labels = _labels(y, features)
        batch = _batches(
            {**features, **labels}, batch_size, num_epochs, bool(shuffle), queue_capacity,
            num_threads,
        )  # fmt: skip
        found: Any = {name: batch[name] for name in features}
        if not isinstance(x, Mapping):
            (found,) = found.values()
        if y is None:
            return found
        targets: Any = {name: batch[name] for name in labels}
        if not isinstance(y, Mapping):
            (targets,) = targets.values()
        return found, targets

    return input_fn


def pandas_input_fn(
    x: Any,
    y: Any = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool | None = None,
    queue_capacity: int = 1000,
    num_threads: int = 1,
    target_column: str = "target",
) -> Callable[[], Any]:
    """Return an input function for a DataFrame, whose columns are the features.

    `y` is a Series or None. If it is a DataFrame, the labels are a dictionary by column. The other
    arguments are those of `numpy_input_fn`.

    Raises:
        ValueError: `shuffle` is not given. The input function raises ValueError if the indices of
            `x` and `y` differ, or if `x` has a column named `target_column`.
        TypeError: `x` has no columns, or `target_column` is not a string.
    """
    _check_shuffle(shuffle)
    if not hasattr(x, "columns"):
        raise TypeError(f"x must be a pandas DataFrame; got {type(x).__name__}")
    if not isinstance(target_column, str):
        raise TypeError("target_column must be a string type")

    def input_fn() -> Any:
        if y is not None:
            _check_target(x, y, target_column)
        features = {name: x[name].to_numpy() for name in x.columns}
        labels = y
        if y is not None:
            is_frame = hasattr(y, "columns")
            labels = {name: y[name].to_numpy() for name in y.columns} if is_frame else y.to_numpy()
        return numpy_input_fn(
            features, labels, batch_size, num_epochs, shuffle, queue_capacity, num_threads
        )()

    return input_fn


def __getattr__(name: str) -> Any:
    raise absent("tf.estimator.inputs", name)


def _check_shuffle(shuffle: Any) -> None:
    if not isinstance(shuffle, bool):
        raise ValueError(
            "shuffle must be provided and explicitly set as boolean (it is recommended to set it "
            f"as True for training); got {shuffle}"
        )


def _check_target(x: Any, y: Any, target_column: str) -> None:
    if target_column in x:
        raise ValueError(
            f"Cannot use name {target_column} for target column: DataFrame already has a column "
            f"with that name: {x.columns}"
        )
    if not np.array_equal(x.index, y.index):
        raise ValueError(
            f"Index for x and y are mismatched.\nIndex for x: {x.index}\nIndex for y: {y.index}\n"
        )


def _features(x: Any) -> dict[Any, Any]:
    """Return the arrays of `x` by name, sorted by name."""
    if isinstance(x, Mapping):
        if not x:
            raise ValueError("x cannot be an empty dict")
        return dict(sorted(x.items()))
    if isinstance(x, np.ndarray):
        if x.size == 0:
            raise ValueError("x cannot be an empty array")
        return {"__direct_np_input__": x}
    raise TypeError(f"x must be a dict or array; got {type(x).__name__}")


def _labels(y: Any, features: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return the arrays of `y` by names that no feature has."""
    if isinstance(y, Mapping):
        if not y:
            raise ValueError("y cannot be empty dict, use None instead.")
        both = set(features) & set(y)
        if both:
            raise ValueError(f"{len(both)} duplicate keys are found in both x and y: {both}")
        labels = dict(sorted(y.items()))
    else:
        labels = {} if y is None else {("__target__",): y}
    shapes, label_shapes = (
        {name: each.shape for name, each in group.items()} for group in (features, labels)
    )
    if len({shape[0] for shape in (*shapes.values(), *label_shapes.values())}) != 1:
        raise ValueError(
            "Length of tensors in x and y is mismatched. All elements in x and y must have the "
            f"same length.\nShapes in x: {shapes}\nShapes in y: {label_shapes}\n"
        )
    return labels


def _batches(
    arrays: Mapping[Any, Any],
    batch_size: int,
    num_epochs: int | None,
    shuffle: bool,
    capacity: int,
    num_threads: int,
) -> dict[Any, Any]:
    """Return the tensors of a batch, from a queue that threads of the session fill."""
    types = [dtypes.as_dtype(_array(each).dtype) for each in arrays.values()]
    shapes = [each.shape[1:] for each in arrays.values()]
    queue = data_flow_ops.FIFOQueue(capacity, types, shapes)
    seed = random_seed.get_seed(None)[1]
    source = _Source(arrays, min(batch_size, capacity), num_epochs, shuffle, seed)
    chunk = script_ops.py_func(source.next_rows, [], types)
    for tensor, shape in zip(chunk, shapes, strict=True):
        tensor.set_shape([None, *shape])
    enqueue = queue.enqueue_many(chunk)
    queue_runner.add_queue_runner(queue_runner.QueueRunner(queue, [enqueue] * num_threads))
    dequeue = queue.dequeue_many if num_epochs is None else queue.dequeue_up_to
    tensors = dequeue(batch_size)
    return dict(zip(arrays, tensors if len(arrays) > 1 else [tensors], strict=True))


def _array(values: Any) -> Any:
    """Return the values as an array that a tensor can hold."""
    return values.astype(bytes) if values.dtype.kind == "U" else np.asarray(values)


class _Source:
    """The rows of arrays, epoch after epoch. Thread-safe."""

    def __init__(
        self,
        arrays: Mapping[Any, Any],
        chunk: int,
        num_epochs: int | None,
        shuffle: bool,
        seed: int | None,
    ) -> None:
        self._arrays = [_array(each) for each in arrays.values()]
        self._size = len(self._arrays[0])
        self._chunk = chunk
        self._num_epochs = num_epochs
        self._random = np.random.default_rng(seed) if shuffle else None
        self._rows = self._chunks()
        self._lock = threading.Lock()

    def next_rows(self) -> list[Any]:
        """Return the next rows of each array. Raise StopIteration after the last epoch."""
        with self._lock:
            rows = next(self._rows)
        return [each[rows] for each in self._arrays]

    def _chunks(self) -> Iterator[Any]:
        epoch = 0
        while self._size and (self._num_epochs is None or epoch < self._num_epochs):
            order = np.arange(self._size)
            if self._random is not None:
                self._random.shuffle(order)
            for start in range(0, self._size, self._chunk):
                yield order[start : start + self._chunk]
            epoch += 1
