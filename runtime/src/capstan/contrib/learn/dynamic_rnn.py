"""`tf.contrib.learn.DynamicRnnEstimator`.

Sources: contrib/learn/python/learn/estimators/{dynamic_rnn_estimator,rnn_common}.py.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from capstan import train
from capstan.api import array_ops, counting_ops, gather_ops, math_ops, metrics, nest, nn, reduce_ops
from capstan.api.feature_column import sequence_models
from capstan.api.rnn import cells, dropout, wrappers
from capstan.api.scoped import scoped
from capstan.contrib.estimator import recurrent
from capstan.contrib.layers import dense, feature_columns, optimizers, sequence_columns
from capstan.contrib.learn import estimators, head_losses, model_fn
from capstan.contrib.learn.mode_keys import ModeKeys
from capstan.contrib.learn.prediction_key import PredictionKey
from capstan.contrib.learn.problem_type import ProblemType
from capstan.core import dtypes
from capstan.framework.raw import raw


class RNNKeys:
    """The names of features and of predictions."""

    FINAL_STATE_KEY: Final = "final_state"
    LABELS_KEY: Final = "__labels__"
    SEQUENCE_LENGTH_KEY: Final = "sequence_length"
    STATE_PREFIX: Final = "rnn_cell_state"


class PredictionType:
    """Whether a model has one prediction for a sequence, or one for each step."""

    SINGLE_VALUE: Final = 1
    MULTIPLE_VALUE: Final = 2


_CELLS: Final[Mapping[str, Any]] = {
    "basic_rnn": cells.BasicRNNCell, "gru": cells.GRUCell, "lstm": cells.LSTMCell,
}  # fmt: skip


class DynamicRnnEstimator(estimators.Estimator):
    """A model of sequences: a class or a number for each sequence, or for each step.

    `sequence_feature_columns` are dense columns of features of shape [batch, time] or [batch, time,
    size], and `context_feature_columns` those of whole examples. The feature `sequence_length` has
    the lengths of sequences that are padded. Features `rnn_cell_state_N` have the first state. The
    predictions have the last one under the same names.

    `num_units` are the sizes of the layers, and `cell_type` is basic_rnn, lstm, gru or a class.
    `dropout_keep_probabilities` are those of the input of each layer and of the last output.

    Raises:
        ValueError: a type is unknown, a classifier has no `num_classes`, or another problem
            predicts probabilities.
    """

    def __init__(
        self,
        problem_type: int,
        prediction_type: int,
        sequence_feature_columns: Iterable[Any],
        context_feature_columns: Iterable[Any] | None = None,
        num_classes: int | None = None,
        num_units: Any = None,
        cell_type: Any = "basic_rnn",
        optimizer: Any = "SGD",
        learning_rate: float = 0.1,
        predict_probabilities: bool = False,
        momentum: float | None = None,
        gradient_clipping_norm: float | None = 5.0,
        dropout_keep_probabilities: Sequence[float] | None = None,
        model_dir: Any = None,
        feature_engineering_fn: Any = None,
        config: Any = None,
    ) -> None:
        kinds = PredictionType
        if prediction_type not in (kinds.SINGLE_VALUE, kinds.MULTIPLE_VALUE):
            raise ValueError(
                "prediction_type must be one of PredictionType.MULTIPLE_VALUE or "
                f"PredictionType.SINGLE_VALUE; got {prediction_type}"
            )
        target = _target(problem_type, num_classes, predict_probabilities)
        if optimizer == "Momentum":
            optimizer = train.MomentumOptimizer(learning_rate, momentum or 0.0)
        sequences, contexts = list(sequence_feature_columns), list(context_feature_columns or ())
        is_single = prediction_type == kinds.SINGLE_VALUE
        name = f"{'Single' if is_single else 'Multi'}ValueDynamicRNN{target.name}"

        def build(features: Any, labels: Any, mode: str) -> Any:
            with scoped(None, name):
                kept = dropout_keep_probabilities if mode == ModeKeys.TRAIN else None
                network = _Network(features, num_units, cell_type, kept)
                logits = network.logits(sequences, contexts, target.size)
                outputs = target.last(logits, network) if is_single else target.each(logits)
                predictions = {**outputs, **network.states()}
                loss, train_op, metrics = None, None, None
                if mode != ModeKeys.INFER:
                    chosen = network.last(logits) if is_single else network.kept(logits)
                    wanted = labels if is_single else network.kept(labels)
                    loss = target.loss(chosen, wanted)
                    found = outputs.get(PredictionKey.CLASSES)
                    found = found if is_single or found is None else network.kept(found)
                    metrics = target.metrics(found, wanted)
                if mode == ModeKeys.TRAIN:
                    train_op = optimizers.optimize_loss(
                        loss, None, learning_rate, optimizer,
                        clip_gradients=gradient_clipping_norm,
                        summaries=optimizers.OPTIMIZER_SUMMARIES,
                    )  # fmt: skip
            alternatives = {"dynamic_rnn_output": (problem_type, outputs)} if is_single else None
            return model_fn.ModelFnOps(mode, predictions, loss, train_op, metrics, alternatives)

        super().__init__(build, model_dir, config, None, feature_engineering_fn)


class _Network:
    """The recurrent network of a batch."""

    def __init__(
        self, features: Mapping[str, Any], num_units: Any, cell_type: Any, kept: Any
    ) -> None:
        self._features = features
        self._lengths = features.get(RNNKeys.SEQUENCE_LENGTH_KEY)
        self._cell = construct_rnn_cell(num_units, cell_type, kept)

    def logits(self, sequences: list[Any], contexts: list[Any], size: int) -> Any:
        """Return `size` logits for each step."""
        inputs = sequence_columns.sequence_input_from_feature_columns(
            {name: each for name, each in self._features.items() if not _is_state(name)}, sequences
        )
        if contexts:
            context = feature_columns.input_from_feature_columns(self._features, contexts)
            inputs = sequence_models.concatenate_context_input(context, inputs)
        with scoped(None, "RNN"):
            outputs, self._state = nn.dynamic_rnn(
                self._cell, inputs, initial_state=self._first_state(), dtype=dtypes.float32,
                swap_memory=True,
            )  # fmt: skip
            return dense.fully_connected(outputs, size, activation_fn=None)

    def _first_state(self) -> Any:
        like = nest.flatten(self._cell.state_size)
        names = [f"{RNNKeys.STATE_PREFIX}_{number}" for number in range(len(like))]
        given = [self._features[name] for name in names if name in self._features]
        if not given:
            return None
        if len(given) < len(like):
            raise ValueError(
                f"RNN state was partially specified. Expected zero or {len(like)} state Tensors; "
                f"got {len(given)}"
            )
        return nest.pack_sequence_as(self._cell.state_size, given)

    def states(self) -> dict[str, Any]:
        """Return the last state by name."""
        return {
            f"{RNNKeys.STATE_PREFIX}_{number}": array_ops.identity(each)
            for number, each in enumerate(nest.flatten(self._state))
        }

    def last(self, logits: Any) -> Any:
        """Return the logits of the last step of each sequence."""
        lengths = self._lengths
        if lengths is None:
            lengths = array_ops.shape(logits)[1]
        return recurrent.last_outputs(logits, lengths)

    def kept(self, values: Any) -> Any:
        """Return the values of all steps that are no padding, without the batch."""
        if self._lengths is None:
            shape = array_ops.shape(values)
            merged = array_ops.concat([[shape[0] * shape[1]], shape[2:]], 0)
            found = array_ops.reshape(values, merged)
            found.set_shape([None, *values.shape.as_list()[2:]])
            return found
        mask = counting_ops.sequence_mask(self._lengths, array_ops.shape(values)[1])
        return gather_ops.boolean_mask(values, mask)


class _Numbers:
    """The target of a regression."""

    name, size = "Regressor", 1

    def last(self, logits: Any, network: _Network) -> dict[str, Any]:
        return {PredictionKey.SCORES: array_ops.squeeze(network.last(logits), 1)}

    def each(self, logits: Any) -> dict[str, Any]:
        return {PredictionKey.SCORES: array_ops.squeeze(logits, 2)}

    def loss(self, logits: Any, labels: Any) -> Any:
        return head_losses.mean_squared(labels, logits, None)[0]

    def metrics(self, classes: Any, labels: Any) -> dict[str, Any]:
        return {}


class _Classes:
    """The target of a classification. Two classes have one logit."""

    name = "Classifier"

    def __init__(self, count: int, has_probabilities: bool) -> None:
        self.size = 1 if count == 2 else count
        self._has_probabilities = has_probabilities

    def last(self, logits: Any, network: _Network) -> dict[str, Any]:
        return self.each(network.last(logits))

    def each(self, logits: Any) -> dict[str, Any]:
        if self.size == 1:
            logits = array_ops.concat([raw.ZerosLike(logits), logits], -1)
        found = {PredictionKey.CLASSES: reduce_ops.argmax(logits, -1)}
        if self._has_probabilities:
            found[PredictionKey.PROBABILITIES] = nn.softmax(logits)
        return found

    def loss(self, logits: Any, labels: Any) -> Any:
        kind = head_losses.log_loss if self.size == 1 else head_losses.softmax
        return kind(labels, logits, None)[0]

    def metrics(self, classes: Any, labels: Any) -> dict[str, Any]:
        same = math_ops.cast(labels, dtypes.int64)
        return {"accuracy": metrics.accuracy(same, classes)}


def _target(problem_type: int, num_classes: int | None, has_probabilities: bool) -> Any:
    if problem_type == ProblemType.LINEAR_REGRESSION:
        if has_probabilities:
            raise ValueError(
                "predict_probabilities can only be set to True for problem_type "
                f"ProblemType.CLASSIFICATION; got {problem_type}."
            )
        return _Numbers()
    if problem_type != ProblemType.CLASSIFICATION:
        raise ValueError(
            "problem_type must be either ProblemType.LINEAR_REGRESSION or "
            f"ProblemType.CLASSIFICATION; got {problem_type}"
        )
    if not num_classes:
        raise ValueError("For CLASSIFICATION problem_type, num_classes must be specified.")
    return _Classes(num_classes, has_probabilities)


def construct_rnn_cell(
    num_units: Any, cell_type: Any = "basic_rnn",
    dropout_keep_probabilities: Sequence[float] | None = None,
) -> Any:  # fmt: skip
    """Return the cell of a DynamicRnnEstimator with the same arguments.

    Raises:
        ValueError: the type is no cell, or there is not one probability more than there are layers.
    """
    units = list(num_units) if isinstance(num_units, list | tuple) else [num_units]
    kind = _CELLS.get(cell_type, cell_type) if isinstance(cell_type, str) else cell_type
    if not isinstance(kind, type) or not issubclass(kind, cells.RNNCell):
        raise ValueError(  # noqa: TRY004 - TensorFlow's
            f"The supported cell types are {sorted(_CELLS)}; got {cell_type}"
        )
    make: Any = kind
    parts = [make(size) for size in units]
    kept = dropout_keep_probabilities
    if kept:
        if len(kept) != len(parts) + 1:
            raise ValueError(
                "The number of dropout probabilities must be one greater than the number of cells. "
                f"Got {len(parts)} cells and {len(kept)} dropout probabilities."
            )
        outputs = [1.0] * (len(parts) - 1) + [kept[-1]]
        parts = [
            dropout.DropoutWrapper(part, before, after)
            for part, before, after in zip(parts, kept, outputs, strict=False)
        ]
    return parts[0] if len(parts) == 1 else wrappers.MultiRNNCell(parts)


def _is_state(name: str) -> bool:
    return name == RNNKeys.SEQUENCE_LENGTH_KEY or name.startswith(RNNKeys.STATE_PREFIX)
