"""The cells that TensorFlow computes in one operation, and networks over whole sequences.

The cells here are made of several operations. Their variables have TensorFlow's names. The
behaviour follows contrib/rnn/python/ops/lstm_ops.py, gru_ops.py and fused_rnn_cell.py.
"""

import abc
from typing import Any

from capstan.api import array_ops, init_ops, ordering_ops, variable_scope
from capstan.api.rnn import cells, loops
from capstan.framework.raw import raw


class LSTMBlockCell(cells.LSTMCell):
    """An LSTM cell whose states are tuples. `use_peephole` and `cell_clip` are as for LSTMCell."""

    def __init__(
        self, num_units: int, forget_bias: float = 1.0, cell_clip: float | None = None,
        use_peephole: bool = False, dtype: Any = None, reuse: Any = None, name: str = "lstm_cell",
    ) -> None:  # fmt: skip
        clip = None if cell_clip is None or cell_clip <= 0 else cell_clip
        super().__init__(
            num_units, use_peephole, clip, forget_bias=forget_bias, reuse=reuse, name=name,
            dtype=dtype,
        )  # fmt: skip


class GRUBlockCellV2(cells.GRUCell):
    """A GRU cell with the variables of GRUCell. `cell_size` is the old name of `num_units`.

    Raises:
        ValueError: both names of the size are given, or none.
    """

    def __init__(
        self, num_units: int | None = None, cell_size: int | None = None, reuse: Any = None,
        name: str = "gru_cell",
    ) -> None:  # fmt: skip
        if (num_units is None) == (cell_size is None):
            raise ValueError("Exactly one of num_units or cell_size must be provided.")
        super().__init__(int(num_units or cell_size or 0), reuse=reuse, name=name)


class GRUBlockCell(GRUBlockCellV2):
    """A GRU cell with variables named `w_ru`, `b_ru`, `w_c` and `b_c`."""

    def build(self, inputs_shape: Any) -> None:
        units = self._num_units
        rows = self.depth(inputs_shape) + units
        self._gates = (
            self.add_weight("w_ru", [rows, 2 * units]),
            self.add_weight("b_ru", [2 * units], initializer=init_ops.Constant(1.0)),
        )
        self._candidate = (
            self.add_weight("w_c", [rows, units]),
            self.add_weight("b_c", [units], initializer=init_ops.Zeros),
        )
        self.built = True


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


class LSTMBlockFusedCell(LSTMBlockCell):
    """An LSTM over whole sequences: a call takes and returns what a FusedRNNCell does.

    The variables `kernel` and `bias` are in the scope `lstm_fused_cell`. `initial_state` is a pair
    of the memory and the output. Without it, `dtype` must be given.
    """

    def __init__(
        self, num_units: int, forget_bias: float = 1.0, cell_clip: float | None = None,
        use_peephole: bool = False, reuse: Any = None, dtype: Any = None,
        name: str = "lstm_fused_cell",
    ) -> None:  # fmt: skip
        super().__init__(num_units, forget_bias, cell_clip, use_peephole, dtype, reuse, name)

    @property
    def num_units(self) -> int:
        return self._num_units

    def __call__(  # type: ignore[override]
        self, inputs: Any, initial_state: Any = None, dtype: Any = None,
        sequence_length: Any = None, scope: Any = None,
    ) -> tuple[Any, Any]:  # fmt: skip
        """Return the outputs of all time steps and the last state, a LSTMStateTuple.

        Raises:
            ValueError: both `initial_state` and `dtype` are missing.
        """
        self._open(scope)
        is_list = isinstance(inputs, list)
        start = None if initial_state is None else cells.LSTMStateTuple(*initial_state)
        outputs, state = loops.dynamic_rnn(
            _Steps(self), raw.Pack(inputs) if is_list else inputs, sequence_length, start, dtype,
            time_major=True, scope=variable_scope.get_variable_scope(),
        )  # fmt: skip
        return array_ops.unstack(outputs) if is_list else outputs, state

    def step(self, inputs: Any, state: Any) -> Any:
        """Return the outputs and the new state of one time step."""
        return super().__call__(inputs, state)


class _Steps:
    """The time steps of an LSTMBlockFusedCell, as a cell."""

    def __init__(self, network: LSTMBlockFusedCell) -> None:
        self._network = network
        self.output_size = network.output_size
        self.zero_state = network.zero_state

    def __call__(self, inputs: Any, state: Any) -> Any:
        return self._network.step(inputs, state)
