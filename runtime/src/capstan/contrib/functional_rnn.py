"""`tf.contrib.recurrent`: networks with the results of `tf.nn.dynamic_rnn`.

Source: contrib/recurrent/python/ops/functional_rnn.py.
"""

from typing import Any

from capstan.api import (
    array_ops,
    counting_ops,
    creation_ops,
    math_ops,
    nest,
    nn,
    ordering_ops,
    reduce_ops,
    scope_block,
)
from capstan.contrib.recurrent_loops import Recurrent
from capstan.core import dtypes

__all__ = ["Recurrent", "bidirectional_functional_rnn", "functional_rnn"]


def functional_rnn(
    cell: Any, inputs: Any, sequence_length: Any = None, initial_state: Any = None,
    dtype: Any = None, time_major: bool = False, scope: Any = None, use_tpu: bool = False,
    reverse: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """Return the outputs of all steps and the last state, as `tf.nn.dynamic_rnn`.

    With `reverse`, the steps run backwards, from the end of the longest sequence. The padding of
    shorter ones is then a part of their way. `use_tpu` has no effect.
    """
    if not reverse:
        found: tuple[Any, Any] = nn.dynamic_rnn(
            cell, inputs, sequence_length, initial_state, dtype, time_major=time_major, scope=scope
        )
        return found
    time, batch = (0, 1) if time_major else (1, 0)
    sizes = array_ops.shape(nest.flatten(inputs)[0])
    longest = sizes[time]
    if sequence_length is not None:
        longest = math_ops.cast(reduce_ops.reduce_max(sequence_length), dtypes.int32)
    lengths = creation_ops.fill(array_ops.expand_dims(sizes[batch], 0), longest)

    def turned(tensor: Any) -> Any:
        return ordering_ops.reverse_sequence(tensor, lengths, seq_axis=time, batch_axis=batch)

    outputs, state = nn.dynamic_rnn(
        cell, nest.map_structure(turned, inputs), lengths, initial_state, dtype,
        time_major=time_major, scope=scope,
    )  # fmt: skip
    outputs = turned(outputs)
    if sequence_length is not None:
        kept = counting_ops.sequence_mask(sequence_length, sizes[time], outputs.dtype)
        kept = array_ops.transpose(kept) if time_major else kept
        outputs = outputs * array_ops.expand_dims(kept, 2)
    return outputs, state


def bidirectional_functional_rnn(
    cell_fw: Any, cell_bw: Any, inputs: Any, initial_state_fw: Any = None,
    initial_state_bw: Any = None, dtype: Any = None, sequence_length: Any = None,
    time_major: bool = False, use_tpu: bool = False, fast_reverse: bool = False, scope: Any = None,
) -> tuple[Any, Any]:  # fmt: skip
    """Return pairs of outputs and of states, as `tf.nn.bidirectional_dynamic_rnn`.

    With `fast_reverse`, the second cell takes the padding of shorter sequences first, as
    `functional_rnn` with `reverse` does. `use_tpu` has no effect.
    """
    if not fast_reverse:
        pairs: tuple[Any, Any] = nn.bidirectional_dynamic_rnn(
            cell_fw, cell_bw, inputs, sequence_length, initial_state_fw, initial_state_bw, dtype,
            time_major=time_major, scope=scope,
        )  # fmt: skip
        return pairs
    with scope_block.variable_scope(scope or "bidirectional_rnn"):
        found = [
            functional_rnn(
                cell, inputs, sequence_length, state, dtype, time_major, name, reverse=is_back
            )
            for cell, state, name, is_back in (
                (cell_fw, initial_state_fw, "fw", False), (cell_bw, initial_state_bw, "bw", True),
            )
        ]  # fmt: skip
    return (found[0][0], found[1][0]), (found[0][1], found[1][1])
