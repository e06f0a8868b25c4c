"""The layers of `tf.compat.v2.keras.layers` whose defaults differ (python/keras/layers).

The defaults of recurrent layers are those of cuDNN: the activation of the gates is the sigmoid, and
the reset gate of a GRU comes after the product.
"""

from typing import Any

from capstan.keras import layers, learning


class BatchNormalization(layers.BatchNormalization):
    """Normalizes as `tf.keras.layers.BatchNormalization`.

    A layer that is not trainable when it is called uses its moving averages, also in training.
    """

    def call(self, inputs: Any, training: Any = None) -> Any:
        if not self.trainable:
            training = False
        elif training is None:
            training = learning.learning_phase()
        return super().call(inputs, training)


class GRU(layers.GRU):
    """A gated recurrent unit, as `tf.keras.layers.GRU` with the defaults of cuDNN."""

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
        *args: Any,
        implementation: int = 2,
        reset_after: bool = True,
        **kwargs: Any,
    ) -> None:
        given = {"implementation": implementation, "reset_after": reset_after, **kwargs}
        super().__init__(units, activation, recurrent_activation, *args, **given)


class GRUCell(layers.GRUCell):
    """The cell of a gated recurrent unit, as `tf.keras.layers.GRUCell` with cuDNN's defaults."""

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
        *args: Any,
        implementation: int = 2,
        reset_after: bool = True,
        **kwargs: Any,
    ) -> None:
        given = {"implementation": implementation, "reset_after": reset_after, **kwargs}
        super().__init__(units, activation, recurrent_activation, *args, **given)


class LSTM(layers.LSTM):
    """A long short-term memory, as `tf.keras.layers.LSTM` with the defaults of cuDNN."""

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
        *args: Any,
        implementation: int = 2,
        **kwargs: Any,
    ) -> None:
        given = {"implementation": implementation, **kwargs}
        super().__init__(units, activation, recurrent_activation, *args, **given)


class LSTMCell(layers.LSTMCell):
    """The cell of a long short-term memory, as `tf.keras.layers.LSTMCell` with cuDNN's defaults."""

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
        *args: Any,
        implementation: int = 2,
        **kwargs: Any,
    ) -> None:
        given = {"implementation": implementation, **kwargs}
        super().__init__(units, activation, recurrent_activation, *args, **given)
