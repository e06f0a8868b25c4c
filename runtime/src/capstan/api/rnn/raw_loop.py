"""`tf.nn.raw_rnn`: a recurrent network whose inputs a function chooses (python/ops/rnn.py)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from capstan.api import array_ops, creation_ops, reduce_ops, scope_block, while_ops
from capstan.api import tensor_array_ops as arrays
from capstan.core import dtypes, tensor_shape
from capstan.framework import convert, nest
from capstan.framework.raw import raw

__all__ = ["raw_rnn"]


def raw_rnn(
    cell: Any,
    loop_fn: Callable[..., Any],
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    scope: Any = None,
) -> tuple[Any, Any, Any]:
    """Call a cell until all examples are finished. Return the outputs, the states, the loop state.

    `loop_fn(time, cell_output, cell_state, loop_state)` returns which examples are finished, the
    next input, the next state, the output to keep, and the next loop state. The first call gets
    None for all but the time, and returns the initial state. Its output may be None, or a structure
    of tensors with the shape and type of the outputs of one example. The outputs are TensorArrays.
    A finished example emits zeros and keeps its state.

    Raises:
        TypeError: `loop_fn` is not callable.
        ValueError: the structure of a state or input changes.
    """
    if not callable(loop_fn):
        raise TypeError("loop_fn must be a callable")
    with scope_block.variable_scope(scope or "rnn"):
        time = convert.constant(0, dtypes.int32)
        finished, first, state, emitted, first_loop_state = loop_fn(time, None, None, None)
        loop_state = convert.constant(0) if first_loop_state is None else first_loop_state
        first = nest.mapped(convert.convert_to_tensor, first)
        state = nest.mapped(convert.convert_to_tensor, state)
        nest.check_same(state, cell.state_size)
        static_batch, batch = _batch(nest.flatten(first)[0])
        kinds = _Kinds(cell, emitted, nest.flatten(state)[0].dtype)
        zeros = kinds.zeros(batch)

        def body(time: Any, finished: Any, value: Any, kept: Any, state: Any, extra: Any) -> Any:
            output, new_state = cell(value, state)
            over, value_after, state_after, emit, extra_after = loop_fn(
                time + 1, output, new_state, extra
            )
            for one, other in ((state, state_after), (value, value_after), (kept, emit)):
                nest.check_same(one, other)

            def chosen(old: Any, new: Any) -> Any:
                leaves = zip(nest.flatten(old), nest.flatten(new), strict=True)
                return nest.packed(new, [_unless(finished, *pair) for pair in leaves])

            parts = zip(nest.flatten(kept), nest.flatten(chosen(zeros, emit)), strict=True)
            written = nest.packed(kept, [array.write(time, part) for array, part in parts])
            extra_after = extra if extra_after is None else extra_after
            is_over = raw.LogicalOr(finished, over)
            return time + 1, is_over, value_after, written, chosen(state, state_after), extra_after

        *_, outputs, last, last_loop_state = while_ops.while_loop(
            lambda _time, finished, *_rest: raw.LogicalNot(reduce_ops.reduce_all(finished)),
            body,
            (time, finished, first, kinds.arrays(static_batch), state, loop_state),
            parallel_iterations=parallel_iterations or 32,
            swap_memory=swap_memory,
        )
        return outputs, last, None if first_loop_state is None else last_loop_state


def _unless(finished: Any, old: Any, new: Any) -> Any:
    """Return `new`, with the rows of `old` for the examples that are finished."""
    if isinstance(old, arrays.TensorArray) or old.shape.ndims == 0:
        return new
    return raw.Select(finished, old, new)


def _batch(value: Any) -> tuple[int | None, Any]:
    """Return the size of the batch, if it is known, and as a tensor."""
    known = None if value.shape.ndims is None else value.shape.as_list()[0]
    return known, array_ops.shape(value)[0] if known is None else convert.constant(known)


class _Kinds:
    """The shapes and types of the outputs of one example.

    `emitted` is the structure of outputs that the first call of `loop_fn` returned.
    """

    def __init__(self, cell: Any, emitted: Any, dtype: dtypes.DType) -> None:
        self._structure = cell.output_size if emitted is None else emitted
        self._leaves: list[tuple[tensor_shape.TensorShape, Any, dtypes.DType]] = []
        for leaf in nest.flatten(self._structure):
            if emitted is None:
                shape = tensor_shape.TensorShape([leaf] if isinstance(leaf, int) else leaf)
                self._leaves.append((shape, None, dtype))
            else:
                tensor = convert.convert_to_tensor(leaf)
                self._leaves.append((tensor.shape, array_ops.shape(tensor), tensor.dtype))

    def arrays(self, batch: int | None) -> Any:
        """Return the empty TensorArrays of the outputs."""
        made = [
            arrays.TensorArray(
                dtype,
                size=0,
                dynamic_size=True,
                element_shape=tensor_shape.TensorShape([batch]).concatenate(shape),
                tensor_array_name=f"rnn_output_{index}",
            )
            for index, (shape, _, dtype) in enumerate(self._leaves)
        ]
        return nest.packed(self._structure, made)

    def zeros(self, batch: Any) -> Any:
        """Return the outputs of a finished batch."""
        made = []
        for shape, sizes, dtype in self._leaves:
            if shape.is_fully_defined():
                sizes = np.array(shape.as_list(), np.int32)
            made.append(
                creation_ops.zeros(raw.ConcatV2([raw.Reshape(batch, [1]), sizes], 0), dtype)
            )
        return nest.packed(self._structure, made)
