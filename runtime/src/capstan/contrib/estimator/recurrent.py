"""Recurrent networks: `tf.contrib.estimator.RNNClassifier` and `RNNEstimator`.

The names of the variables are TensorFlow's (contrib/estimator/python/estimator/rnn.py in 1.12), so
that its checkpoints can be loaded.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from capstan import train
from capstan.api import array_ops, init_ops, layers, math_ops, nn, partitioners, scope_block
from capstan.api.feature_column import models, sequence_models
from capstan.api.losses import Reduction
from capstan.api.rnn import cells, wrappers
from capstan.contrib.estimator import clipping
from capstan.core import dtypes
from capstan.estimator import estimator
from capstan.estimator.canned import choices, dnn
from capstan.framework.raw import raw
from capstan.train import summary

_LEARNING_RATE: Final = 0.05
_CLIP_NORM: Final = 5.0
_CELLS: Final[Mapping[str, Any]] = {
    "basic_rnn": cells.BasicRNNCell,
    "gru": cells.GRUCell,
    "lstm": cells.BasicLSTMCell,
}
CellFn = Callable[[str], Any]


class RNNEstimator(estimator.Estimator):
    """A model of sequences, whose `head` the program chooses.

    `sequence_feature_columns` are dense columns of sequences, and `context_feature_columns` those
    of whole examples, whose numbers each step gets. The layers have `num_units` units each, and
    cells of the type `cell_type`: basic_rnn, lstm, gru or a class. `rnn_cell_fn` takes the mode and
    returns a cell in their place. The logits follow from the output of the last step of each
    example. The default optimizer is Adagrad, which limits the norm of the gradients to 5, as any
    other that is given by name.

    Raises:
        ValueError: `rnn_cell_fn` is given and a layer too, or none is, or a cell type is unknown.
    """

    def __init__(
        self,
        head: Any,
        sequence_feature_columns: Iterable[Any],
        context_feature_columns: Iterable[Any] | None = None,
        num_units: Iterable[int] | None = None,
        cell_type: Any = None,
        rnn_cell_fn: CellFn | None = None,
        model_dir: Any = None,
        optimizer: Any = "Adagrad",
        input_layer_partitioner: Any = None,
        config: Any = None,
    ) -> None:
        cell_fn = _cell_fn(num_units, cell_type, rnn_cell_fn)
        sequences, contexts = tuple(sequence_feature_columns), tuple(context_feature_columns or ())

        def build(features: Any, labels: Any, mode: str, config: Any) -> Any:
            dnn.check_features(features)
            chosen = _optimizer(optimizer)
            replicas = config.num_ps_replicas if config else 0
            with scope_block.variable_scope(
                "rnn",
                values=tuple(features.values()),
                partitioner=partitioners.min_max_variable_partitioner(replicas),
            ):
                computed = _logits(
                    features, head.logits_dimension, cell_fn(mode), sequences, contexts,
                    input_layer_partitioner or dnn.table_partitioner(config),
                )  # fmt: skip
                return head.create_estimator_spec(
                    features=features, mode=mode, labels=labels, optimizer=chosen, logits=computed
                )

        super().__init__(build, model_dir, config)


class RNNClassifier(RNNEstimator):
    """A classifier of sequences. Labels and weights are as for `tf.estimator.DNNClassifier`.

    Raises:
        ValueError: there are fewer than two classes, or as RNNEstimator.
    """

    def __init__(
        self,
        sequence_feature_columns: Iterable[Any],
        context_feature_columns: Iterable[Any] | None = None,
        num_units: Iterable[int] | None = None,
        cell_type: Any = None,
        rnn_cell_fn: CellFn | None = None,
        model_dir: Any = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Any = None,
        optimizer: Any = "Adagrad",
        loss_reduction: str = Reduction.SUM_OVER_BATCH_SIZE,
        input_layer_partitioner: Any = None,
        config: Any = None,
    ) -> None:
        head = choices.classification_head(
            n_classes, weight_column, label_vocabulary, loss_reduction
        )
        super().__init__(
            head, sequence_feature_columns, context_feature_columns, num_units, cell_type,
            rnn_cell_fn, model_dir, optimizer, input_layer_partitioner, config,
        )  # fmt: skip


def cell_of(num_units: Iterable[int], cell_type: Any) -> Any:
    """Return a cell with a layer for each number of units.

    Raises:
        ValueError: the type is no cell.
    """
    kind = _CELLS.get(cell_type, cell_type) if isinstance(cell_type, str) else cell_type
    if not isinstance(kind, type) or not issubclass(kind, cells.RNNCell):
        raise ValueError(  # noqa: TRY004 - TensorFlow's
            f"Supported cell types are {sorted(_CELLS)}; got {cell_type}"
        )
    make: Callable[[int], Any] = kind
    parts = [make(units) for units in num_units]
    return parts[0] if len(parts) == 1 else wrappers.MultiRNNCell(parts)


def last_outputs(outputs: Any, lengths: Any) -> Any:
    """Return the output of the last step of each example. The outputs are [batch, time, size]."""
    count, time, size = array_ops.unstack(array_ops.shape(outputs, out_type=dtypes.int64), 3)
    starts = math_ops.range(count) * time
    places = starts + math_ops.cast(lengths, dtypes.int64) - 1
    found = raw.GatherV2(array_ops.reshape(outputs, array_ops.stack([-1, size])), places, 0)
    found.set_shape([outputs.shape.as_list()[0], outputs.shape.as_list()[2]])
    return found


def _cell_fn(num_units: Iterable[int] | None, cell_type: Any, rnn_cell_fn: CellFn | None) -> CellFn:
    if rnn_cell_fn is not None:
        if num_units or cell_type is not None:
            raise ValueError("num_units and cell_type must not be specified when using rnn_cell_fn")
        return rnn_cell_fn
    units = tuple(num_units or ())
    if not units:
        raise ValueError("num_units or rnn_cell_fn must be specified")
    return lambda mode: cell_of(units, "basic_rnn" if cell_type is None else cell_type)


def _optimizer(given: Any) -> Any:
    if isinstance(given, train.Optimizer):
        return given
    made = choices.get_optimizer_instance(given, _LEARNING_RATE)
    return clipping.clip_gradients_by_norm(made, _CLIP_NORM)


def _logits(
    features: Any, dimension: int, cell: Any, sequences: Any, contexts: Any, partitioner: Any
) -> Any:
    """Return the logits of each example. The variables are in the current scope."""
    with scope_block.variable_scope(
        "sequence_input_layer", values=tuple(features.values()), partitioner=partitioner
    ):
        inputs, lengths = sequence_models.sequence_input_layer(features, sequences)
        summary.histogram("sequence_length", lengths)
        if contexts:
            context = models.input_layer(features, contexts)
            inputs = sequence_models.concatenate_context_input(context, inputs)
    outputs, _ = nn.dynamic_rnn(cell, inputs, sequence_length=lengths, dtype=dtypes.float32)
    with scope_block.variable_scope("logits", values=(outputs,)):
        return layers.dense(
            last_outputs(outputs, lengths), dimension, None,
            kernel_initializer=init_ops.GlorotUniform(),
        )  # fmt: skip
