"""Networks of several layers (contrib/cudnn_rnn/python/layers/cudnn_rnn.py)."""

from collections.abc import Callable
from typing import Any, ClassVar

from capstan.api import array_ops, init_ops, nn, ordering_ops, scope_block
from capstan.api.layers import base
from capstan.api.rnn import cells, loops
from capstan.contrib.cudnn_rnn import starts
from capstan.contrib.cudnn_rnn.cells import CudnnCompatibleGRUCell, CudnnCompatibleLSTMCell
from capstan.core import dtypes, tensor_shape
from capstan.framework import convert
from capstan.framework.raw import raw

CUDNN_RNN_UNIDIRECTION = "unidirectional"
CUDNN_RNN_BIDIRECTION = "bidirectional"
CUDNN_INPUT_LINEAR_MODE = "linear_input"
CUDNN_INPUT_SKIP_MODE = "skip_input"
CUDNN_INPUT_AUTO_MODE = "auto_select"
_DIRECTIONS = (CUDNN_RNN_UNIDIRECTION, CUDNN_RNN_BIDIRECTION)
_INPUT_MODES = (CUDNN_INPUT_LINEAR_MODE, CUDNN_INPUT_SKIP_MODE, CUDNN_INPUT_AUTO_MODE)
_TYPES = (dtypes.float16, dtypes.float32, dtypes.float64)


