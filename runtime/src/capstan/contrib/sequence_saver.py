"""Segments of long sequences in batches, with a state that goes from segment to segment
(contrib/training/python/training/sequence_queueing_state_saver.py).

Every sequence is cut into segments of `num_unroll` steps. A barrier holds the segments by their
keys. A segment is complete, and may be taken, when its state has arrived: the first one has its
state at once, and each of the others gets it when the segment before it has been computed.
"""

from collections.abc import Mapping
from typing import Any

from capstan.api import (
    array_ops,
    barriers,
    control_flow_ops,
    creation_ops,
    data_flow_ops,
    logic_ops,
    math_ops,
    reduce_ops,
    string_ops,
)
from capstan.contrib import next_sequence_batch, sequence_checks
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

__all__ = ["SequenceQueueingStateSaver"]

_FIXED = ("length", "total_length", "next_key", "sequence", "sequence_count")
"""The components of a segment besides its sequences, its context and its states."""


class SequenceQueueingStateSaver:
    """Cuts sequences into segments, and hands out batches of them with their states."""

    def __init__(
        self,
        batch_size: Any,
        num_unroll: int,
        input_length: Any,
        input_key: Any,
        input_sequences: Mapping[str, Any],
        input_context: Mapping[str, Any],
        initial_states: Mapping[str, Any],
        capacity: int | None = None,
        allow_small_batch: bool = False,
        name: str | None = None,
    ) -> None:
        """Take one sequence at a time, with the string `input_key`, which no other one has.

        `input_sequences` has tensors [time, ...], of the same time, a multiple of `num_unroll`.
        `input_length` is their length without padding, an int32 scalar. `input_context` has tensors
        for all segments, and `initial_states` the states of the first one. All shapes must be
        known, except the time. At most `capacity` sequences are there at once, by default any
        number. If `allow_small_batch`, the last batches may be smaller than `batch_size`.

        Raises:
            TypeError: an argument has the wrong type.
            ValueError: a shape is unknown, `capacity` is below `batch_size`, a name has a colon, or
                there are no sequences or states.
        """
        for what, given in (
            ("sequences", input_sequences),
            ("context", input_context),
            ("initial_states", initial_states),
        ):
            sequence_checks.check_names(what, given)
        if not input_sequences:
            raise ValueError("must have at least one sequence tensor")
        if not initial_states:
            raise ValueError(
                "initial_states may not be empty: at least one state variable is required to "
                "properly enqueue split sequences to run in separate iterations"
            )
        if capacity is not None:
            input_key = sequence_checks.with_room(input_key, capacity, batch_size)
        # The barrier has no limit, because it holds an unknown number of segments of each sequence.
        # A queue with a token for each sequence makes new ones wait.
        self._tokens = data_flow_ops.FIFOQueue(
            -1 if capacity is None else capacity, [dtypes.int32], shapes=[[]]
        )
        self._batch_size, self._num_unroll = batch_size, num_unroll
        self._allow_small_batch = allow_small_batch
        graph = graphs.get_default_graph()
        with self._beside(), graph.name_scope(name or "InputQueueingStateSaver") as self._scope:
            self._read(input_length, input_key, input_sequences, input_context, initial_states)
            self._barrier = self._new_barrier()
        self._prefetch_op: Any = None
        self._next_batch: next_sequence_batch.NextQueuedSequenceBatch | None = None

    def _beside(self) -> Any:
        """Place all operations beside the queue, on a CPU."""
        return graphs.get_default_graph().colocate_with(self._tokens.queue_ref)

    def _read(
        self, length: Any, key: Any, sequences: Any, context: Any, states: Any
    ) -> None:  # fmt: skip
        """Convert the input, and check it."""
        self._given = {
            kind: {
                each: convert.convert_to_tensor(values[each], name=f"{kind}_{each}")
                for each in sorted(values)
            }
            for kind, values in (("sequence", sequences), ("context", context), ("state", states))
        }
        for kind, values in self._given.items():
            for each, tensor in values.items():
                known = tensor.shape[1:] if kind == "sequence" else tensor.shape
                if not known.is_fully_defined():
                    less = "(ignoring first dimension)" if kind == "sequence" else ""
                    raise ValueError(
                        f"Shape for {kind} {each} is not fully defined {less}: {tensor.shape}"
                    )
        self._length, self._key = map(convert.convert_to_tensor, (length, key))
        for what, tensor, dtype in (
            ("length", self._length, dtypes.int32),
            ("key", self._key, dtypes.string),
        ):
            tensor.shape.assert_has_rank(0)
            if tensor.dtype != dtype:
                raise TypeError(f"{what} dtype must be {dtype.name}, but received: {tensor.dtype}")
        self._check_times()

    def _check_times(self) -> None:
        values = self._given["sequence"]
        first = next(iter(values.values()))
        time = array_ops.shape(first)[0]
        self._time = sequence_checks.check_multiple(
            time, time, self._num_unroll, f"Tensor {first.name}"
        )
        for each, tensor in values.items():
            shape = array_ops.shape(tensor)
            message = string_ops.string_join(
                [
                    f"Dimension 0 of tensor labeled sorted_sequences_{each} should be: ",
                    string_ops.as_string(self._time),
                    ", shape received: ",
                    string_ops.as_string(shape),
                ]
            )
            values[each] = sequence_checks.checked(
                tensor, logic_ops.equal(shape[0], self._time), [message]
            )
        self._length = sequence_checks.checked(
            self._length,
            logic_ops.less_equal(self._length, self._time),
            ["Input length should be <= than length from sequences:", self._length, " vs. ",
             self._time],
        )  # fmt: skip

    def _new_barrier(self) -> barriers.Barrier:
        kinds: list[Any] = [dtypes.int32, dtypes.int32, dtypes.string, dtypes.int32, dtypes.int32]
        shapes: list[Any] = [()] * len(kinds)
        self._places: dict[tuple[str, str], int] = {}
        for kind, values in self._given.items():
            for each, tensor in values.items():
                self._places[kind, each] = len(kinds)
                kinds.append(tensor.dtype)
                shape = tensor.shape.as_list()
                shapes.append([self._num_unroll, *shape[1:]] if kind == "sequence" else shape)
        return barriers.Barrier(kinds, shapes)

    def _place(self, kind: str, name: str) -> int:
        """Return the number of a component in the barrier."""
        return self._places[kind, name]

    @property
    def name(self) -> str:
        return str(self._scope)

    @property
    def barrier(self) -> barriers.Barrier:
        return self._barrier

    @property
    def batch_size(self) -> Any:
        return self._batch_size

    @property
    def num_unroll(self) -> int:
        return self._num_unroll

    @property
    def prefetch_op(self) -> Any:
        """The operation that takes in one sequence. It waits while `capacity` sequences are there.

        Threads of their own should run it, such as those of a QueueRunner.
        """
        if self._prefetch_op is None:
            with self._reopened(), self._beside():
                self._prefetch_op = self._prefetch()
        return self._prefetch_op

    @property
    def next_batch(self) -> next_sequence_batch.NextQueuedSequenceBatch:
        """The batch that a step takes. It waits until `batch_size` segments are complete."""
        if self._next_batch is None:
            _ = self.prefetch_op
            with self._reopened(), self._beside():
                self._take()
            self._next_batch = next_sequence_batch.NextQueuedSequenceBatch(self)
        return self._next_batch

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Any:
        """Return the operation that lets no more sequences in.

        The segments of those that are there can still be taken, unless `cancel_pending_enqueues`.
        """
        with graphs.get_default_graph().name_scope(name or "SQSSClose"):
            return control_flow_ops.group(
                self._barrier.close(cancel_pending_enqueues, "BarrierClose"),
                self._tokens.close(cancel_pending_enqueues, "FIFOClose"),
            )

    def _reopened(self) -> Any:
        return graphs.get_default_graph().name_scope(self._scope)

    def _prefetch(self) -> Any:
        """Return the operation that puts all segments of a sequence into the barrier."""
        count = raw.FloorDiv(self._time, self._num_unroll)
        numbers = math_ops.range(count)
        ones = creation_ops.ones(raw.Pack([count]), dtypes.int32)
        left = math_ops.maximum(0, self._length - self._num_unroll * numbers)
        digits = (string_ops.as_string(each, width=5, fill="0") for each in (numbers, count))
        number, total = digits
        keys = string_ops.string_join([number, "_of_", total, ":", self._key])
        stop = raw.ExpandDims(string_ops.string_join(["STOP:", self._key]), 0)
        fixed = {
            "length": math_ops.minimum(self._num_unroll, left),
            "total_length": self._length * ones,
            "next_key": array_ops.concat([keys[1:], stop], 0),
            "sequence": numbers,
            "sequence_count": count * ones,
        }
        inserts = [
            self._barrier.insert_many(_FIXED.index(each), keys, value)
            for each, value in fixed.items()
        ]
        for each, tensor in self._given["sequence"].items():
            parts = [count, self._num_unroll, *tensor.shape.as_list()[1:]]
            rows = array_ops.reshape(tensor, raw.Pack(parts))
            inserts.append(self._barrier.insert_many(self._place("sequence", each), keys, rows))
        for each, tensor in self._given["context"].items():
            repeats = raw.Pack([count, *[1] * len(tensor.shape.as_list())])
            rows = raw.Tile(raw.ExpandDims(tensor, 0), repeats)
            inserts.append(self._barrier.insert_many(self._place("context", each), keys, rows))
        token = self._tokens.enqueue((0,))
        # All segments are there before the first one is complete, and so have the same index.
        with graphs.get_default_graph().control_dependencies([inserts[3], token]):
            starts = [
                self._barrier.insert_many(
                    self._place("state", each), keys[:1], raw.ExpandDims(tensor, 0)
                )
                for each, tensor in self._given["state"].items()
            ]
        return control_flow_ops.group(token, *inserts, *starts, name="StateSaverPrefetchGroup")

    def _take(self) -> None:
        """Take segments from the barrier, and a token for each sequence that ends with them."""
        taken = self._barrier.take_many(
            self._batch_size, self._allow_small_batch, name="BarrierTakeMany"
        )
        self._indices, self._keys, values = taken
        self._received = dict(zip(_FIXED, values[: len(_FIXED)], strict=True))

        def found(kind: str) -> dict[str, Any]:
            return {each: values[self._place(kind, each)] for each in self._given[kind]}

        self._sequences, self._context = found("sequence"), found("context")
        last = self._received["sequence_count"] - 1
        self._is_done = logic_ops.greater_equal(self._received["sequence"], last)
        ended = reduce_ops.reduce_sum(math_ops.cast(self._is_done, dtypes.int32))
        with graphs.get_default_graph().control_dependencies([self._tokens.dequeue_many(ended)]):
            self._states = {each: raw.Identity(value) for each, value in found("state").items()}
