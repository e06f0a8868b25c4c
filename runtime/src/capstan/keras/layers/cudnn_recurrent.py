"""`tf.keras.layers.CuDNNLSTM` and `CuDNNGRU` (python/keras/layers/cudnn_recurrent.py).

They have the variables of cuDNN: each gate has a bias for the inputs and one for the state. They
compute on every device, without cuDNN.
"""

from typing import Any

from capstan.api import array_ops
from capstan.keras import initializers
from capstan.keras.layers import recurrent, recurrent_cells


class _LSTMCell(recurrent_cells.LSTMCell):
    """The cell of an LSTM with the bias [8 * units]: four for the inputs, four for the state."""

    def _bias_shape(self) -> tuple[int, ...]:
        return (2 * self.gates * self.units,)

    def _initializer(self, kind: str) -> Any:
        chosen = getattr(self, f"{kind}_initializer")
        if kind != "bias" or not self.unit_forget_bias:
            return chosen
        ones, units = initializers.Ones(), self.units

        def joined(shape: Any, dtype: Any = None) -> Any:
            parts = [(chosen, 5 * units), (ones, units), (chosen, 2 * units)]
            return array_ops.concat([make([size], dtype=dtype) for make, size in parts], 0)

        return joined

    def _bias_of_gates(self) -> Any:
        of_inputs, of_state = array_ops.split(self.bias, 2, 0)
        return of_inputs + of_state


class _GRUCell(recurrent_cells.GRUCell):
    """The cell of a GRU with the bias [6 * units]: three for the inputs, three for the state."""

    def _bias_shape(self) -> tuple[int, ...]:
        return (2 * self.gates * self.units,)

    def _biases(self) -> tuple[Any, Any]:
        of_inputs, of_state = array_ops.split(self.bias, 2, 0)
        return of_inputs, of_state


class _CuDNN(recurrent.UnitsLayer):
    """A recurrent layer whose gates are sigmoids. It takes no masks and has no dropout."""

    supports_masking = False

    def __init__(self, cell_class: Any, arguments: dict[str, Any], kwargs: dict[str, Any]) -> None:
        fixed = {"recurrent_activation": "sigmoid", "unroll": False}
        super().__init__(cell_class, {**arguments, **fixed}, kwargs)

    def call(self, inputs: Any, mask: Any = None, **options: Any) -> Any:  # type: ignore[override]
        """Raises ValueError if there is a mask."""
        if mask is not None:
            raise ValueError("Masking is not supported for CuDNN RNNs.")
        return super().call(inputs, **options)


class CuDNNLSTM(_CuDNN):
    """An LSTM with the variables of cuDNN. Its states are the output and the memory.

    With `unit_forget_bias`, one of the two biases of the forget gate begins with 1.
    """

    def __init__(
        self,
        units: int,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        unit_forget_bias: bool = True,
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(_LSTMCell, locals(), kwargs)


class CuDNNGRU(_CuDNN):
    """A GRU with the variables of cuDNN, whose reset gate follows the product with the state."""

    def __init__(
        self,
        units: int,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(_GRUCell, {**locals(), "reset_after": True}, kwargs)
