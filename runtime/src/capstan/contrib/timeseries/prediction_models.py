"""The parts of `ARModel` that predict an output window from an input window.

Source: contrib/timeseries/python/timeseries/ar_model.py.
"""

from collections.abc import Sequence
from typing import Any

from capstan.api import array_ops
from capstan.contrib import rnn_blocks
from capstan.framework.raw import raw
from capstan.keras import layers, models, sequential


class FlatPredictionModel(models.Model):
    """Dense layers over all numbers of both windows.

    The windows have the shapes [batch, size, features]. The result has `mean` and `covariance`, the
    variances, of shape [batch, output_window_size, num_features].
    """

    def __init__(
        self, num_features: int, input_window_size: int, output_window_size: int,
        hidden_layer_sizes: Sequence[int] | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self._input_flatten = layers.Flatten()
        self._output_flatten = layers.Flatten()
        self._hidden_layers = None
        if hidden_layer_sizes:
            self._hidden_layers = sequential.Sequential(
                [layers.Dense(size, activation="relu") for size in hidden_layer_sizes]
            )
        count = num_features * output_window_size
        self._mean_transform = layers.Dense(count, name="predicted_mean")
        self._covariance_transform = layers.Dense(count, name="log_sigma_square")
        self._prediction_shape = [-1, output_window_size, num_features]

    def call(  # type: ignore[override]
        self, input_window_features: Any, output_window_features: Any
    ) -> dict[str, Any]:
        parts = []
        if input_window_features.shape.as_list()[1]:
            parts.append(self._input_flatten(input_window_features))
        if output_window_features.shape.as_list()[2] or not parts:
            parts.append(self._output_flatten(output_window_features))
        activation = array_ops.concat(parts, 1) if len(parts) > 1 else parts[0]
        if self._hidden_layers:
            activation = self._hidden_layers(activation)
        mean = self._mean_transform(activation)
        variance = raw.Exp(self._covariance_transform(activation))
        return {
            "mean": array_ops.reshape(mean, self._prediction_shape),
            "covariance": array_ops.reshape(variance, self._prediction_shape),
        }


class LSTMPredictionModel(models.Model):
    """An LSTM that encodes the input window, and one that decodes the output window.

    The results are those of FlatPredictionModel.
    """

    def __init__(
        self, num_features: int, input_window_size: int, output_window_size: int,
        num_units: int = 128,
    ) -> None:  # fmt: skip
        super().__init__()
        self._encoder = rnn_blocks.LSTMBlockFusedCell(num_units, name="encoder")
        self._decoder = rnn_blocks.LSTMBlockFusedCell(num_units, name="decoder")
        self._mean_transform = layers.Dense(num_features, name="mean_transform")
        self._covariance_transform = layers.Dense(num_features, name="covariance_transform")

    def call(  # type: ignore[override]
        self, input_window_features: Any, output_window_features: Any
    ) -> dict[str, Any]:
        by_time = [
            array_ops.transpose(window, [1, 0, 2])
            for window in (input_window_features, output_window_features)
        ]
        _, state = self._encoder(by_time[0], dtype=by_time[0].dtype)
        decoded, _ = self._decoder(by_time[1], dtype=by_time[1].dtype, initial_state=state)
        decoded = array_ops.transpose(decoded, [1, 0, 2])
        return {
            "mean": self._mean_transform(decoded),
            "covariance": raw.Exp(self._covariance_transform(decoded)),
        }
