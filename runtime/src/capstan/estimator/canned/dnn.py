"""Deep neural networks: `tf.estimator.DNNClassifier`, `DNNRegressor` and `DNNEstimator`.

The names of the variables are TensorFlow's (tensorflow/python/estimator/canned/dnn.py), so that
its checkpoints can be loaded.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from capstan.api import feature_column, init_ops, layers, nn, partitioners, scope_block
from capstan.api.losses import Reduction
from capstan.estimator import estimator, mode_keys
from capstan.estimator.canned import choices, heads
from capstan.train import summary

_LEARNING_RATE: Final = 0.05
_TABLE_BYTES: Final = 64 << 20
"""A table of an embedding is cut into parts of at least this size, in bytes."""


class DNNClassifier(estimator.Estimator):
    """A classifier whose logits are computed by layers of `hidden_units` rectified units.

    `feature_columns` are dense columns. Labels are integers below `n_classes`, or words of
    `label_vocabulary`. `weight_column` names the feature with the weights of the examples, or is
    its numeric column. `optimizer` is an Optimizer, a function that returns one, or a name as in
    `tf.estimator`. `dropout` is the share of units that training leaves out. `loss_reduction` says
    how the losses of a batch become one loss.

    Raises:
        ValueError: there are fewer than two classes, or an argument of Estimator is wrong.
    """

    def __init__(
        self,
        hidden_units: Iterable[int],
        feature_columns: Iterable[Any],
        model_dir: Any = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Sequence[str] | None = None,
        optimizer: Any = "Adagrad",
        activation_fn: Any = nn.relu,
        dropout: float | None = None,
        input_layer_partitioner: Any = None,
        config: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
        batch_norm: bool = False,
    ) -> None:
        head = choices.classification_head(
            n_classes, weight_column, label_vocabulary, loss_reduction
        )
        model = model_fn(
            head, hidden_units, feature_columns, optimizer, activation_fn, dropout,
            input_layer_partitioner, batch_norm,
        )  # fmt: skip
        super().__init__(model, model_dir, config, warm_start_from=warm_start_from)


class DNNRegressor(estimator.Estimator):
    """A regressor whose predictions are computed as the logits of `DNNClassifier`.

    Labels have `label_dimension` numbers for each example. The loss is the squared error.
    """

    def __init__(
        self,
        hidden_units: Iterable[int],
        feature_columns: Iterable[Any],
        model_dir: Any = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        optimizer: Any = "Adagrad",
        activation_fn: Any = nn.relu,
        dropout: float | None = None,
        input_layer_partitioner: Any = None,
        config: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
        batch_norm: bool = False,
    ) -> None:
        head = heads.RegressionHead(
            weight_column=weight_column,
            label_dimension=label_dimension,
            loss_reduction=loss_reduction,
        )
        model = model_fn(
            head, hidden_units, feature_columns, optimizer, activation_fn, dropout,
            input_layer_partitioner, batch_norm,
        )  # fmt: skip
        super().__init__(model, model_dir, config, warm_start_from=warm_start_from)


class DNNEstimator(estimator.Estimator):
    """A model whose logits are those of `DNNClassifier`, and whose `head` the program chooses."""

    def __init__(
        self,
        head: heads.Head,
        hidden_units: Iterable[int],
        feature_columns: Iterable[Any],
        model_dir: Any = None,
        optimizer: Any = "Adagrad",
        activation_fn: Any = nn.relu,
        dropout: float | None = None,
        input_layer_partitioner: Any = None,
        config: Any = None,
        warm_start_from: Any = None,
        batch_norm: bool = False,
    ) -> None:
        model = model_fn(
            head, hidden_units, feature_columns, optimizer, activation_fn, dropout,
            input_layer_partitioner, batch_norm,
        )  # fmt: skip
        super().__init__(model, model_dir, config, warm_start_from=warm_start_from)


def model_fn(
    head: heads.Head,
    hidden_units: Iterable[int],
    feature_columns: Iterable[Any],
    optimizer: Any,
    activation_fn: Any,
    dropout: float | None,
    input_layer_partitioner: Any,
    batch_norm: bool,
) -> Any:
    """Return the function that builds the model of an Estimator with this head."""
    units, columns = tuple(hidden_units), tuple(feature_columns)

    def build(features: Any, labels: Any, mode: str, config: Any) -> Any:
        check_features(features)
        chosen = choices.get_optimizer_instance(optimizer, _LEARNING_RATE)
        replicas = config.num_ps_replicas if config else 0
        partitioner = partitioners.min_max_variable_partitioner(replicas)
        with scope_block.variable_scope(
            "dnn", values=tuple(features.values()), partitioner=partitioner
        ):
            computed = logits(
                features, mode, head.logits_dimension, units, columns, activation_fn, dropout,
                input_layer_partitioner or table_partitioner(config), batch_norm,
            )  # fmt: skip
            return head.create_estimator_spec(
                features=features, mode=mode, labels=labels, optimizer=chosen, logits=computed
            )

    return build


def logits(
    features: Mapping[str, Any],
    mode: str,
    dimension: int,
    hidden_units: Sequence[int],
    feature_columns: Sequence[Any],
    activation_fn: Any,
    dropout: float | None,
    input_layer_partitioner: Any,
    batch_norm: bool,
) -> Any:
    """Return `dimension` logits for each example. The variables are in the current scope."""
    is_training = mode == mode_keys.ModeKeys.TRAIN
    with scope_block.variable_scope(
        "input_from_feature_columns",
        values=tuple(features.values()),
        partitioner=input_layer_partitioner,
    ):
        net = feature_column.input_layer(features, feature_columns)
    for number, units in enumerate(hidden_units):
        with scope_block.variable_scope(f"hiddenlayer_{number}", values=(net,)) as scope:
            net = layers.dense(
                net, units, activation_fn, kernel_initializer=init_ops.GlorotUniform(), name=scope
            )
            if dropout is not None and is_training:
                net = layers.dropout(net, rate=dropout, training=True)
            if batch_norm:
                # With the default momentum of `tf.layers`, TensorFlow's authors saw training fail.
                net = layers.batch_normalization(
                    net, momentum=0.999, training=is_training, name=f"batchnorm_{number}"
                )
        summarize(net, scope.name)
    with scope_block.variable_scope("logits", values=(net,)) as scope:
        found = layers.dense(
            net, dimension, None, kernel_initializer=init_ops.GlorotUniform(), name=scope
        )
    summarize(found, scope.name)
    return found


def summarize(value: Any, tag: str) -> None:
    """Add the summaries of a layer: the share of zeros, and a histogram."""
    summary.scalar(f"{tag}/fraction_of_zero_values", nn.zero_fraction(value))
    summary.histogram(f"{tag}/activation", value)


def table_partitioner(config: Any) -> Any:
    """Return the partitioner that cuts large tables into a part for each parameter server."""
    replicas = config.num_ps_replicas if config else 0
    return partitioners.min_max_variable_partitioner(replicas, min_slice_size=_TABLE_BYTES)


def check_features(features: Any) -> None:
    """Raise ValueError unless the features are tensors by name."""
    if not isinstance(features, dict):
        raise ValueError(
            f"features should be a dictionary of `Tensor`s. Given type: {type(features)}"
        )
