"""The loop over the steps of sequences: `tf.keras.backend.rnn` (python/keras/backend.py)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from capstan.api import array_ops, math_ops, tensor_array_ops, while_ops
from capstan.core import dtypes
from capstan.framework import convert, nest
from capstan.framework.raw import raw

Step = Callable[[Any, Any], tuple[Any, Any]]


def rnn(
    step_function: Step,
    inputs: Any,
    initial_states: Any,
    go_backwards: bool = False,
    mask: Any = None,
    constants: Any = None,
    unroll: bool = False,
    input_length: Any = None,
    time_major: bool = False,
    zero_output_for_mask: bool = False,
) -> tuple[Any, Any, Any]:
    """Return the last output, the outputs of all steps, and the last states.

    `step_function(inputs, states)` returns the output and the new states of one step. `states` is a
    tuple of the states and the `constants`. Inputs and outputs are tensors [batch, time, ...], or
    [time, batch, ...] if `time_major`, or nests of them. `go_backwards` begins with the last step,
    and the outputs keep the order in which they are computed.

    `mask` is [batch, time], or [time, batch] if `time_major`. Where it is false, the states stay,
    and the output is the previous output, or 0 at the first step and if `zero_output_for_mask`.
    Without `unroll`, `rnn` calls `step_function` twice: before the loop and in the loop.
    `input_length` limits the number of steps of the loop.

    Raises:
        ValueError: an input has fewer than three axes, `unroll` is true and the number of steps is
            unknown, or there are a mask and no states.
    """
    for each in nest.flatten(inputs):
        if each.shape.ndims is None or each.shape.ndims < 3:
            raise ValueError(f"rnn: inputs must have at least 3 axes. Received shape: {each.shape}")
    if mask is not None and not nest.flatten(initial_states):
        raise ValueError(
            "No initial states provided! With a mask, rnn needs states: return the output of a "
            "step as the first new state"
        )
    given = inputs if time_major else nest.mapped(_turned, inputs)
    kept = None if mask is None else _mask_of_steps(mask, time_major)
    if go_backwards:
        given = nest.mapped(_reversed, given)
        kept = None if kept is None else _reversed(kept)
    steps = _Steps(step_function, given, kept, tuple(constants or ()), zero_output_for_mask)
    outputs, states = (
        steps.unrolled(initial_states) if unroll else steps.looped(initial_states, input_length)
    )
    sizes = nest.flatten(given)[0].shape.as_list()[:2]
    for each in nest.flatten(outputs):
        each.set_shape([*sizes, *each.shape.as_list()[2:]])
    last = nest.mapped(lambda each: each[-1], outputs)
    return last, outputs if time_major else nest.mapped(_turned, outputs), states


class _Steps:
    """The steps of sequences, with the time on the first axis."""

    def __init__(
        self, function: Step, inputs: Any, mask: Any, constants: tuple[Any, ...], zeros: bool
    ) -> None:
        self._function = function
        self._inputs = inputs
        self._mask = mask
        self._constants = constants
        self._zeros = zeros

    def _call(self, inputs: Any, states: Any) -> tuple[Any, Any]:
        """Return the output and the new states, in the structure of the old states."""
        output, new = self._function(inputs, (*states, *self._constants))
        leaves = nest.flatten(new)
        for leaf, old in zip(leaves, nest.flatten(states), strict=True):
            leaf.set_shape(old.shape)
        return output, nest.packed(states, leaves)

    def _advance(self, inputs: Any, mask: Any, previous: Any, states: Any) -> tuple[Any, Any]:
        """Return the output and the states after a step that leaves out the masked examples."""
        output, new = self._call(inputs, states)
        if mask is None:
            return output, new
        if previous is None or self._zeros:
            previous = nest.mapped(raw.ZerosLike, output)
        return _selected(mask, output, previous), _selected(mask, new, states)

    def unrolled(self, states: Any) -> tuple[Any, Any]:
        """Return the outputs and the last states, from a part of the graph for each step."""
        leaves = nest.flatten(self._inputs)
        if leaves[0].shape.as_list()[0] is None:
            raise ValueError("Unrolling requires a fixed number of timesteps.")
        steps = zip(*(array_ops.unstack(leaf) for leaf in leaves), strict=True)
        results: list[Any] = []
        output: Any = None
        masks = None if self._mask is None else array_ops.unstack(self._mask)
        for time, step in enumerate(steps):
            inputs = nest.packed(self._inputs, list(step))
            mask = None if masks is None else masks[time]
            output, states = self._advance(inputs, mask, output, states)
            results.append(nest.flatten(output))
        stacked = [array_ops.stack(list(each)) for each in zip(*results, strict=True)]
        return nest.packed(output, stacked), states

    def looped(self, states: Any, limit: Any) -> tuple[Any, Any]:
        """Return the outputs and the last states, from a loop."""
        leaves = nest.flatten(self._inputs)
        count = array_ops.shape(leaves[0])[0]
        fed = [_array(leaf.dtype, count).unstack(leaf) for leaf in leaves]
        masks = None if self._mask is None else _array(dtypes.bool_, count).unstack(self._mask)
        # Masks of dropout are made by this call, so that all steps share them.
        first, _ = self._call(nest.mapped(lambda leaf: leaf[0], self._inputs), states)
        outputs = [_array(leaf.dtype, count) for leaf in nest.flatten(first)]
        zeros = [] if masks is None else [raw.ZerosLike(leaf) for leaf in nest.flatten(first)]
        size = len(outputs)

        def body(time: Any, *loop_vars: Any) -> Any:
            arrays, rest = loop_vars[:size], loop_vars[size:]
            inputs = [array.read(time) for array in fed]
            for value, leaf in zip(inputs, leaves, strict=True):
                value.set_shape(leaf.shape[1:])
            mask = None if masks is None else masks.read(time)
            previous = nest.packed(first, list(rest[: len(zeros)])) if zeros else None
            old = nest.packed(states, list(rest[len(zeros) :]))
            output, new = self._advance(nest.packed(self._inputs, inputs), mask, previous, old)
            made = nest.flatten(output)
            written = [array.write(time, each) for array, each in zip(arrays, made, strict=True)]
            return (time + 1, *written, *(made if zeros else ()), *nest.flatten(new))

        start = (convert.constant(0, dtypes.int32, name="time"), *outputs, *zeros)
        _, *ends = while_ops.while_loop(
            lambda time, *_: raw.Less(time, count),
            body,
            (*start, *nest.flatten(states)),
            parallel_iterations=32,
            swap_memory=True,
            maximum_iterations=limit,
        )
        stacked = [array.stack() for array in ends[:size]]
        for value, leaf in zip(stacked, nest.flatten(first), strict=True):
            value.set_shape([None, *leaf.shape.as_list()])
        return nest.packed(first, stacked), nest.packed(states, ends[size + len(zeros) :])


def _array(dtype: Any, size: Any) -> Any:
    return tensor_array_ops.TensorArray(dtype.base_dtype, size=size)


def _turned(tensor: Any) -> Any:
    """Exchange the first two axes."""
    order = np.array([1, 0, *range(2, tensor.shape.ndims)], np.int32)
    return raw.Transpose(tensor, order)


def _reversed(tensor: Any) -> Any:
    return raw.ReverseV2(tensor, np.array([0], np.int32))


def _mask_of_steps(mask: Any, time_major: bool) -> Any:
    """Return the mask as booleans [time, batch]. A last axis of size 1 is left out."""
    kept = math_ops.cast(convert.convert_to_tensor(mask), dtypes.bool_)
    if kept.shape.ndims == 3:
        kept = array_ops.squeeze(kept, axis=-1)
    return kept if time_major else _turned(kept)


def _selected(mask: Any, if_true: Any, if_false: Any) -> Any:
    pairs = zip(nest.flatten(if_true), nest.flatten(if_false), strict=True)
    return nest.packed(if_true, [raw.Select(mask, new, old) for new, old in pairs])
