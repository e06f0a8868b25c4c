"""Networks over whole sequences (contrib/rnn/python/ops/fused_rnn_cell.py)."""

import abc
from typing import Any

from capstan.api import array_ops, ordering_ops
from capstan.api.rnn import loops
from capstan.framework.raw import raw


class FusedRNNCell(abc.ABC):
    """A network that takes the inputs of all time steps: a tensor [time, batch, size], or a list.

    A call returns the outputs, of the same kind, and the last state. After the end of an example
    (`sequence_length`), its outputs are 0 and its state stays the same.
    """

    @abc.abstractmethod
    def __call__(
        self, inputs: Any, initial_state: Any = None, dtype: Any = None,
        sequence_length: Any = None, scope: Any = None,
    ) -> tuple[Any, Any]:  # fmt: skip
        """Return the outputs and the last state."""


class FusedRNNCellAdaptor(FusedRNNCell):
    """A cell as a network over whole sequences, in a loop if `use_dynamic_rnn`."""

    def __init__(self, cell: Any, use_dynamic_rnn: bool = False) -> None:
        self._cell = cell
        self._use_dynamic_rnn = use_dynamic_rnn

    def __call__(
        self, inputs: Any, initial_state: Any = None, dtype: Any = None,
        sequence_length: Any = None, scope: Any = None,
    ) -> tuple[Any, Any]:  # fmt: skip
        is_list = isinstance(inputs, list)
        if self._use_dynamic_rnn:
            whole = raw.Pack(inputs) if is_list else inputs
            outputs, state = loops.dynamic_rnn(
                self._cell, whole, sequence_length, initial_state, dtype, time_major=True,
                scope=scope,
            )  # fmt: skip
            return array_ops.unstack(outputs) if is_list else outputs, state
        steps = inputs if is_list else array_ops.unstack(inputs)
        outputs, state = loops.static_rnn(
            self._cell, steps, initial_state, dtype, sequence_length, scope
        )
        return outputs if is_list else raw.Pack(outputs), state


class TimeReversedFusedRNN(FusedRNNCell):
    """A network that goes through its inputs backwards. The outputs have the order of the inputs.

    The inputs of an example are reversed within its `sequence_length`, if they are a tensor.
    """

    def __init__(self, cell: Any) -> None:
        self._cell = cell

    def __call__(
        self, inputs: Any, initial_state: Any = None, dtype: Any = None,
        sequence_length: Any = None, scope: Any = None,
    ) -> tuple[Any, Any]:  # fmt: skip
        outputs, state = self._cell(
            _reversed(inputs, sequence_length), initial_state=initial_state, dtype=dtype,
            sequence_length=sequence_length, scope=scope,
        )  # fmt: skip
        return _reversed(outputs, sequence_length), state


def _reversed(values: Any, lengths: Any) -> Any:
    if isinstance(values, list):
        return list(reversed(values))
    if lengths is None:
        return raw.ReverseV2(values, [0])
    return ordering_ops.reverse_sequence(values, lengths, seq_axis=0, batch_axis=1)
