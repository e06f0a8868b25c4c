"""Variants of the LSTM cell that only contrib has (contrib/rnn/python/ops/rnn_cell.py)."""

from collections.abc import Callable, Sequence
from typing import Any

from capstan.api import array_ops, clip_ops, init_ops, math_ops, nn, scope_block, variable_scope
from capstan.api.rnn import cells
from capstan.contrib.rnn_cells import layer_normed
from capstan.contrib.rnn_wrappers import product
from capstan.framework.raw import raw


class _LSTM(cells.RNNCell):
    """A cell with a memory of `num_units`, and outputs of `num_proj`, or else `num_units`."""

    def __init__(self, num_units: int, num_proj: int | None, reuse: Any) -> None:
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._num_proj = num_proj

    @property
    def state_size(self) -> Any:
        return cells.LSTMStateTuple(self._num_units, self.output_size)

    @property
    def output_size(self) -> Any:
        return self._num_proj or self._num_units

    def _known_size(self, inputs: Any) -> int:
        size = inputs.shape.with_rank(2).as_list()[1]
        if size is None:
            raise ValueError(
                "Could not infer input size from inputs.get_shape()[-1]. Set the shape of the "
                "inputs"
            )
        return int(size)

    def _peepholes(self, names: Sequence[str], dtype: Any) -> list[Any]:
        return [variable_scope.get_variable(name, [self._num_units], dtype) for name in names]


def clipped(value: Any, limit: float | None) -> Any:
    return value if limit is None else clip_ops.clip_by_value(value, -limit, limit)