class _CudnnRNN(base.Layer):
    """A network of `num_layers` layers, each with a cell for each direction.

    While `training`, a part `dropout` of the outputs of each layer but the last is set to 0. The
    initializers get the shapes of cuDNN's matrices, `canonical_weight_shapes`, and of its biases.

    Raises:
        ValueError: the direction, the input mode or the dtype does not exist, or the input mode
            skips the product of the inputs, which Capstan does not do.
    """

    _rnn_mode: ClassVar[str]
    _gates: ClassVar[int]

    def __init__(
        self, num_layers: int, num_units: int, input_mode: str = "linear_input",
        direction: str = "unidirectional", dropout: float = 0.0, seed: int | None = None,
        dtype: Any = dtypes.float32, kernel_initializer: Any = None, bias_initializer: Any = None,
        name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(dtype=dtype, name=name)
        _require("direction", direction, _DIRECTIONS)
        _require("input_mode", input_mode, _INPUT_MODES)
        if dtypes.as_dtype(dtype) not in _TYPES:
            raise ValueError(f"Only support float16, float32, float64, provided {dtype}")
        if input_mode == "skip_input":
            raise ValueError(_no_skip(type(self).__name__))
        self._num_layers = num_layers
        self._num_units = num_units
        self._input_mode = input_mode
        self._direction = direction
        self._dropout = dropout
        self._seed = seed
        self._kernel_initializer = kernel_initializer or init_ops.GlorotUniform(seed=seed)
        self._bias_initializer = bias_initializer or init_ops.Zeros()
        self._input_size: int | None = None
        self._cells: list[list[Any]] = []

    @property
    def num_layers(self) -> int:
        return self._num_layers

    @property
    def num_units(self) -> int:
        return self._num_units

    @property
    def input_mode(self) -> str:
        """How the first layer takes its inputs: by products with weights."""
        return self._input_mode

    @property
    def input_size(self) -> int:
        """The size of the inputs of a step. A layer that is not built raises ValueError."""
        if self._input_size is None:
            raise ValueError("'input_size' is unknown since layer has not been built.")
        return self._input_size

    @property
    def rnn_mode(self) -> str:
        """The formula: `lstm`, `gru`, `rnn_relu` or `rnn_tanh`."""
        return self._rnn_mode

    @property
    def direction(self) -> str:
        return self._direction

    @property
    def num_dirs(self) -> int:
        return 1 + (self._direction == "bidirectional")

    @property
    def canonical_weight_shapes(self) -> list[tuple[int, int]]:
        """The shapes of cuDNN's matrices: by layer, direction, inputs or state, and gate."""
        found: list[tuple[int, int]] = []
        for layer in range(self._num_layers):
            sizes = self._size_of_inputs(layer), self._num_units
            matrices = [(self._num_units, size) for size in sizes for _ in range(self._gates)]
            found += matrices * self.num_dirs
        return found

    @property
    def canonical_bias_shapes(self) -> list[list[int]]:
        """The shapes of cuDNN's biases, in the order of the matrices."""
        return [[self._num_units]] * (2 * self._gates * self.num_dirs * self._num_layers)

    @property
    def trainable_weights(self) -> list[Any]:
        return [weight for row in self._cells for cell in row for weight in cell.trainable_weights]

    def state_shape(self, batch_size: Any) -> tuple[list[Any], ...]:
        """Return the shape of each part of the state."""
        return ([self._num_layers * self.num_dirs, batch_size, self._num_units],)

    def build(self, input_shape: Any) -> None:
        """Create the variables, for inputs of three axes whose last size is known."""
        if self.built:
            return
        shape = tensor_shape.as_shape(input_shape)
        if shape.ndims != 3:
            raise ValueError(f"Expecting input_shape with 3 dims, got {shape.ndims}")
        self._input_size = size = shape.as_list()[-1]
        if size is None:
            raise ValueError(
                "The last dimension of the inputs to `CudnnRNN` should be defined. Found `None`."
            )
        if self._input_mode == "auto_select" and size == self._num_units:
            raise ValueError(_no_skip(type(self).__name__))
        self.input_spec = base.InputSpec(ndim=3, axes={-1: size})
        self._open(None)
        getter = starts.getter(self._kernel_initializer, self._bias_initializer, self._num_units)
        with scope_block.variable_scope(self._scope, custom_getter=getter):
            self._cells = [self._built_cells(layer) for layer in range(self._num_layers)]
        self.built = True

    def _size_of_inputs(self, layer: int) -> int:
        return self.num_dirs * self._num_units if layer else self.input_size

    def _built_cells(self, layer: int) -> list[Any]:
        """Return the cells of a layer, with variables of the names of the compatible networks."""
        paths = [f"rnn/multi_rnn_cell/cell_{layer}"]
        if self.num_dirs == 2:
            path = f"stack_bidirectional_rnn/cell_{layer}/bidirectional_rnn"
            paths = [f"{path}/fw", f"{path}/bw"]
        found = []
        for path in paths:
            with scope_block.variable_scope(path):
                cell = self._cell()
                cell._dtype = self._dtype
                cell.build(tensor_shape.TensorShape([None, self._size_of_inputs(layer)]))
            found.append(cell)
        return found

    def _cell(self) -> Any:
        raise NotImplementedError("Abstract method")

    def call(
        self, inputs: Any, initial_state: Any = None, sequence_lengths: Any = None,
        time_major: bool = True, training: bool = True,
    ) -> Any:  # fmt: skip
        """Return the outputs, [time, batch, num_dirs * num_units], and the last state.

        The state is a tuple of `h`, and of `c` for an LSTM, [num_layers * num_dirs, batch,
        num_units]. Unless `time_major`, the first two axes of inputs, outputs and states change
        their places. After the end of an example (`sequence_lengths`), its outputs are 0 and its
        state stays the same.

        Raises:
            TypeError: `initial_state` is not a tuple.
        """
        if initial_state is not None and not isinstance(initial_state, tuple):
            raise TypeError(f"Invalid initial_state type: {initial_state}, expecting tuple.")
        inputs = convert.convert_to_tensor(inputs, self._dtype)
        states = [None] * (self._num_layers * self.num_dirs)
        if initial_state is not None:
            given = [convert.convert_to_tensor(part, self._dtype) for part in initial_state]
            parts = [array_ops.unstack(part, len(states), 0 if time_major else 1) for part in given]
            states = [self._joined(each) for each in zip(*parts, strict=True)]
        last: list[Any] = []
        for layer, row in enumerate(self._cells):
            if layer and training and self._dropout:
                inputs = nn.dropout(inputs, rate=self._dropout, seed=self._seed)
            own = states[layer * self.num_dirs : (layer + 1) * self.num_dirs]
            inputs = self._layer(row, inputs, own, sequence_lengths, time_major, last)
        pieces = zip(*map(self._split, last), strict=True)
        return inputs, tuple(raw.Pack(list(part), axis=0 if time_major else 1) for part in pieces)

    def _layer(
        self, row: list[Any], inputs: Any, states: list[Any], lengths: Any, time_major: bool,
        last: list[Any],
    ) -> Any:  # fmt: skip
        """Return the outputs of a layer, and add the last states of its cells to `last`."""
        time = 0 if time_major else 1
        outputs = []
        for number, (cell, state) in enumerate(zip(row, states, strict=True)):
            turned = _reversed(inputs, lengths, time) if number else inputs
            output, new = loops.dynamic_rnn(
                cell, turned, lengths, state, self._dtype, time_major=time_major
            )
            last.append(new)
            outputs.append(_reversed(output, lengths, time) if number else output)
        return outputs[0] if len(outputs) == 1 else raw.ConcatV2(outputs, 2)

    def _joined(self, parts: Any) -> Any:
        """Return the state of a cell from its parts."""
        return parts[0]

    def _split(self, state: Any) -> tuple[Any, ...]:
        """Return the parts of the state of a cell."""
        return (state,)


class CudnnLSTM(_CudnnRNN):
    """A network of LSTM cells, `CudnnCompatibleLSTMCell`. Its states are pairs of `h` and `c`."""

    _rnn_mode = "lstm"
    _gates = 4

    def state_shape(self, batch_size: Any) -> tuple[list[Any], ...]:
        return super().state_shape(batch_size) * 2

    def _cell(self) -> Any:
        return CudnnCompatibleLSTMCell(self._num_units)

    def _joined(self, parts: Any) -> Any:
        output, memory = parts
        return cells.LSTMStateTuple(memory, output)

    def _split(self, state: Any) -> tuple[Any, ...]:
        return state.h, state.c


class CudnnGRU(_CudnnRNN):
    """A network of GRU cells, `CudnnCompatibleGRUCell`."""

    _rnn_mode = "gru"
    _gates = 3

    def _cell(self) -> Any:
        return CudnnCompatibleGRUCell(self._num_units)


class _CudnnBasicRNN(_CudnnRNN):
    _gates = 1
    _activation: ClassVar[Callable[[Any], Any]]

    def _cell(self) -> Any:
        return cells.BasicRNNCell(self._num_units, type(self)._activation)


class CudnnRNNTanh(_CudnnBasicRNN):
    """A network of the simplest cells, `tf.nn.rnn_cell.BasicRNNCell`."""

    _rnn_mode = "rnn_tanh"
    _activation = raw.Tanh


class CudnnRNNRelu(_CudnnBasicRNN):
    """A network of the simplest cells with `tf.nn.relu`."""

    _rnn_mode = "rnn_relu"
    _activation = raw.Relu


def _reversed(values: Any, lengths: Any, time: int) -> Any:
    if lengths is None:
        return raw.ReverseV2(values, [time])
    return ordering_ops.reverse_sequence(values, lengths, seq_axis=time, batch_axis=1 - time)


def _require(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ValueError(f"Invalid {name}: {value}, expecting one of {', '.join(allowed)}")


def _no_skip(layer: str) -> str:
    return (
        f"{layer}: Capstan always multiplies the inputs by weights, and has no skip_input. Use "
        "input_mode='linear_input'"
    )
