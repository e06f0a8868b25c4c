"""Wide and deep models: `tf.estimator.DNNLinearCombinedClassifier` and its regressor.

A linear model memorizes crosses of features, and a neural network generalizes from embeddings
(https://arxiv.org/abs/1606.07792). Each has an optimizer of its own. The names of the variables are
TensorFlow's (tensorflow/python/estimator/canned/dnn_linear_combined.py).
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from capstan import train
from capstan.api import nn, partitioners, scope_block, state_ops
from capstan.api.losses import Reduction
from capstan.estimator import estimator
from capstan.estimator.canned import choices, dnn, heads, linear
from capstan.framework import collections, grouping
from capstan.framework import graph as graphs

_DNN_LEARNING_RATE: Final = 0.001
_LINEAR_LEARNING_RATE: Final = 0.005


class DNNLinearCombinedClassifier(estimator.Estimator):
    """A classifier whose logits are the sum of those of a linear model and of a neural network.

    Either half may be left out. The arguments have the meaning that they have for `DNNClassifier`
    and `LinearClassifier`.

    Raises:
        ValueError: there are no columns, the network has columns and no units, there are fewer than
            two classes, or an argument of Estimator is wrong.
    """

    def __init__(
        self,
        model_dir: Any = None,
        linear_feature_columns: Iterable[Any] | None = None,
        linear_optimizer: Any = "Ftrl",
        dnn_feature_columns: Iterable[Any] | None = None,
        dnn_optimizer: Any = "Adagrad",
        dnn_hidden_units: Iterable[int] | None = None,
        dnn_activation_fn: Any = nn.relu,
        dnn_dropout: float | None = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Sequence[str] | None = None,
        input_layer_partitioner: Any = None,
        config: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
        batch_norm: bool = False,
        linear_sparse_combiner: str = "sum",
    ) -> None:
        wide = _Wide(tuple(linear_feature_columns or ()), linear_optimizer, linear_sparse_combiner)
        deep = _Deep(
            tuple(dnn_feature_columns or ()), dnn_optimizer, tuple(dnn_hidden_units or ()),
            dnn_activation_fn, dnn_dropout, batch_norm,
        )  # fmt: skip
        _check(wide, deep)
        head = choices.classification_head(
            n_classes, weight_column, label_vocabulary, loss_reduction
        )
        model = _model_fn(head, wide, deep, input_layer_partitioner)
        super().__init__(model, model_dir, config, warm_start_from=warm_start_from)


class DNNLinearCombinedRegressor(estimator.Estimator):
    """A regressor whose predictions are computed as the logits of `DNNLinearCombinedClassifier`.

    Labels have `label_dimension` numbers for each example. The loss is the squared error.

    Raises:
        ValueError: there are no columns, the network has columns and no units, or an argument of
            Estimator is wrong.
    """

    def __init__(
        self,
        model_dir: Any = None,
        linear_feature_columns: Iterable[Any] | None = None,
        linear_optimizer: Any = "Ftrl",
        dnn_feature_columns: Iterable[Any] | None = None,
        dnn_optimizer: Any = "Adagrad",
        dnn_hidden_units: Iterable[int] | None = None,
        dnn_activation_fn: Any = nn.relu,
        dnn_dropout: float | None = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        input_layer_partitioner: Any = None,
        config: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
        batch_norm: bool = False,
        linear_sparse_combiner: str = "sum",
    ) -> None:
        wide = _Wide(tuple(linear_feature_columns or ()), linear_optimizer, linear_sparse_combiner)
        deep = _Deep(
            tuple(dnn_feature_columns or ()), dnn_optimizer, tuple(dnn_hidden_units or ()),
            dnn_activation_fn, dnn_dropout, batch_norm,
        )  # fmt: skip
        _check(wide, deep)
        head = heads.RegressionHead(
            weight_column=weight_column,
            label_dimension=label_dimension,
            loss_reduction=loss_reduction,
        )
        model = _model_fn(head, wide, deep, input_layer_partitioner)
        super().__init__(model, model_dir, config, warm_start_from=warm_start_from)


class DNNLinearCombinedEstimator(estimator.Estimator):
    """A model whose logits are those of `DNNLinearCombinedClassifier`, with any `head`.

    Raises:
        ValueError: there are no columns, the network has columns and no units, or an argument of
            Estimator is wrong.
    """

    def __init__(
        self,
        head: heads.Head,
        model_dir: Any = None,
        linear_feature_columns: Iterable[Any] | None = None,
        linear_optimizer: Any = "Ftrl",
        dnn_feature_columns: Iterable[Any] | None = None,
        dnn_optimizer: Any = "Adagrad",
        dnn_hidden_units: Iterable[int] | None = None,
        dnn_activation_fn: Any = nn.relu,
        dnn_dropout: float | None = None,
        input_layer_partitioner: Any = None,
        config: Any = None,
        linear_sparse_combiner: str = "sum",
        batch_norm: bool = False,
    ) -> None:
        model = model_fn(
            head, linear_feature_columns, linear_optimizer, dnn_feature_columns, dnn_optimizer,
            dnn_hidden_units, dnn_activation_fn, dnn_dropout, input_layer_partitioner, batch_norm,
            linear_sparse_combiner,
        )  # fmt: skip
        super().__init__(model, model_dir, config)


def model_fn(
    head: heads.Head,
    linear_feature_columns: Iterable[Any] | None,
    linear_optimizer: Any,
    dnn_feature_columns: Iterable[Any] | None,
    dnn_optimizer: Any,
    dnn_hidden_units: Iterable[int] | None,
    dnn_activation_fn: Any,
    dnn_dropout: float | None,
    input_layer_partitioner: Any,
    batch_norm: bool,
    linear_sparse_combiner: str,
) -> Callable[..., Any]:
    """Return the function that builds the model of an Estimator with this head.

    Raises:
        ValueError: there are no columns, or the network has columns and no units.
    """
    wide = _Wide(tuple(linear_feature_columns or ()), linear_optimizer, linear_sparse_combiner)
    deep = _Deep(
        tuple(dnn_feature_columns or ()), dnn_optimizer, tuple(dnn_hidden_units or ()),
        dnn_activation_fn, dnn_dropout, batch_norm,
    )  # fmt: skip
    _check(wide, deep)
    return _model_fn(head, wide, deep, input_layer_partitioner)


@dataclass(frozen=True, slots=True)
class _Wide:
    """The linear half of a model."""

    columns: Sequence[Any]
    optimizer: Any
    combiner: str

    def build(self, features: Mapping[str, Any], dimension: int, partitioner: Any) -> "_Half":
        rate = min(_LINEAR_LEARNING_RATE, 1.0 / math.sqrt(len(self.columns)))
        optimizer = _own_optimizer(self.optimizer, rate)
        values = tuple(features.values())
        with scope_block.variable_scope("linear", values=values, partitioner=partitioner) as scope:
            logits = linear.logits(features, dimension, self.columns, self.combiner)
            dnn.summarize(logits, scope.name)
        return _Half(logits, optimizer, scope.name)


@dataclass(frozen=True, slots=True)
class _Deep:
    """The neural network of a model."""

    columns: Sequence[Any]
    optimizer: Any
    units: Sequence[int]
    activation: Any
    dropout: float | None
    batch_norm: bool

    def build(
        self,
        features: Mapping[str, Any],
        mode: str,
        dimension: int,
        replicas: int,
        table_partitioner: Any,
    ) -> "_Half":
        optimizer = _own_optimizer(self.optimizer, _DNN_LEARNING_RATE)
        partitioner = partitioners.min_max_variable_partitioner(replicas)
        values = tuple(features.values())
        with scope_block.variable_scope("dnn", values=values, partitioner=partitioner) as scope:
            logits = dnn.logits(
                features, mode, dimension, self.units, self.columns, self.activation, self.dropout,
                table_partitioner, self.batch_norm,
            )  # fmt: skip
        return _Half(logits, optimizer, scope.name)


@dataclass(frozen=True, slots=True)
class _Half:
    """The logits of a half, and the optimizer of its variables, which are in `scope`."""

    logits: Any
    optimizer: Any
    scope: str

    def minimize(self, loss: Any) -> Any:
        variables = graphs.get_default_graph().get_collection(
            collections.GraphKeys.TRAINABLE_VARIABLES, self.scope
        )
        return self.optimizer.minimize(loss, var_list=variables)


def _check(wide: _Wide, deep: _Deep) -> None:
    if not wide.columns and not deep.columns:
        raise ValueError("Either linear_feature_columns or dnn_feature_columns must be defined.")
    if deep.columns and not deep.units:
        raise ValueError("dnn_hidden_units must be defined when dnn_feature_columns is specified.")


def _model_fn(
    head: heads.Head, wide: _Wide, deep: _Deep, input_layer_partitioner: Any
) -> Callable[..., Any]:
    def build(features: Any, labels: Any, mode: str, config: Any) -> Any:
        dnn.check_features(features)
        partitioner = input_layer_partitioner or dnn.table_partitioner(config)
        replicas = config.num_ps_replicas if config else 0
        halves = []
        if deep.columns:
            halves.append(deep.build(features, mode, head.logits_dimension, replicas, partitioner))
        if wide.columns:
            halves.append(wide.build(features, head.logits_dimension, partitioner))
        logits = halves[0].logits
        for half in halves[1:]:
            logits = logits + half.logits

        def train_op_fn(loss: Any) -> Any:
            updates = grouping.group(*(half.minimize(loss) for half in halves))
            with graphs.get_default_graph().control_dependencies([updates]):
                return state_ops.assign_add(train.get_global_step(), 1).op

        return head.create_estimator_spec(
            features=features, mode=mode, labels=labels, train_op_fn=train_op_fn, logits=logits
        )

    return build


def _own_optimizer(given: Any, learning_rate: float) -> Any:
    """Return the optimizer of a half.

    Raises:
        ValueError: it is a SyncReplicasOptimizer, which would wait for tokens twice in each step.
    """
    optimizer = choices.get_optimizer_instance(given, learning_rate)
    if isinstance(optimizer, train.SyncReplicasOptimizer):
        raise ValueError(
            "SyncReplicasOptimizer does not support multi optimizers case. Therefore, it is not "
            "supported in DNNLinearCombined model. If you want to use this optimizer, please use "
            "either DNN or Linear model."
        )
    return optimizer
