"""Cells that are one operation, and LSTMs over whole sequences that are one.

The variables have TensorFlow's names. The behaviour follows contrib/rnn/python/ops/lstm_ops.py and
gru_ops.py.
"""

from typing import Any, NamedTuple

from capstan.api import (
    array_ops,
    counting_ops,
    creation_ops,
    init_ops,
    math_ops,
    nd_ops,
    reduce_ops,
)
from capstan.api.layers import base
from capstan.api.rnn import cells
from capstan.core import dtypes, tensor_shape
from capstan.framework import convert
from capstan.framework.raw import raw


class _Block(NamedTuple):
    """What the operations of a step and of whole sequences have in common."""

    num_units: int
    forget_bias: float
    cell_clip: float | None
    use_peephole: bool

    def attributes(self) -> dict[str, Any]:
        return {
            "forget_bias": self.forget_bias,
            "cell_clip": -1 if self.cell_clip is None else self.cell_clip,
            "use_peephole": self.use_peephole,
        }

    def weights(self, layer: Any, inputs_shape: Any) -> list[Any]:
        """Create the variables: the kernel, the bias, and the weights of the peepholes."""
        size, units = tensor_shape.as_shape(inputs_shape).as_list()[-1], self.num_units
        if not size:
            raise ValueError(f"Expecting the last size of the inputs to be set: {inputs_shape}")
        kernel = layer.add_weight("kernel", [size + units, 4 * units])
        bias = layer.add_weight("bias", [4 * units], initializer=init_ops.Constant(0.0))
        gates = "ifo" if self.use_peephole else ""
        return [kernel, bias, *(layer.add_weight(f"w_{gate}_diag", [units]) for gate in gates)]

    def inputs(self, weights: list[Any], dtype: Any) -> list[Any]:
        """Return the weights in the order of the operations, with zeros for missing peepholes."""
        kernel, bias, *peepholes = weights
        zeros = [] if peepholes else [creation_ops.zeros([self.num_units], dtype)] * 3
        return [kernel, *peepholes, *zeros, bias]


class LSTMBlockCell(cells.RNNCell):
    """An LSTM cell in one operation. Its states are tuples.

    `use_peephole` and `cell_clip` are as for LSTMCell. A clip that is not positive is none.
    """

    def __init__(
        self, num_units: int, forget_bias: float = 1.0, cell_clip: float | None = None,
        use_peephole: bool = False, dtype: Any = None, reuse: Any = None, name: str = "lstm_cell",
    ) -> None:  # fmt: skip
        super().__init__(_reuse=reuse, name=name, dtype=dtype)
        self._block = _Block(num_units, forget_bias, cell_clip, use_peephole)
        self.input_spec = base.InputSpec(ndim=2)

    @property
    def state_size(self) -> Any:
        return cells.LSTMStateTuple(self._block.num_units, self._block.num_units)

    @property
    def output_size(self) -> int:
        return self._block.num_units

    def build(self, inputs_shape: Any) -> None:
        self._weights = self._block.weights(self, inputs_shape)
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        if len(state) != 2:
            raise ValueError("Expecting state to be a tuple with length 2.")
        _, memory, *_, output = raw.LSTMBlockCell(
            inputs, *state, *self._block.inputs(self._weights, self.dtype),
            **self._block.attributes(),
        )  # fmt: skip
        return output, cells.LSTMStateTuple(memory, output)


class GRUBlockCell(cells.RNNCell):
    """A GRU cell in one operation, with variables named `w_ru`, `b_ru`, `w_c` and `b_c`.

    `cell_size` is the old name of `num_units`.

    Raises:
        ValueError: both names of the size are given, or none.
    """

    _NAMES = ("w_ru", "b_ru", "w_c", "b_c")

    def __init__(
        self, num_units: int | None = None, cell_size: int | None = None, reuse: Any = None,
        name: str = "gru_cell",
    ) -> None:  # fmt: skip
        if (num_units is None) == (cell_size is None):
            raise ValueError("Exactly one of num_units or cell_size must be provided.")
        super().__init__(_reuse=reuse, name=name)
        self._num_units = int(num_units or cell_size or 0)
        self.input_spec = base.InputSpec(ndim=2)

    @property
    def state_size(self) -> int:
        return self._num_units

    @property
    def output_size(self) -> int:
        return self._num_units

    def build(self, inputs_shape: Any) -> None:
        size, units = tensor_shape.as_shape(inputs_shape).as_list()[-1], self._num_units
        if size is None:
            raise ValueError("Expecting input_size to be set.")
        gates, gate_bias, candidate, bias = self._NAMES
        self._weights = (
            self.add_weight(gates, [size + units, 2 * units]),
            self.add_weight(gate_bias, [2 * units], initializer=init_ops.Constant(1.0)),
            self.add_weight(candidate, [size + units, units]),
            self.add_weight(bias, [units], initializer=init_ops.Constant(0.0)),
        )
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        units = state.shape.with_rank(2).as_list()[1]
        if units != self._num_units:
            raise ValueError(
                f"Shape of h_prev[1] incorrect: cell_size {self._num_units} vs {units}"
            )
        gates, gate_bias, candidate, bias = self._weights
        *_, output = raw.GRUBlockCell(inputs, state, gates, candidate, gate_bias, bias)
        return output, output


