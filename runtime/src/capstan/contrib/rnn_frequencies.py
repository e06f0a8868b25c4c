"""An LSTM cell that runs along the frequencies of a step (contrib/rnn/python/ops/rnn_cell.py).

The inputs of a step are the features of all frequencies, side by side. A cell looks at overlapping
parts of them, `feature_size` wide and `frequency_skip` apart, one after another.
"""

from typing import Any

from capstan.api import array_ops, creation_ops, init_ops, math_ops, nn, variable_scope
from capstan.api.rnn import cells
from capstan.contrib import rnn_lstms
from capstan.framework.raw import raw


def input_size(inputs: Any) -> int:
    size = inputs.shape.with_rank(2).as_list()[1]
    if size is None:
        raise ValueError("Cannot infer input_size from static shape inference.")
    return int(size)


def parts(inputs: Any, start: int, count: int, width: int, skip: int) -> list[Any]:
    """Return `count` slices of columns of a matrix."""
    return [
        array_ops.slice(inputs, [0, start + number * skip], [-1, width]) for number in range(count)
    ]


def layer(names: tuple[str, str], rows: int, columns: int, dtype: Any, shards: int) -> Any:
    """Return the function that multiplies by a matrix, in shards, and adds a bias."""
    kernel = rnn_lstms.sharded(names[0], [rows, columns], dtype, shards)
    bias = variable_scope.get_variable(names[1], [columns], dtype, init_ops.Zeros)
    return lambda inputs: nn.bias_add(raw.MatMul(inputs, kernel), bias)


def batch_size(inputs: Any) -> Any:
    known = inputs.shape.as_list()[0]
    return array_ops.shape(inputs)[0] if known is None else known


class TimeFreqLSTMCell(cells.RNNCell):
    """An LSTM cell that reads the parts of its inputs one after another (Sainath and Li, 2016).

    Every part has a memory and an output of `num_units`, and reads its own last output and the
    output of the part before it. The state has these memories and outputs side by side, although
    `state_size` is that of one part, as in TensorFlow. `initializer` has no effect. A call raises
    ValueError if the size of the inputs is unknown.
    """

    def __init__(
        self, num_units: int, use_peepholes: bool = False, cell_clip: float | None = None,
        initializer: Any = None, num_unit_shards: int = 1, forget_bias: float = 1.0,
        feature_size: int | None = None, frequency_skip: int = 1, reuse: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._use_peepholes = use_peepholes
        self._cell_clip = cell_clip
        self._num_unit_shards = num_unit_shards
        self._forget_bias = forget_bias
        self._feature_size = feature_size
        self._frequency_skip = frequency_skip

    @property
    def output_size(self) -> Any:
        return self._num_units

    @property
    def state_size(self) -> Any:
        return 2 * self._num_units

    def call(self, inputs: Any, state: Any) -> Any:
        width = self._feature_size or 0
        count = (input_size(inputs) - width) // self._frequency_skip + 1
        units, dtype = self._num_units, inputs.dtype.base_dtype
        gates_of = layer(("W", "B"), width + 2 * units, 4 * units, dtype, self._num_unit_shards)
        peepholes: list[Any] = [0.0] * 3
        if self._use_peepholes:
            peepholes = [
                variable_scope.get_variable(f"W_{gate}_diag", [units], dtype) for gate in "FIO"
            ]
        below = creation_ops.zeros([batch_size(inputs), units], dtype)
        outputs, states = [], []
        for number, part in enumerate(parts(inputs, 0, count, width, self._frequency_skip)):
            memory, last = parts(state, 2 * number * units, 2, units, units)
            gates = gates_of(array_ops.concat([part, last, below], 1))
            enter, new, forget, leave = array_ops.split(gates, 4, 1)
            kept = math_ops.sigmoid(forget + self._forget_bias + peepholes[0] * memory) * memory
            taken = math_ops.sigmoid(enter + peepholes[1] * memory) * math_ops.tanh(new)
            memory = rnn_lstms.clipped(kept + taken, self._cell_clip)
            below = math_ops.sigmoid(leave + peepholes[2] * memory) * math_ops.tanh(memory)
            outputs.append(below)
            states += [memory, below]
        return array_ops.concat(outputs, 1), array_ops.concat(states, 1)
