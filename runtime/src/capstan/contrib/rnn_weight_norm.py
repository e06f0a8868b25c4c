"""An LSTM cell whose weights are normalized (contrib/rnn/python/ops/rnn_cell.py)."""

from collections.abc import Callable
from typing import Any

from capstan.api import array_ops, init_ops, math_ops, nn, scope_block, variable_scope
from capstan.api.rnn import cells
from capstan.contrib import rnn_lstms
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


class WeightNormLSTMCell(rnn_lstms._LSTM):
    """The cell `tf.nn.rnn_cell.LSTMCell` with weight norms (Salimans and Kingma, 2016).

    If `norm`, each column of the weights of the inputs, and of those of the outputs, is divided by
    its length, and multiplied by a variable `norm_0` or `norm_1`. A call raises ValueError if the
    size of the inputs is unknown.
    """

    def __init__(
        self, num_units: int, norm: bool = True, use_peepholes: bool = False,
        cell_clip: float | None = None, initializer: Any = None, num_proj: int | None = None,
        proj_clip: float | None = None, forget_bias: float = 1,
        activation: Callable[[Any], Any] | None = None, reuse: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(num_units, num_proj, reuse)
        self._has_norms = norm
        self._use_peepholes = use_peepholes
        self._cell_clip = cell_clip
        self._initializer = initializer
        self._proj_clip = proj_clip
        self._forget_bias = forget_bias
        self._activation = activation or math_ops.tanh

    def _product(self, parts: list[Any], columns: int) -> Any:
        sizes = [self._known_size(part) for part in parts]
        dtype = parts[0].dtype.base_dtype
        kernel = variable_scope.get_variable("kernel", [sum(sizes), columns], dtype)
        if self._has_norms:
            # The weights are the same in each iteration of a loop.
            with graphs.get_default_graph().control_dependencies(None):
                pieces = array_ops.split(kernel, sizes, 0)
                kernel = array_ops.concat(
                    [
                        nn.l2_normalize(piece, 0)
                        * variable_scope.get_variable(f"norm_{number}", [columns], dtype)
                        for number, piece in enumerate(pieces)
                    ],
                    0,
                )
        return raw.MatMul(parts[0] if len(parts) == 1 else array_ops.concat(parts, 1), kernel)

    def call(self, inputs: Any, state: Any) -> Any:
        memory, output = state
        with scope_block.variable_scope("wn_lstm_cell", initializer=self._initializer):
            columns, dtype = 4 * self._num_units, inputs.dtype.base_dtype
            products = self._product([inputs, output], columns)
            bias = variable_scope.get_variable("bias", [columns], dtype, init_ops.Zeros)
            enter, new, forget, leave = array_ops.split(nn.bias_add(products, bias), 4, 1)
            names = ("w_f_diag", "w_i_diag", "w_o_diag") if self._use_peepholes else ()
            of_forget, of_enter, of_leave = self._peepholes(names, dtype) or [0.0] * 3
            kept = math_ops.sigmoid(forget + self._forget_bias + of_forget * memory) * memory
            taken = math_ops.sigmoid(enter + of_enter * memory) * self._activation(new)
            memory = rnn_lstms.clipped(kept + taken, self._cell_clip)
            output = math_ops.sigmoid(leave + of_leave * memory) * self._activation(memory)
            if self._num_proj is not None:
                with scope_block.variable_scope("projection"):
                    projected = self._product([output], self._num_proj)
                output = rnn_lstms.clipped(projected, self._proj_clip)
        return output, cells.LSTMStateTuple(memory, output)