class GRUBlockCellV2(GRUBlockCell):
    """A GRUBlockCell with the variables of GRUCell."""

    _NAMES = ("gates/kernel", "gates/bias", "candidate/kernel", "candidate/bias")


class LSTMBlockWrapper(base.Layer):
    """The base class of LSTMs over whole sequences. Override `num_units` and `_call_cell`."""

    @property
    def num_units(self) -> int:
        """The number of units, which is the size of the outputs."""
        raise NotImplementedError("Abstract method")

    def _call_cell(
        self, inputs: Any, initial_cell_state: Any, initial_output: Any, dtype: Any,
        sequence_length: Any,
    ) -> tuple[Any, Any]:  # fmt: skip
        """Return the memories and the outputs after each time step: [time, batch, units]."""
        raise NotImplementedError("Abstract method")

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the outputs of all time steps and the last state, a LSTMStateTuple.

        `inputs` is a tensor [time, batch, size] or a list of tensors [batch, size], and the outputs
        are of the same kind. `initial_state` is a pair of the memory and the output. After the end
        of an example (`sequence_length`), its outputs are 0 and its state stays the same.

        Raises:
            ValueError: both `initial_state` and `dtype` are missing.
        """
        if not isinstance(inputs, list):
            return super().__call__(inputs, *args, **kwargs)
        outputs, state = super().__call__(raw.Pack(inputs), *args, **kwargs)
        return array_ops.unstack(outputs), state

    def call(
        self, inputs: Any, initial_state: Any = None, dtype: Any = None, sequence_length: Any = None
    ) -> tuple[Any, Any]:
        time, batch, _ = _sizes(inputs)
        if initial_state is None:
            if dtype is None:
                raise ValueError("Either initial_state or dtype needs to be specified")
            initial_state = (cells.zeros(self.num_units, batch, dtypes.as_dtype(dtype)),) * 2
        elif len(initial_state) != 2:
            raise ValueError("Expecting initial_state to be a tuple with length 2 or None")
        memory, output = map(convert.convert_to_tensor, initial_state)
        kind = memory.dtype if dtype is None else dtypes.as_dtype(dtype)
        if sequence_length is None:
            memories, outputs = self._call_cell(inputs, memory, output, kind, None)
            return outputs, cells.LSTMStateTuple(memories[-1], outputs[-1])
        lengths = convert.convert_to_tensor(sequence_length)
        memories, outputs = self._call_cell(inputs, memory, output, kind, lengths)
        mask = counting_ops.sequence_mask(lengths, time, dtype=kind)
        outputs = raw.Mul(outputs, raw.ExpandDims(array_ops.transpose(mask, [1, 0]), -1))
        rows = raw.Pack([lengths, raw.Cast(math_ops.range(batch), DstT=lengths.dtype)], axis=1)
        last = (
            nd_ops.gather_nd(raw.ConcatV2([raw.ExpandDims(first, 0), rest], 0), rows)
            for first, rest in ((memory, memories), (output, outputs))
        )
        return outputs, cells.LSTMStateTuple(*last)


def _sizes(inputs: Any) -> tuple[Any, Any, int]:
    """Return the sizes of the inputs of all time steps: integers if they are known."""
    known = inputs.shape.with_rank(3).as_list()
    if not known[2]:
        raise ValueError(f"Expecting inputs_shape[2] to be set: {inputs.shape}")
    if None in known:
        sizes = array_ops.unstack(array_ops.shape(inputs))
        known = [sizes[axis] if size is None else size for axis, size in enumerate(known)]
    return known[0], known[1], known[2]


class LSTMBlockFusedCell(LSTMBlockWrapper):
    """An LSTM over whole sequences in one operation: a call does what that of a FusedRNNCell does.

    The variables `kernel` and `bias` are in the scope `lstm_fused_cell`.
    """

    def __init__(
        self, num_units: int, forget_bias: float = 1.0, cell_clip: float | None = None,
        use_peephole: bool = False, reuse: Any = None, dtype: Any = None,
        name: str = "lstm_fused_cell",
    ) -> None:  # fmt: skip
        super().__init__(_reuse=reuse, name=name, dtype=dtype)
        self._block = _Block(num_units, forget_bias, cell_clip, use_peephole)
        self.input_spec = base.InputSpec(ndim=3)

    @property
    def num_units(self) -> int:
        return self._block.num_units

    def build(self, inputs_shape: Any) -> None:
        self._weights = self._block.weights(self, inputs_shape)
        self.built = True

    def _call_cell(
        self, inputs: Any, initial_cell_state: Any, initial_output: Any, dtype: Any,
        sequence_length: Any,
    ) -> tuple[Any, Any]:  # fmt: skip
        longest = _sizes(inputs)[0]
        if sequence_length is not None:
            longest = reduce_ops.reduce_max(sequence_length)
        _, memories, *_, outputs = raw.BlockLSTM(
            math_ops.cast(longest, dtypes.int64), inputs, initial_cell_state, initial_output,
            *self._block.inputs(self._weights, dtype), **self._block.attributes(),
        )  # fmt: skip
        return memories, outputs
