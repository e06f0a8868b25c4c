"""Two recurrent networks over one sequence, forwards and backwards (python/ops/rnn.py)."""

from collections.abc import Sequence
from typing import Any

from capstan.api import ordering_ops, scope_block
from capstan.api.rnn import loops
from capstan.framework import nest
from capstan.framework.raw import raw

__all__ = ["bidirectional_dynamic_rnn", "static_bidirectional_rnn"]


def bidirectional_dynamic_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Any,
    sequence_length: Any = None,
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Call one cell forwards and the other backwards. Return the two outputs and the two states.

    The outputs of both cells are in the order of the inputs. Each example is reversed within its
    `sequence_length`. The other arguments are as for `dynamic_rnn`.

    Raises:
        ValueError: `dtype` and the initial state of a cell are missing.
    """
    time, batch = (0, 1) if time_major else (1, 0)

    def reverse(value: Any) -> Any:
        if sequence_length is None:
            return raw.ReverseV2(value, [time])
        return ordering_ops.reverse_sequence(
            value, sequence_length, seq_axis=time, batch_axis=batch
        )

    more = {
        "dtype": dtype,
        "parallel_iterations": parallel_iterations,
        "swap_memory": swap_memory,
        "time_major": time_major,
    }
    with scope_block.variable_scope(scope or "bidirectional_rnn"):
        with scope_block.variable_scope("fw") as forwards:
            output_fw, state_fw = loops.dynamic_rnn(
                cell_fw, inputs, sequence_length, initial_state_fw, scope=forwards, **more
            )
        with scope_block.variable_scope("bw") as backwards:
            turned = nest.mapped(reverse, inputs)
            output_bw, state_bw = loops.dynamic_rnn(
                cell_bw, turned, sequence_length, initial_state_bw, scope=backwards, **more
            )
    return (output_fw, nest.mapped(reverse, output_bw)), (state_fw, state_bw)


def static_bidirectional_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Sequence[Any],
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any, Any]:
    """Call one cell forwards and the other backwards over a list of inputs.

    Return the outputs, each of which joins the outputs of both cells along axis 1, and the last
    state of each cell. The arguments are as for `static_rnn`.

    Raises:
        TypeError: the inputs are not a list.
        ValueError: the list is empty, or `dtype` and the initial state of a cell are missing.
    """
    if not isinstance(inputs, list | tuple):
        raise TypeError("inputs must be a sequence")
    if not inputs:
        raise ValueError("inputs must not be empty")
    with scope_block.variable_scope(scope or "bidirectional_rnn"):
        with scope_block.variable_scope("fw") as forwards:
            output_fw, state_fw = loops.static_rnn(
                cell_fw, inputs, initial_state_fw, dtype, sequence_length, forwards
            )
        with scope_block.variable_scope("bw") as backwards:
            turned = _reversed(inputs, sequence_length)
            output_bw, state_bw = loops.static_rnn(
                cell_bw, turned, initial_state_bw, dtype, sequence_length, backwards
            )
    pairs = zip(output_fw, _reversed(output_bw, sequence_length), strict=True)
    return [_joined(*pair) for pair in pairs], state_fw, state_bw


def _joined(one: Any, other: Any) -> Any:
    """Return a nest whose leaves join those of two nests along axis 1."""
    leaves = zip(nest.flatten(one), nest.flatten(other), strict=True)
    return nest.packed(one, [raw.ConcatV2(list(pair), 1) for pair in leaves])


def _reversed(values: Sequence[Any], sequence_length: Any) -> list[Any]:
    """Return the values of the time steps backwards. A value may be a nest."""
    if sequence_length is None:
        return list(reversed(values))
    leaves = []
    for steps in zip(*map(nest.flatten, values), strict=True):
        backwards = ordering_ops.reverse_sequence(
            raw.Pack(list(steps)), sequence_length, seq_axis=0, batch_axis=1
        )
        leaves.append(raw.Unpack(backwards, num=len(values)))
    return [nest.packed(values[0], step) for step in zip(*leaves, strict=True)]
