"""Layers that add a loss or a metric of a tensor to the model that they are part of.

`Model.add_loss` and `Model.add_metric` make them, so that the loss or metric is computed again when
the model is called on other inputs (python/keras/engine/base_layer.py).
"""

from typing import Any

from capstan.keras import base_layer


class AddLoss(base_layer.Layer):
    """Returns its inputs, and adds them as a loss that depends on them, or on nothing."""

    def __init__(self, unconditional: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.unconditional = unconditional

    def call(self, inputs: Any) -> Any:
        self.add_loss(inputs, inputs=None if self.unconditional else inputs)
        return inputs

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that create an equal layer. They are values that JSON can hold."""
        return {**super().get_config(), "unconditional": self.unconditional}


class AddMetric(base_layer.Layer):
    """Returns its inputs, and shows their mean over all batches as a metric."""

    def __init__(
        self, aggregation: str | None = "mean", metric_name: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.aggregation, self.metric_name = aggregation, metric_name

    def call(self, inputs: Any) -> Any:
        self.add_metric(inputs, self.aggregation, self.metric_name)
        return inputs

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that create an equal layer. They are values that JSON can hold."""
        own = {"aggregation": self.aggregation, "metric_name": self.metric_name}
        return {**super().get_config(), **own}
