"""`tf.nn.static_rnn` and `tf.nn.dynamic_rnn` (python/ops/rnn.py)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.api import array_ops, scope_block, tensor_array_ops, while_ops
from capstan.api.layers import common
from capstan.core import dtypes, tensor_shape
from capstan.framework import convert, nest
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

__all__ = ["dynamic_rnn", "static_rnn"]


def static_rnn(
    cell: Any,
    inputs: Sequence[Any],
    initial_state: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """Call a cell for each element of a list of inputs. Return the outputs and the last state.

    After the end of an example (`sequence_length`), its outputs are 0 and its state stays the same.
    An input may be a nest of tensors, which the cell gets, and outputs may be nests.

    Raises:
        TypeError: the inputs are not a list.
        ValueError: the list is empty, or both `initial_state` and `dtype` are missing.
    """
    if not isinstance(inputs, list | tuple):
        raise TypeError("inputs must be a sequence")
    if not inputs:
        raise ValueError("inputs must not be empty")
    with scope_block.variable_scope(scope or "rnn") as opened:
        inputs = [_input(value) for value in inputs]
        batch = _batch(nest.flatten(inputs[0])[0], 0)
        state = _initial(cell, initial_state, dtype, batch)
        lengths = _lengths(sequence_length)
        outputs: list[Any] = []
        for time, value in enumerate(inputs):
            if time > 0:
                opened.reuse_variables()
            output, new_state = _step(cell, value, state)
            if lengths is not None:
                is_over = raw.LessEqual(lengths, np.int32(time))
                zero = nest.packed(output, [raw.ZerosLike(part) for part in nest.flatten(output)])
                output = _selected(is_over, zero, output)
                new_state = _selected(is_over, state, new_state)
            outputs.append(output)
            state = new_state
        return outputs, state


def dynamic_rnn(
    cell: Any,
    inputs: Any,
    sequence_length: Any = None,
    initial_state: Any = None,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> tuple[Any, Any]:
    """Call a cell in a loop over the time steps of a tensor. Return the outputs and last state.

    The inputs and outputs are [batch, time, ...], or [time, batch, ...] if `time_major`. They may
    be nests: the cell gets nests of the inputs' structure, and returns nests of the structure of
    `cell.output_size`. After the end of an example (`sequence_length`), its outputs are 0 and its
    state stays the same.

    Raises:
        ValueError: both `initial_state` and `dtype` are missing.
    """
    with scope_block.variable_scope(scope or "rnn"):
        fed = [convert.convert_to_tensor(leaf, name="inputs") for leaf in nest.flatten(inputs)]
        if not time_major:
            fed = [_turned(leaf) for leaf in fed]
        batch = _batch(fed[0], 1)
        state = _initial(cell, initial_state, dtype, batch)
        lengths = _lengths(sequence_length)
        steps = array_ops.shape(fed[0])[0]
        size = cell.output_size
        sizes = nest.flatten(size)
        kind = fed[0].dtype.base_dtype if dtype is None else dtypes.as_dtype(dtype)
        if dtype is None:
            kind = nest.flatten(state)[0].dtype.base_dtype
        rows, given = _arrays(fed, [kind] * len(sizes), steps)

        def body(time: Any, results: Any, *leaves: Any) -> Any:
            old = nest.packed(state, list(leaves))
            values = [row.read(time) for row in rows]
            for value, leaf in zip(values, fed, strict=True):
                value.set_shape(leaf.shape[1:])
            output, new = _step(cell, nest.packed(inputs, values), old)
            nest.check_same(state, new)
            outputs = nest.flatten(output)
            if lengths is not None:
                is_over = raw.LessEqual(lengths, time)
                outputs = _selected(is_over, [raw.ZerosLike(leaf) for leaf in outputs], outputs)
                new = _selected(is_over, old, new)
            for leaf, before in zip(nest.flatten(new), leaves, strict=True):
                if not _is_array(leaf):
                    leaf.set_shape(before.shape)
            written = [
                result.write(time, leaf) for result, leaf in zip(results, outputs, strict=True)
            ]
            return (time + 1, written, *nest.flatten(new))

        _, results, *last = while_ops.while_loop(
            lambda time, *_: raw.Less(time, steps),
            body,
            (convert.constant(0, dtypes.int32, name="time"), given, *nest.flatten(state)),
            parallel_iterations=parallel_iterations or 32,
            swap_memory=swap_memory,
        )
        shape = [fed[0].shape.as_list()[0], convert.constant_value(batch)]
        outputs = [_stacked(*pair, shape) for pair in zip(results, sizes, strict=True)]
        if not time_major:
            outputs = [_turned(leaf) for leaf in outputs]
        return nest.packed(size, outputs), nest.packed(state, last)


def _arrays(fed: list[Any], kinds: list[Any], steps: Any) -> tuple[list[Any], list[Any]]:
    """Return the arrays of the inputs of all time steps, and empty arrays of the outputs."""

    def array(kind: Any, name: str) -> Any:
        return tensor_array_ops.TensorArray(kind, size=steps, tensor_array_name=name)

    with graphs.get_default_graph().name_scope("dynamic_rnn"):
        rows = [
            array(leaf.dtype.base_dtype, f"input_{number}").unstack(leaf)
            for number, leaf in enumerate(fed)
        ]
        return rows, [array(kind, f"output_{number}") for number, kind in enumerate(kinds)]


def _stacked(results: Any, size: Any, shape: list[Any]) -> Any:
    """Return the outputs of all steps. `shape` is the static [time, batch]."""
    outputs = results.stack()
    inner = tensor_shape.as_shape([size] if isinstance(size, int) else size)
    outputs.set_shape([*shape, *inner.as_list()])
    return outputs


def _input(value: Any) -> Any:
    """Return a tensor, or a nest of tensors for a nest that holds one."""
    if any(isinstance(leaf, graphs.Tensor) for leaf in nest.flatten(value)):
        return nest.mapped(convert.convert_to_tensor, value)
    return convert.convert_to_tensor(value)


def _batch(value: Any, axis: int) -> Any:
    known = value.shape.as_list()[axis] if value.shape.ndims is not None else None
    if known is not None:
        return convert.constant(known, dtypes.int32)
    return array_ops.shape(value)[axis]


def _initial(cell: Any, initial_state: Any, dtype: Any, batch: Any) -> Any:
    if initial_state is not None:
        return nest.packed(
            initial_state,
            [
                leaf if _is_array(leaf) else convert.convert_to_tensor(leaf)
                for leaf in nest.flatten(initial_state)
            ],
        )
    if not dtype:
        raise ValueError("If there is no initial_state, you must give a dtype.")
    known = convert.constant_value(batch)
    size = batch if known is None else int(known)
    if hasattr(cell, "get_initial_state"):
        return cell.get_initial_state(inputs=None, batch_size=size, dtype=dtype)
    return cell.zero_state(size, dtype)


def _step(cell: Any, inputs: Any, state: Any) -> Any:
    """Return the outputs and the new state of one time step."""
    if hasattr(cell, "zero_state") or not isinstance(cell, common.CommonLayer):
        return cell(inputs, state)
    # The state of a cell of Keras is a list, also if it is one tensor.
    is_one = not nest.is_nested(state)
    output, new_state = cell(inputs, [state] if is_one else state)
    return output, new_state[0] if is_one else nest.packed(state, nest.flatten(new_state))


def _lengths(sequence_length: Any) -> Any:
    if sequence_length is None:
        return None
    lengths = convert.convert_to_tensor(sequence_length, name="sequence_length")
    if lengths.shape.ndims not in (None, 1):
        raise ValueError(
            f"sequence_length must be a vector of length batch_size, but saw shape: {lengths.shape}"
        )
    return raw.Cast(lengths, DstT=dtypes.int32)


def _is_array(leaf: Any) -> bool:
    return isinstance(leaf, tensor_array_ops.TensorArray)


def _selected(condition: Any, if_true: Any, if_false: Any) -> Any:
    """Return the rows of one nest or the other. Arrays and scalars have no rows, and always go on.

    They come from the nest of the new step.
    """
    pairs = zip(nest.flatten(if_true), nest.flatten(if_false), strict=True)
    return nest.packed(if_false, [_rows(condition, one, other) for one, other in pairs])


def _rows(condition: Any, one: Any, other: Any) -> Any:
    has_rows = not _is_array(other) and other.shape.ndims != 0
    return raw.Select(condition, one, other) if has_rows else other


def _turned(value: Any) -> Any:
    """Exchange the first two axes."""
    rank = value.shape.ndims
    if rank is None:
        raise ValueError("dynamic_rnn needs inputs of known rank: call set_shape first")
    order = np.array([1, 0, *range(2, rank)], np.int32)
    return raw.Transpose(value, order, name="transpose")
