"""`tf.nn.rnn_cell`: the cells of recurrent networks (python/ops/rnn_cell_impl.py).

A cell maps the inputs of one time step and a state to outputs and a new state. The names of the
variables are TensorFlow's.
"""

import collections
from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.api import array_ops, clip_ops, creation_ops, init_ops, math_ops, nn
from capstan.api.layers import base
from capstan.core import dtypes, tensor_shape
from capstan.framework import convert, nest
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


class LSTMStateTuple(collections.namedtuple("LSTMStateTuple", ("c", "h"))):
    """The state of an LSTM: `c` is the memory, and `h` is the output."""

    __slots__ = ()

    @property
    def dtype(self) -> Any:
        """The type of both tensors.

        Raises:
            TypeError: they have different types.
        """
        memory, output = self
        if memory.dtype != output.dtype:
            raise TypeError(f"Inconsistent internal state: {memory.dtype} vs {output.dtype}")
        return memory.dtype


def zeros(size: Any, batch: Any, dtype: Any) -> Any:
    """Return zeros for a batch, in the nest of sizes that a cell gives for its state.

    `batch` is a number, a `Dimension`, a list of one of them, or a scalar tensor.

    Raises:
        ValueError: the batch is a `Dimension` whose value is not known.
    """
    if isinstance(size, list | tuple):
        return nest.packed(size, [zeros(part, batch, dtype) for part in nest.flatten(size)])
    sizes = tensor_shape.as_shape([size] if isinstance(size, int) else size).as_list()
    if not isinstance(batch, graphs.Tensor):
        known = tensor_shape.as_shape(batch if isinstance(batch, list | tuple) else [batch])
        if not known.is_fully_defined():
            raise ValueError("The batch size is not known. Pass tf.shape(inputs)[0] in its place")
        return creation_ops.zeros([*known.as_list(), *sizes], dtype)
    vector = raw.ConcatV2([raw.Reshape(batch, [1]), np.array(sizes, np.int32)], 0)
    result = creation_ops.zeros(vector, dtype)
    result.set_shape([convert.constant_value(batch), *sizes])
    return result


