"""Queues that queue runners fill with file names, numbers or slices (python/training/input.py)."""

from collections.abc import Sequence
from typing import Any

from capstan.api import (
    array_ops,
    context,
    control_flow_ops,
    data_flow_ops,
    gather_ops,
    input_ops,
    io_ops,
    logic_ops,
    math_ops,
    variables,
)
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import collections, convert
from capstan.framework.raw import raw
from capstan.train import queue_runner

_LOCAL = [collections.GraphKeys.LOCAL_VARIABLES]


def match_filenames_once(pattern: Any, name: str | None = None) -> Any:
    """Return a local variable that holds the names of the files that match `pattern`.

    The variable's initializer looks for the files.
    """
    with scoped(name, "matching_filenames", [pattern]) as scope:
        return variables.Variable(
            name=scope,
            initial_value=io_ops.matching_files(pattern),
            trainable=False,
            validate_shape=False,
            collections=_LOCAL,
        )


def limit_epochs(tensor: Any, num_epochs: int | None = None, name: str | None = None) -> Any:
    """Return `tensor` for `num_epochs` steps, and then fail with OutOfRangeError.

    A local variable `epochs` counts the steps, so the program must run
    `tf.local_variables_initializer()`. If `num_epochs` is None, there is no limit.

    Raises:
        ValueError: `num_epochs` is not positive.
    """
    if num_epochs is None:
        return tensor
    if num_epochs <= 0:
        raise ValueError(f"num_epochs must be > 0 not {num_epochs}.")
    with scoped(name, "limit_epochs", [tensor]) as scope:
        zero = convert.constant(0, dtype=dtypes.int64)
        epochs = variables.Variable(zero, name="epochs", trainable=False, collections=_LOCAL)
        counter = input_ops.count_up_to(epochs, num_epochs)
        with context.control_dependencies([counter]):
            return array_ops.identity(tensor, name=scope)


def input_producer(
    input_tensor: Any,
    element_shape: Any = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    summary_name: str | None = None,
    name: str | None = None,
    cancel_op: Any = None,
) -> data_flow_ops.QueueBase:
    """Return a queue that a queue runner fills with the slices of `input_tensor` along axis 0.

    Each epoch has all slices, in random order if `shuffle`. After `num_epochs` epochs the queue is
    closed; see `limit_epochs`. `element_shape` completes the static shape of a slice. The summary
    `summary_name` is the part of the queue that is full.

    Raises:
        ValueError: the shape of a slice is not known.
    """
    with scoped(name, "input_producer", [input_tensor]):
        tensor = convert.convert_to_tensor(input_tensor, name="input_tensor")
        shape = tensor.shape[1:].merge_with(element_shape)
        if not shape.is_fully_defined():
            raise ValueError(
                "Either `input_tensor` must have a fully defined shape or `element_shape` must be "
                "specified"
            )
        if shuffle:
            tensor = input_ops.random_shuffle(tensor, seed=seed)
        tensor = limit_epochs(tensor, num_epochs)
        queue = data_flow_ops.FIFOQueue(
            capacity=capacity,
            dtypes=[tensor.dtype.base_dtype],
            shapes=[shape],
            shared_name=shared_name,
            name=name,  # type: ignore[arg-type]  # None stands for the type of the operation
        )
        enqueue = queue.enqueue_many([tensor])
        runner = queue_runner.QueueRunner(queue, [enqueue], cancel_op=cancel_op)
        queue_runner.add_queue_runner(runner)
        if summary_name is not None:
            summarize(summary_name, queue.size(), capacity)
        return queue


def summarize(name: str, size: Any, capacity: int) -> None:
    """Add a summary of `size` as a part of `capacity`."""
    part = math_ops.cast(size, dtypes.float32) * (1.0 / capacity)
    with scoped(name, name, [part]) as scope:
        summary = raw.ScalarSummary(scope.rstrip("/"), part, name=scope)
    context.add_to_collection(collections.GraphKeys.SUMMARIES, summary)


def string_input_producer(
    string_tensor: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
    cancel_op: Any = None,
) -> data_flow_ops.QueueBase:
    """Return a queue of strings, such as file names, as `input_producer` does.

    Raises:
        ValueError: there are no strings. If `string_tensor` is a tensor, the step fails instead.
    """
    problem = "string_input_producer requires a non-null input tensor"
    if hasattr(string_tensor, "__len__") and not len(string_tensor):
        raise ValueError(problem)
    with scoped(name, "input_producer", [string_tensor]) as scope:
        strings = convert.convert_to_tensor(string_tensor, dtypes.string)
        is_filled = logic_ops.greater(array_ops.size(strings), 0)
        with context.control_dependencies([control_flow_ops.Assert(is_filled, [problem])]):
            strings = array_ops.identity(strings)
        return input_producer(
            strings,
            element_shape=[],
            num_epochs=num_epochs,
            shuffle=shuffle,
            seed=seed,
            capacity=capacity,
            shared_name=shared_name,
            name=scope,
            summary_name=f"fraction_of_{capacity}_full",
            cancel_op=cancel_op,
        )


def range_input_producer(
    limit: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> data_flow_ops.QueueBase:
    """Return a queue of the integers from 0 to `limit` - 1, as `input_producer` does."""
    with scoped(name, "input_producer", [limit]) as scope:
        return input_producer(
            math_ops.range(limit),
            [],
            num_epochs,
            shuffle,
            seed,
            capacity,
            shared_name,
            f"fraction_of_{capacity}_full",
            scope,
        )


def slice_input_producer(
    tensor_list: Sequence[Any],
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> list[Any]:
    """Return one slice of each tensor along axis 0. Each step takes the slices of another index.

    All tensors must have the same length along axis 0. With `shuffle`, the order of the indices is
    random in each epoch.

    Raises:
        ValueError: there are no tensors.
    """
    with scoped(name, "input_producer", tensor_list):
        tensors = [convert.convert_to_tensor(value) for value in tensor_list]
        if not tensors:
            raise ValueError("Expected at least one tensor in slice_input_producer().")
        queue = range_input_producer(
            array_ops.shape(tensors[0])[0],
            num_epochs=num_epochs,
            shuffle=shuffle,
            seed=seed,
            capacity=capacity,
            shared_name=shared_name,
        )
        index = queue.dequeue()
        return [gather_ops.gather(tensor, index) for tensor in tensors]
