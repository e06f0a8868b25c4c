"""Batches of segments of sequences, with queue runners
(contrib/training/python/training/sequence_queueing_state_saver.py).
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from capstan import errors
from capstan.api import array_ops, creation_ops, logic_ops, math_ops, random_ops, string_ops
from capstan.api.scoped import scoped
from capstan.contrib import (
    next_sequence_batch,
    sequence_checks,
    sequence_saver,
    sequence_sparse,
)
from capstan.core import dtypes
from capstan.framework import convert, sparse_tensor
from capstan.framework.raw import raw
from capstan.train import queue_runner, summary

__all__ = ["batch_sequences_with_states"]

_CLOSED = (errors.OutOfRangeError, errors.CancelledError)
_CONTEXT = "_context_in_seq_"
"""Begins the names of sequences that are made of a sparse context."""


def batch_sequences_with_states(
    input_key: Any,
    input_sequences: Any,
    input_context: Mapping[str, Any],
    input_length: Any,
    initial_states: Mapping[str, Any],
    num_unroll: Any,
    batch_size: Any,
    num_threads: int = 3,
    capacity: int = 1000,
    allow_small_batch: bool = True,
    pad: bool = True,
    make_keys_unique: bool = False,
    make_keys_unique_seed: int | None = None,
    name: str | None = None,
) -> next_sequence_batch.NextQueuedSequenceBatch:
    """Return batches of segments of sequences, with the states that the segments before them saved.

    `num_threads` threads of a queue runner take in the sequences. The arguments are those of
    `SequenceQueueingStateSaver`, but sequences and context may be sparse. If `pad`, the sequences
    get zeros at their ends up to a multiple of `num_unroll`, and the `input_length` None stands for
    the length without them. If `make_keys_unique`, a random number follows each key, for inputs
    that come more than once.

    Raises:
        TypeError: an argument has the wrong type.
        ValueError: a shape is unknown, or an argument does not fit.
    """
    if not isinstance(num_unroll, int | np.integer):
        # TensorFlow's kind of error.
        raise ValueError(f"Unsupported num_unroll expected int, got: {num_unroll}")  # noqa: TRY004
    num_unroll = int(num_unroll)
    if not isinstance(input_sequences, dict):
        raise TypeError(f"Unsupported sequences expected dict, got: {input_sequences}")
    values = [*input_sequences.values(), *input_context.values(), *initial_states.values()]
    with scoped(name, "batch_sequences_with_states", values):
        sequences = {each: _tensor(each, input_sequences[each]) for each in input_sequences}
        if pad:
            length, sequences = _padding(sequences, num_unroll)
            input_length = length if input_length is None else input_length
        else:
            sequences = {
                each: _checked(each, value, num_unroll) for each, value in sequences.items()
            }
        context = dict(input_context)
        for each in [key for key, value in context.items() if sequence_sparse.is_sparse(value)]:
            time = _time(next(iter(sequences.values())))
            moved = sequence_sparse.as_sequence(context.pop(each), time, num_unroll)
            sequences[_CONTEXT + each] = moved
        if make_keys_unique:
            drawn = random_ops.random_uniform(
                (), 0, 100_000_000, dtypes.int32, seed=make_keys_unique_seed
            )
            input_key = string_ops.string_join([input_key, string_ops.as_string(drawn)])
        stores = {
            each: sequence_sparse.stored(value)
            for each, value in sequences.items()
            if sequence_sparse.is_sparse(value)
        }
        saver = sequence_saver.SequenceQueueingStateSaver(
            batch_size, num_unroll, input_length, input_key, {**sequences, **stores}, context,
            dict(initial_states), capacity, allow_small_batch,
        )  # fmt: skip
        ready = math_ops.cast(saver.barrier.ready_size(), dtypes.float32)
        summary.scalar(f"queue/{saver.barrier.name}/ready_segment_batches_", ready)
        queue_runner.add_queue_runner(
            queue_runner.QueueRunner(
                saver, [saver.prefetch_op] * num_threads, queue_closed_exception_types=_CLOSED
            )
        )
        batch = saver.next_batch
        for each, store in stores.items():
            found = sequence_sparse.restored(store.op, batch.sequences[each], num_unroll)
            if each.startswith(_CONTEXT):
                del batch.sequences[each]
                batch.context[each.removeprefix(_CONTEXT)] = sequence_sparse.as_context(found)
            else:
                batch.sequences[each] = found
        return batch


def _tensor(name: Any, value: Any) -> Any:
    if not isinstance(name, str):
        raise TypeError(f"Unsupported sequences key expected string, got: {name}")
    if isinstance(value, sparse_tensor.SparseTensorValue):
        return sparse_tensor.SparseTensor.from_value(value)
    if sequence_sparse.is_sparse(value):
        return value
    try:
        return convert.convert_to_tensor(value)
    except TypeError as error:
        raise TypeError(
            "Unsupported input_sequences expected Tensor or SparseTensor values, got: "
            f"{type(value)} for key {name}"
        ) from error


def _time(value: Any) -> Any:
    """Return the number of steps of a sequence, an int32 scalar."""
    if sequence_sparse.is_sparse(value):
        return math_ops.cast(value.dense_shape[0], dtypes.int32)
    return array_ops.shape(value)[0]


def _checked(name: str, value: Any, num_unroll: int) -> Any:
    """Return a sequence. The step fails unless it has a multiple of `num_unroll` steps."""
    if not sequence_sparse.is_sparse(value):
        what = f"Tensor {name} first dimension"
        return sequence_checks.check_multiple(value, _time(value), num_unroll, what)
    what = f"SparseTensor {name} first dimension"
    shape = sequence_checks.check_multiple(value.dense_shape, _time(value), num_unroll, what)
    return sparse_tensor.SparseTensor(value.indices, value.values, shape)


def _padding(sequences: dict[str, Any], num_unroll: int) -> tuple[Any, dict[str, Any]]:
    """Return the length of sequences, and the sequences with zeros up to a multiple of it.

    The length is that of the dense sequences, or else the greatest of the sparse ones.
    """
    if not sequences:
        return 0, {}
    times = {each: _time(sequences[each]) for each in sorted(sequences)}
    dense = [times[each] for each in times if not sequence_sparse.is_sparse(sequences[each])]
    length = dense[0] if dense else next(iter(times.values()))
    if dense:
        lengths = raw.Pack(dense)
        message = "All sequence lengths must match, but received lengths: "
        for each in dense:
            length = sequence_checks.checked(
                length, logic_ops.equal(each, dense[0]), [message, lengths]
            )
    else:
        for each in times.values():
            length = math_ops.maximum(length, each)
    padded = length + raw.FloorMod(-length, num_unroll)
    return length, {each: _padded(value, padded) for each, value in sequences.items()}


def _padded(value: Any, time: Any) -> Any:
    if sequence_sparse.is_sparse(value):
        steps = array_ops.reshape(math_ops.cast(time, dtypes.int64), [1])
        shape = array_ops.concat([steps, value.dense_shape[1:]], 0)
        return sparse_tensor.SparseTensor(value.indices, value.values, shape)
    shape = array_ops.shape(value)
    sizes = array_ops.concat([raw.ExpandDims(time - shape[0], 0), shape[1:]], 0)
    return array_ops.concat([value, creation_ops.zeros(sizes, value.dtype)], 0)
