"""The LSTM cell of irregular times (contrib/rnn/python/ops/rnn_cell.py)."""

from typing import Any

from capstan.api import array_ops, gather_ops, init_ops, math_ops, scope_block, variable_scope
from capstan.api.rnn import cells
from capstan.contrib.rnn_wrappers import linear


class PhasedLSTMCell(cells.RNNCell):
    """An LSTM cell whose units are open in a part of their periods only (Neil et al., 2016).

    The inputs are the times [batch, 1], in float32 or float64, and the features. Each unit has a
    period, whose logarithm is drawn between those of `period_init_min` and `period_init_max`, and a
    phase. It is open for the part `ratio_on` of its period, and otherwise lets the part `leak`
    through.
    """

    def __init__(
        self, num_units: int, use_peepholes: bool = False, leak: Any = 0.001,
        ratio_on: Any = 0.1, trainable_ratio_on: bool = True, period_init_min: Any = 1.0,
        period_init_max: Any = 1000.0, reuse: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._use_peepholes = use_peepholes
        self._leak = leak
        self._ratio_on = ratio_on
        self._trains_ratio = trainable_ratio_on
        self._period_limits = period_init_min, period_init_max

    @property
    def state_size(self) -> Any:
        return cells.LSTMStateTuple(self._num_units, self._num_units)

    @property
    def output_size(self) -> Any:
        return self._num_units

    def call(self, inputs: Any, state: Any) -> Any:
        (time, features), (memory, output) = inputs, state
        joined, sigmoid = [features, output], math_ops.sigmoid
        with scope_block.variable_scope("mask_gates"):
            parts = [*joined, memory] if self._use_peepholes else joined
            masks = sigmoid(linear(parts, 2 * self._num_units))
            enter, kept = array_ops.split(masks, 2, 1)
        with scope_block.variable_scope("new_input"):
            new = math_ops.tanh(linear(joined, self._num_units))
        new_memory = memory * kept + enter * new
        with scope_block.variable_scope("output_gate"):
            parts = [*joined, new_memory] if self._use_peepholes else joined
            leave = sigmoid(linear(parts, self._num_units))
        new_output = math_ops.tanh(new_memory) * leave
        openness = self._openness(time)
        new_memory = openness * new_memory + (1 - openness) * memory
        new_output = openness * new_output + (1 - openness) * output
        return new_output, cells.LSTMStateTuple(new_memory, new_output)

    def _openness(self, time: Any) -> Any:
        """Return how far each unit is open at each time: it rises to 1, falls to 0, and leaks."""
        sizes, get = [self._num_units], variable_scope.get_variable
        period = get("period", sizes, initializer=self._drawn_period)
        longest = period.initial_value
        phase = get("phase", sizes, initializer=init_ops.RandomUniform(0.0, longest))
        ratio_on = get(
            "ratio_on", sizes, initializer=init_ops.Constant(self._ratio_on),
            trainable=self._trains_ratio,
        )  # fmt: skip
        shifted = time - math_ops.cast(phase, time.dtype)
        wide_period = math_ops.cast(period, time.dtype)
        # The gradient of the remainder with respect to the period is 0.
        remainder = shifted + array_ops.stop_gradient(
            math_ops.floormod(shifted, wide_period) - shifted
        )
        place = math_ops.cast(remainder / wide_period, ratio_on.dtype.base_dtype)
        rising = 2 * place / ratio_on
        closed = gather_ops.where(place < ratio_on, 2 - rising, self._leak * place)
        return gather_ops.where(place < 0.5 * ratio_on, rising, closed)

    def _drawn_period(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        low, high = map(math_ops.log, self._period_limits)
        return math_ops.exp(init_ops.RandomUniform(low, high)(shape, dtype))