def sharded(name: str, shape: list[int], dtype: Any, shards: int) -> Any:
    """Return a matrix whose rows are in the variables `name`_0, `name`_1 and so on."""
    rows, columns = shape
    if shards > rows:
        raise ValueError(f"Too many shards: shape={shape}, num_shards={shards}")
    parts = [
        variable_scope.get_variable(
            f"{name}_{number}", [rows // shards + (number < rows % shards), columns], dtype
        )
        for number in range(shards)
    ]
    return parts[0] if shards == 1 else raw.ConcatV2(parts, 0)


class CoupledInputForgetGateLSTMCell(_LSTM):
    """An LSTM cell that forgets as much as it takes in (Greff et al., 2015).

    The options are those of `tf.nn.rnn_cell.LSTMCell`. With `layer_norm`, the gates and the memory
    are normalized, and the variable `B` has no effect. A call raises ValueError if the size of the
    inputs is unknown. As in TensorFlow, `initializer` has no effect.
    """

    def __init__(
        self, num_units: int, use_peepholes: bool = False, initializer: Any = None,
        num_proj: int | None = None, proj_clip: float | None = None, num_unit_shards: int = 1,
        num_proj_shards: int = 1, forget_bias: float = 1.0, state_is_tuple: bool = True,
        activation: Callable[[Any], Any] = math_ops.tanh, reuse: Any = None,
        layer_norm: bool = False, norm_gain: float = 1.0, norm_shift: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(num_units, num_proj, reuse)
        self._use_peepholes = use_peepholes
        self._proj_clip = proj_clip
        self._shards = num_unit_shards, num_proj_shards
        self._forget_bias = forget_bias
        self._state_is_tuple = state_is_tuple
        self._activation = activation
        self._has_norms = layer_norm
        self._norm = norm_gain, norm_shift

    @property
    def state_size(self) -> Any:
        sizes = super().state_size
        return sizes if self._state_is_tuple else sum(sizes)

    def _gates(self, inputs: Any, output: Any) -> Any:
        rows, columns = self._known_size(inputs) + self.output_size, 3 * self._num_units
        kernel = sharded("W", [rows, columns], inputs.dtype, self._shards[0])
        bias = variable_scope.get_variable("B", [columns], inputs.dtype, init_ops.Zeros)
        gates = raw.MatMul(array_ops.concat([inputs, output], 1), kernel)
        if not self._has_norms:
            return array_ops.split(nn.bias_add(gates, bias), 3, 1)
        parts, scopes = array_ops.split(gates, 3, 1), ("transform", "forget", "output")
        return [layer_normed(*pair, *self._norm) for pair in zip(parts, scopes, strict=True)]

    def call(self, inputs: Any, state: Any) -> Any:
        if not self._state_is_tuple:
            state = array_ops.split(state, [self._num_units, self.output_size], 1)
        memory, output = state
        new, forget, leave = self._gates(inputs, output)
        forget += self._forget_bias
        names = ("W_F_diag", "W_O_diag") if self._use_peepholes else ()
        peepholes = self._peepholes(names, inputs.dtype)
        if peepholes:
            forget += peepholes[0] * memory
        kept = math_ops.sigmoid(forget)
        memory = kept * memory + (1 - kept) * self._activation(new)
        if self._has_norms:
            memory = layer_normed(memory, "state", *self._norm)
        if peepholes:
            leave += peepholes[1] * memory
        output = math_ops.sigmoid(leave) * self._activation(memory)
        if self._num_proj is not None:
            shape = [self._num_units, self._num_proj]
            output = raw.MatMul(output, sharded("W_P", shape, inputs.dtype, self._shards[1]))
            output = clipped(output, self._proj_clip)
        if self._state_is_tuple:
            return output, cells.LSTMStateTuple(memory, output)
        return output, raw.ConcatV2([memory, output], 1)


class LayerNormLSTMCell(_LSTM):
    """The cell `tf.nn.rnn_cell.LSTMCell` whose gates and memory can be normalized.

    With `layer_norm`, `norm_gain` and `norm_shift` are the first values of the variables `gamma`
    and `beta` of each norm, and the variable `bias` has no effect. A call raises ValueError if the
    size of the inputs is unknown.
    """

    def __init__(
        self, num_units: int, use_peepholes: bool = False, cell_clip: float | None = None,
        initializer: Any = None, num_proj: int | None = None, proj_clip: float | None = None,
        forget_bias: float = 1.0, activation: Callable[[Any], Any] | None = None,
        layer_norm: bool = False, norm_gain: float = 1.0, norm_shift: float = 0.0,
        reuse: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(num_units, num_proj, reuse)
        self._use_peepholes = use_peepholes
        self._cell_clip = cell_clip
        self._initializer = initializer
        self._proj_clip = proj_clip
        self._forget_bias = forget_bias
        self._activation = activation or math_ops.tanh
        self._has_norms = layer_norm
        self._norm = norm_gain, norm_shift

    def _gates(self, inputs: Any, output: Any) -> Any:
        columns = 4 * self._num_units
        gates = product([inputs, output], columns)
        bias = variable_scope.get_variable("bias", [columns], inputs.dtype, init_ops.Zeros)
        if not self._has_norms:
            return array_ops.split(nn.bias_add(gates, bias), 4, 1)
        parts, scopes = array_ops.split(gates, 4, 1), ("input", "transform", "forget", "output")
        return [layer_normed(*pair, *self._norm) for pair in zip(parts, scopes, strict=True)]

    def call(self, inputs: Any, state: Any) -> Any:
        self._known_size(inputs)
        scope = variable_scope.get_variable_scope()
        with scope_block.variable_scope(scope, initializer=self._initializer):
            memory = self._step(inputs, *state)
            return memory.h, memory

    def _step(self, inputs: Any, memory: Any, output: Any) -> Any:
        enter, new, forget, leave = self._gates(inputs, output)
        forget += self._forget_bias
        names = ("w_f_diag", "w_i_diag", "w_o_diag") if self._use_peepholes else ()
        peepholes = self._peepholes(names, inputs.dtype)
        if peepholes:
            forget, enter = forget + peepholes[0] * memory, enter + peepholes[1] * memory
        kept = math_ops.sigmoid(forget) * memory
        memory = kept + math_ops.sigmoid(enter) * self._activation(new)
        if self._has_norms:
            memory = layer_normed(memory, "state", *self._norm)
        memory = clipped(memory, self._cell_clip)
        if peepholes:
            leave += peepholes[2] * memory
        output = math_ops.sigmoid(leave) * self._activation(memory)
        if self._num_proj is not None:
            with scope_block.variable_scope("projection"):
                output = clipped(product([output], self._num_proj), self._proj_clip)
        return cells.LSTMStateTuple(memory, output)


class GLSTMCell(_LSTM):
    """An LSTM cell of groups, each with its part of the inputs and outputs (Kuchaiev et al., 2017).

    A call raises ValueError if the size of the inputs is unknown or does not divide into groups.

    Raises:
        ValueError: `num_units` or `num_proj` does not divide into groups.
    """

    def __init__(
        self, num_units: int, initializer: Any = None, num_proj: int | None = None,
        number_of_groups: int = 1, forget_bias: float = 1.0,
        activation: Callable[[Any], Any] = math_ops.tanh, reuse: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(num_units, num_proj, reuse)
        for name, size in (("num_units", num_units), ("num_proj", num_proj or 0)):
            if size % number_of_groups:
                raise ValueError(f"{name} must be divisible by number_of_groups")
        self._initializer = initializer
        self._groups = number_of_groups
        self._forget_bias = forget_bias
        self._activation = activation

    def _gates(self, inputs: Any, output: Any) -> list[Any]:
        """Return the four gates: the parts of all groups side by side, and their biases."""
        groups = self._groups
        parts: list[list[Any]] = [[], [], [], []]
        pairs = zip(
            array_ops.split(inputs, groups, 1), array_ops.split(output, groups, 1), strict=True
        )
        for number, pair in enumerate(pairs):
            with scope_block.variable_scope(f"group{number}"):
                products = product([*pair], 4 * (self._num_units // groups))
            for gate, part in zip(parts, array_ops.split(products, 4, 1), strict=True):
                gate.append(part)
        biases = self._biases(inputs.dtype)
        return [
            nn.bias_add(array_ops.concat(gate, 1), bias)
            for gate, bias in zip(parts, biases, strict=True)
        ]

    def _biases(self, dtype: Any) -> list[Any]:
        return [
            variable_scope.get_variable(f"bias_{gate}", [self._num_units], dtype, init_ops.Zeros)
            for gate in "ijfo"
        ]

    def call(self, inputs: Any, state: Any) -> Any:
        size, scope = self._known_size(inputs), variable_scope.get_variable_scope()
        if size % self._groups:
            raise ValueError(
                f"input size ({size}) must be divisible by number_of_groups ({self._groups})"
            )
        memory, output = state
        with scope_block.variable_scope(scope, initializer=self._initializer):
            enter, new, forget, leave = self._gates(inputs, output)
        kept = math_ops.sigmoid(forget + self._forget_bias) * memory
        memory = kept + math_ops.sigmoid(enter) * math_ops.tanh(new)
        output = math_ops.sigmoid(leave) * self._activation(memory)
        if self._num_proj is not None:
            with scope_block.variable_scope("projection"):
                output = product([output], self._num_proj)
        return output, cells.LSTMStateTuple(memory, output)
