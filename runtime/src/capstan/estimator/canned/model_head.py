"""What programs of TensorFlow 1.12 and older use to write heads of their own.

`python.estimator.canned.head` has the base class as `_Head`. `tf.estimator.Head` replaced it.

Source: tensorflow/python/estimator/canned/head.py.
"""

import abc
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple


class LossSpec(NamedTuple):
    """The loss of a batch, as `create_loss` of a head returns it.

    `training_loss` is the reduced loss, `unreduced_loss` the loss of each example, and `weights`
    are those of the examples. `processed_labels` are the labels after checks and conversions.
    """

    training_loss: Any
    unreduced_loss: Any
    weights: Any
    processed_labels: Any


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
        """Return the LossSpec of the logits."""

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