class RNNCell(base.Layer):
    """The base class. Override `call`, `state_size` and `output_size`."""

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        """Return the outputs and the new state of one time step."""
        return super().__call__(inputs, state, scope=scope)

    @property
    def state_size(self) -> Any:
        raise NotImplementedError("Abstract method")

    @property
    def output_size(self) -> Any:
        raise NotImplementedError("Abstract method")

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Return a state of zeros."""
        with zero_state_scope(self):
            return zeros(self.state_size, batch_size, dtypes.as_dtype(dtype))

    def get_initial_state(
        self, inputs: Any = None, batch_size: Any = None, dtype: Any = None
    ) -> Any:
        """Return a state of zeros. The inputs give the batch size and dtype that are missing."""
        if inputs is not None:
            inputs = convert.convert_to_tensor(inputs)
            batch_size = array_ops.shape(inputs)[0]
            dtype = inputs.dtype
        if batch_size is None or dtype is None:
            raise ValueError("batch_size and dtype, or inputs, must be given for a zero state")
        return self.zero_state(batch_size, dtype)


def zero_state_scope(cell: RNNCell) -> Any:
    """Return the name scope of the operations of `cell.zero_state`."""
    return graphs.get_default_graph().name_scope(f"{type(cell).__name__}ZeroState")


class _UnitCell(RNNCell):
    """A cell of `num_units` units."""

    def __init__(
        self, num_units: int, activation: Any = None, reuse: Any = None, name: Any = None,
        dtype: Any = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self.input_spec = base.InputSpec(ndim=2)
        self._num_units = num_units
        self._activation = activation or math_ops.tanh

    @property
    def state_size(self) -> Any:
        return self._num_units

    @property
    def output_size(self) -> Any:
        return self._num_units

    def depth(self, inputs_shape: Any) -> int:
        """Return the size of the inputs of a step."""
        size = tensor_shape.as_shape(inputs_shape).as_list()[-1]
        if size is None:
            raise ValueError(f"Expected inputs.shape[-1] to be known, saw shape: {inputs_shape}")
        return int(size)

    def weights_of(self, prefix: str, rows: int, columns: int, start: Any, bias: Any) -> Any:
        kernel = self.add_weight(f"{prefix}kernel", [rows, columns], initializer=start)
        return kernel, self.add_weight(f"{prefix}bias", [columns], initializer=bias)


def _linear(parts: Sequence[Any], weights: tuple[Any, Any]) -> Any:
    kernel, bias = weights
    return nn.bias_add(raw.MatMul(raw.ConcatV2(list(parts), 1), kernel), bias)


class BasicRNNCell(_UnitCell):
    """The simplest cell: output = new state = activation(W * [inputs, state] + b)."""

    def build(self, inputs_shape: Any) -> None:
        rows = self.depth(inputs_shape) + self._num_units
        self._weights = self.weights_of("", rows, self._num_units, None, init_ops.Zeros)
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        output = self._activation(_linear([inputs, state], self._weights))
        return output, output


class GRUCell(_UnitCell):
    """The gated recurrent unit of Cho et al."""

    def __init__(
        self, num_units: int, activation: Any = None, reuse: Any = None,
        kernel_initializer: Any = None, bias_initializer: Any = None, name: Any = None,
        dtype: Any = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(num_units, activation, reuse, name, dtype, **kwargs)
        self._kernel_initializer = kernel_initializer
        self._bias_initializer = bias_initializer

    def build(self, inputs_shape: Any) -> None:
        units, start, bias = self._num_units, self._kernel_initializer, self._bias_initializer
        rows = self.depth(inputs_shape) + units
        ones = init_ops.Constant(1.0) if bias is None else bias
        self._gates = self.weights_of("gates/", rows, 2 * units, start, ones)
        self._candidate = self.weights_of(
            "candidate/", rows, units, start, init_ops.Zeros if bias is None else bias
        )
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        gates = math_ops.sigmoid(_linear([inputs, state], self._gates))
        reset, update = array_ops.split(gates, 2, 1)
        candidate = self._activation(_linear([inputs, reset * state], self._candidate))
        new_state = update * state + (1 - update) * candidate
        return new_state, new_state


class BasicLSTMCell(_UnitCell):
    """A cell with long short-term memory. `forget_bias` is added to the forget gate."""

    def __init__(
        self, num_units: int, forget_bias: float = 1.0, state_is_tuple: bool = True,
        activation: Any = None, reuse: Any = None, name: Any = None, dtype: Any = None,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(num_units, activation, reuse, name, dtype, **kwargs)
        self._forget_bias = forget_bias
        self._state_is_tuple = state_is_tuple

    @property
    def state_size(self) -> Any:
        units = self._num_units
        return LSTMStateTuple(units, units) if self._state_is_tuple else 2 * units

    def build(self, inputs_shape: Any) -> None:
        rows = self.depth(inputs_shape) + self._num_units
        self._weights = self.weights_of("", rows, 4 * self._num_units, None, init_ops.Zeros)
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        memory, output = state if self._state_is_tuple else array_ops.split(state, 2, 1)
        enter, new, forget, leave = array_ops.split(_linear([inputs, output], self._weights), 4, 1)
        # The functions name their operations Add and Mul, as the cell of TensorFlow does.
        bias = convert.constant(self._forget_bias, forget.dtype)
        kept = math_ops.multiply(memory, math_ops.sigmoid(math_ops.add(forget, bias)))
        entered = math_ops.multiply(math_ops.sigmoid(enter), self._activation(new))
        memory = math_ops.add(kept, entered)
        output = math_ops.multiply(self._activation(memory), math_ops.sigmoid(leave))
        return output, _joined(self._state_is_tuple, memory, output)


def _joined(is_tuple: bool, memory: Any, output: Any) -> Any:
    return LSTMStateTuple(memory, output) if is_tuple else raw.ConcatV2([memory, output], 1)


class LSTMCell(_UnitCell):
    """A cell with long short-term memory, and with peepholes, clipping and a projection."""

    def __init__(
        self, num_units: int, use_peepholes: bool = False, cell_clip: float | None = None,
        initializer: Any = None, num_proj: int | None = None, proj_clip: float | None = None,
        num_unit_shards: int | None = None, num_proj_shards: int | None = None,
        forget_bias: float = 1.0, state_is_tuple: bool = True, activation: Any = None,
        reuse: Any = None, name: Any = None, dtype: Any = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(num_units, activation, reuse, name, dtype, **kwargs)
        self._use_peepholes = use_peepholes
        self._cell_clip = cell_clip
        self._initializer = initializer
        self._num_proj = num_proj
        self._proj_clip = proj_clip
        self._forget_bias = forget_bias
        self._state_is_tuple = state_is_tuple

    @property
    def output_size(self) -> Any:
        return self._num_proj or self._num_units

    @property
    def state_size(self) -> Any:
        sizes = self._num_units, self.output_size
        return LSTMStateTuple(*sizes) if self._state_is_tuple else sum(sizes)

    def build(self, inputs_shape: Any) -> None:
        units, start = self._num_units, self._initializer
        rows = self.depth(inputs_shape) + self.output_size
        self._weights = self.weights_of("", rows, 4 * units, start, init_ops.Zeros)
        self._diagonals: list[Any] = []
        if self._use_peepholes:
            self._diagonals = [
                self.add_weight(f"w_{gate}_diag", [units], initializer=start) for gate in "fio"
            ]
        if self._num_proj:
            self._projection = self.add_weight(
                "projection/kernel", [units, self._num_proj], initializer=start
            )
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        if self._state_is_tuple:
            memory, output = state
        else:
            memory, output = array_ops.split(state, [self._num_units, self.output_size], 1)
        enter, new, forget, leave = array_ops.split(_linear([inputs, output], self._weights), 4, 1)
        forget = forget + self._forget_bias
        if self._diagonals:
            forget, enter = (
                forget + self._diagonals[0] * memory,
                enter + self._diagonals[1] * memory,
            )
        kept = math_ops.sigmoid(forget) * memory
        memory = kept + math_ops.sigmoid(enter) * self._activation(new)
        if self._cell_clip is not None:
            memory = clip_ops.clip_by_value(memory, -self._cell_clip, self._cell_clip)
        if self._diagonals:
            leave = leave + self._diagonals[2] * memory
        output = math_ops.sigmoid(leave) * self._activation(memory)
        if self._num_proj:
            output = raw.MatMul(output, self._projection)
            if self._proj_clip is not None:
                output = clip_ops.clip_by_value(output, -self._proj_clip, self._proj_clip)
        return output, _joined(self._state_is_tuple, memory, output)
