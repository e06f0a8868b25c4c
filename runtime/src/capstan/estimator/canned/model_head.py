"""The base class that programs of TensorFlow 1.12 and older give to their own heads.

`python.estimator.canned.head` has it as `_Head`. `tf.estimator.Head` replaced it.

Source: tensorflow/python/estimator/canned/head.py.
"""

import abc
from collections.abc import Callable, Mapping
from typing import Any


class ModelHead(abc.ABC):
    """Turns the logits of a model into predictions, a loss and metrics."""

    @property
    @abc.abstractmethod
    def name(self) -> str | None:
        """The name of the head, which prefixes the names of its metrics. None prefixes nothing."""

    @property
    @abc.abstractmethod
    def logits_dimension(self) -> int:
        """The number of logits of an example."""

    @abc.abstractmethod
    def create_loss(self, features: Mapping[str, Any], mode: str, logits: Any, labels: Any) -> Any:
        """Return the loss of the logits, unreduced or with the weights that reduce it."""

    @abc.abstractmethod
    def create_estimator_spec(
        self,
        features: Mapping[str, Any],
        mode: str,
        logits: Any,
        labels: Any = None,
        optimizer: Any = None,
        train_op_fn: Callable[[Any], Any] | None = None,
        regularization_losses: Any = None,
    ) -> Any:
        """Return the EstimatorSpec of a mode. `train_op_fn` maps the loss to the training op."""
