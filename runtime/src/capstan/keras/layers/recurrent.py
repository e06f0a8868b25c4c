"""The recurrent layers of `tf.keras.layers` with a cell of their own
(python/keras/layers/recurrent.py).
"""

from typing import Any

from capstan.api.layers import input_spec
from capstan.keras import built_in
from capstan.keras.layers import recurrent_base, recurrent_cells

_LOOP = (
    *("return_sequences", "return_state", "go_backwards", "stateful", "unroll"),
    "activity_regularizer",
)


class UnitsLayer(recurrent_base.RNN):
    """A layer with a cell of `units` units. The arguments of the cell are attributes."""

    def __init__(self, cell_class: Any, arguments: dict[str, Any], kwargs: dict[str, Any]) -> None:
        given = built_in.resolved({**arguments, "kwargs": {}})
        given.pop("cell_class", None)
        loop = {name: given.pop(name) for name in _LOOP}
        inner = {name: kwargs[name] for name in ("dtype", "trainable") if name in kwargs}
        super().__init__(cell_class(**given, **inner), **loop, **kwargs)
        self.input_spec = [input_spec.InputSpec(ndim=3)]

    def __getattr__(self, name: str) -> Any:
        cell = vars(self).get("cell")
        if cell is None or name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(cell, name)


class SimpleRNN(UnitsLayer):
    """A layer of `SimpleRNNCell`: each output depends on the inputs and the output before."""

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        use_bias: bool = True,
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
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        **kwargs: Any,
    ) -> None:
        kwargs.pop("implementation", None)  # An old argument, which never had an effect here.
        super().__init__(recurrent_cells.SimpleRNNCell, locals(), kwargs)


class GRU(UnitsLayer):
    """A gated recurrent unit, of `GRUCell`."""

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "hard_sigmoid",
        use_bias: bool = True,
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
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        implementation: int = 1,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        reset_after: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(recurrent_cells.GRUCell, locals(), kwargs)


class LSTM(UnitsLayer):
    """A long short-term memory, of `LSTMCell`. Its states are the output and the memory."""

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "hard_sigmoid",
        use_bias: bool = True,
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
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        implementation: int = 1,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(recurrent_cells.LSTMCell, locals(), kwargs)
