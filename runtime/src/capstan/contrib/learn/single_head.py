"""What the heads with one tensor of labels share (contrib/learn/python/learn/estimators/head.py).

The module `class_heads` has the heads themselves.
"""

import abc
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, NamedTuple

from capstan.api import array_ops, control_flow_ops, math_ops, nn, scope_block, sparse_ops
from capstan.api.scoped import scoped
from capstan.contrib.layers import dense
from capstan.contrib.learn import head_bias, head_losses, model_fn
from capstan.contrib.learn.mode_keys import ModeKeys
from capstan.core import dtypes
from capstan.estimator.canned import head
from capstan.framework import convert, sparse_tensor
from capstan.framework import graph as graphs
from capstan.train import summary

LOSS: Final = "loss"


class Head(abc.ABC):
    """The top of a model: it computes predictions, loss and metrics from logits."""

    @property
    @abc.abstractmethod
    def logits_dimension(self) -> int:
        """The size of the last dimension of the logits."""

    @abc.abstractmethod
    def create_model_fn_ops(
        self, features: Any, mode: str, labels: Any = None,
        train_op_fn: Callable[[Any], Any] | None = None, logits: Any = None,
        logits_input: Any = None, scope: Any = None,
    ) -> model_fn.ModelFnOps:  # fmt: skip
        """Return what a model function returns.

        `features` is a dictionary, which has the weights if the head has a column of weights. If
        there are no `logits`, a linear layer on `logits_input` computes them. `train_op_fn` takes
        the loss. During an evaluation with weights, the loss is the weighted average.

        Raises:
            ValueError: not exactly one of `logits` and `logits_input` is given, `train_op_fn` is
                missing during training, the mode is unknown, or labels or weights are wrong.
        """


class Settings(NamedTuple):
    """What all heads of one kind of labels take."""

    label_name: str | None
    weight_column_name: str | None
    enable_centered_bias: bool
    head_name: str | None


class SingleHead(Head):
    """A head with one tensor of labels. The names of metrics end with `/head_name` if given."""

    _default_scope: ClassVar[str]
    problem_type: ClassVar[int]

    def __init__(self, dimension: int, settings: Settings, loss: head_losses.Loss) -> None:
        if dimension < 1:
            raise ValueError(f"Invalid logits_dimension {dimension}.")
        self._dimension, self._settings, self._loss = dimension, settings, loss

    @property
    def logits_dimension(self) -> int:
        return self._dimension

    @property
    def label_name(self) -> str | None:
        return self._settings.label_name

    @property
    def weight_column_name(self) -> str | None:
        return self._settings.weight_column_name

    @property
    def head_name(self) -> str | None:
        return self._settings.head_name

    def create_model_fn_ops(
        self, features: Any, mode: str, labels: Any = None,
        train_op_fn: Callable[[Any], Any] | None = None, logits: Any = None,
        logits_input: Any = None, scope: Any = None,
    ) -> model_fn.ModelFnOps:  # fmt: skip
        ModeKeys.validate(mode)
        with scope_block.variable_scope(scope, self.head_name or self._default_scope):
            known = mode != ModeKeys.INFER and labels is not None
            found = self._labels(_tensor(labels, self.label_name)) if known else None
            logits = self._logits(logits_input, logits)
            bias = None
            if self._settings.enable_centered_bias:
                bias = head_bias.variable(self._dimension, self.head_name)
                logits = nn.bias_add(logits, bias)
            predictions = self._predictions(logits)
            loss, train_op, metric_ops = None, None, None
            if known:
                weights = _weights(features, self.weight_column_name)
                loss, reported = self._loss_of(found, logits, weights)
                self._summarize(reported)
                if mode == ModeKeys.TRAIN:
                    train_op = trained(loss, train_op_fn)
                    if bias is not None:
                        step = head_bias.step(bias, found, logits, weights, self._loss_of)
                        train_op = control_flow_ops.group(train_op, step)
                with scoped(None, "metrics"):
                    metric_ops = self._named(self._metrics(predictions, found, weights))
                    metric_ops[self._key(LOSS)] = model_fn.ReportedLoss(reported)
            return model_fn.ModelFnOps(
                mode, predictions, loss, train_op, metric_ops, self._alternatives(predictions)
            )

    @abc.abstractmethod
    def _predictions(self, logits: Any) -> dict[str, Any]:
        """Return the predictions by the names of `PredictionKey`."""

    @abc.abstractmethod
    def _metrics(self, predictions: Mapping[str, Any], labels: Any, weights: Any) -> dict[str, Any]:
        """Return the metrics by name, without the loss."""

    def _labels(self, labels: Any) -> Any:
        if isinstance(labels, sparse_tensor.SparseTensor):
            raise ValueError("SparseTensor is not supported.")  # noqa: TRY004 - TensorFlow's
        return labels

    def _loss_of(self, labels: Any, logits: Any, weights: Any) -> tuple[Any, Any]:
        return self._loss(labels, logits, weights)

    def _alternatives(self, predictions: Mapping[str, Any]) -> dict[Any, Any]:
        return {self.head_name: (self.problem_type, predictions)}

    def _logits(self, logits_input: Any, logits: Any) -> Any:
        if logits is None:
            if logits_input is None:
                raise ValueError("Neither logits nor logits_input supplied.")
            return dense.linear(logits_input, self._dimension, scope="logits")
        if logits_input is not None:
            raise ValueError("Both logits and logits_input supplied.")
        logits = convert.convert_to_tensor(logits, name="logits")
        if logits.shape.ndims is not None:
            logits.shape.dims[-1].assert_is_compatible_with(self._dimension)
        return logits

    def _key(self, name: str) -> str:
        return head.key_of(name, self.head_name)

    def _named(self, metric_ops: Mapping[str, Any]) -> dict[str, Any]:
        return {self._key(name): metric for name, metric in metric_ops.items()}

    def _summarize(self, reported: Any) -> None:
        with graphs.get_default_graph().name_scope(""):
            summary.scalar(self._key(LOSS), array_ops.identity(reported))


def trained(loss: Any, train_op_fn: Callable[[Any], Any] | None) -> Any:
    """Return the training operation of a loss.

    Raises:
        ValueError: there is no function.
    """
    if train_op_fn is None:
        raise ValueError("train_op_fn can not be None in TRAIN mode")
    with scoped(None, "train_op", (loss,)):
        return train_op_fn(loss)


def _tensor(labels: Any, name: str | None) -> Any:
    """Return labels as a tensor: `labels`, or one of a dictionary."""
    if isinstance(labels, Mapping):
        labels = labels[name]
    return sparse_ops.convert_to_tensor_or_sparse_tensor(labels)


def _weights(features: Any, column: str | None) -> Any:
    """Return the weights of the examples, of rank 0 or at least 2, or None without a column."""
    if not column:
        return None
    if column not in features:
        raise ValueError(f"Weights {column} missing from features.")
    weights = math_ops.cast(features[column], dtypes.float32)
    return array_ops.reshape(weights, (-1, 1)) if weights.shape.ndims == 1 else weights
