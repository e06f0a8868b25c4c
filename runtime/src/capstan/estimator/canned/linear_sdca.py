"""`tf.estimator.experimental.LinearSDCA`: linear models by stochastic dual coordinate ascent.

Source: tensorflow_estimator/python/estimator/canned/linear.py and linear_optimizer/.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from capstan.api import (
    array_ops,
    context,
    control_flow_ops,
    logging,
    math_ops,
    reduce_ops,
    state_ops,
    variables,
)
from capstan.api.feature_column import columns as kinds
from capstan.core import dtypes
from capstan.estimator import mode_keys
from capstan.estimator.canned import heads, linear_logits, sdca_states
from capstan.framework.raw import raw
from capstan.train import hook, steps, summary


class LinearSDCA:
    """An optimizer for `LinearClassifier` and `LinearRegressor` that needs no learning rate.

    Each example has a dual variable, which is found by its id: the string feature
    `example_id_column`. `num_loss_partitions` is the number of workers that train at the same time.
    The dual variables are in `num_table_shards` tables. The penalties of the weights are
    `symmetric_l1_regularization * |w|` and `symmetric_l2_regularization * w**2 / 2`, for the whole
    data. If `adaptive`, a step visits examples with large errors more often.

    Raises:
        ValueError: `symmetric_l2_regularization` is not positive, or the other is negative.
    """

    def __init__(
        self,
        example_id_column: str,
        num_loss_partitions: int = 1,
        num_table_shards: int | None = None,
        symmetric_l1_regularization: float = 0.0,
        symmetric_l2_regularization: float = 1.0,
        adaptive: bool = False,
    ) -> None:
        if symmetric_l2_regularization <= 0.0:
            raise ValueError("symmetric_l2_regularization should be positive.")
        if symmetric_l2_regularization <= 1.0:
            logging.warning(
                "symmetric_l2_regularization for SDCA should typically be larger than for online "
                "optimization methods. Recommended value is of the order of the average L2 norm of "
                "the training examples."
            )
        if symmetric_l1_regularization < 0.0:
            raise ValueError("symmetric_l1_regularization should be non-negative.")
        self.example_id_column = example_id_column
        self.num_shards = num_table_shards or 1
        self.l1, self.l2 = symmetric_l1_regularization, symmetric_l2_regularization
        self.attributes = {
            "l1": symmetric_l1_regularization,
            "l2": symmetric_l2_regularization,
            "num_loss_partitions": num_loss_partitions,
            "num_inner_iterations": 1,
            "adaptive": adaptive,
        }


def check(optimizer: Any, dimension: int, sparse_combiner: str) -> None:
    """Check that a model with `dimension` logits fits an optimizer.

    Raises:
        ValueError: the optimizer is LinearSDCA, and there are more logits than one, or ids are not
            summed.
    """
    if not isinstance(optimizer, LinearSDCA):
        return
    if sparse_combiner != "sum":
        raise ValueError("sparse_combiner must be 'sum' when optimizer is a LinearSDCA object.")
    if dimension != 1:
        raise ValueError("LinearSDCA can only be used with one logit: two classes, or one label.")


def spec(
    optimizer: LinearSDCA,
    head: Any,
    features: Mapping[str, Any],
    labels: Any,
    mode: str,
    feature_columns: Sequence[Any],
) -> Any:
    """Return the EstimatorSpec of a linear model.

    Raises:
        ValueError: the head has another loss than those of classes or squared errors.
    """
    if isinstance(head, heads.BinaryClassHead):
        loss = "logistic_loss"
    elif type(head) is heads.RegressionHead:
        loss = "squared_loss"
    else:
        raise ValueError(f"Unsupported head type: {head}")
    logits, by_column, bias = linear_logits.weighted_sum(features, 1, feature_columns, "sum")
    given = {"features": features, "mode": mode, "labels": labels, "logits": logits}
    if mode != mode_keys.ModeKeys.TRAIN:
        return head.create_estimator_spec(**given)
    column = head._weight_column
    weight_key = column if column is None or isinstance(column, str) else column.key
    train_op, update = step(optimizer, features, labels, weight_key, loss, by_column, bias)
    built = head.create_estimator_spec(**given, train_op_fn=lambda _: train_op)
    return built._replace(training_chief_hooks=(*built.training_chief_hooks, update))


def step(
    optimizer: LinearSDCA,
    features: Mapping[str, Any],
    labels: Any,
    weight_key: str | None,
    loss: str,
    by_column: Mapping[Any, Any],
    bias: Any,
) -> tuple[Any, hook.SessionRunHook]:
    """Return the operation that visits the examples of a batch, and a hook of the chief.

    The hook sets the weights of the model. `loss` is a name of a loss of the operation
    SdcaOptimizerV2. `by_column` and `bias` are those of `linear_logits.weighted_sum`.
    """
    problem = _Problem(optimizer, features, by_column, bias)
    train_op = problem.train_op(labels, weight_key, loss)
    return train_op, _UpdateWeightsHook(problem, train_op)


class _Problem:
    """The features of a batch, and the weights with the variables that the l1 penalty spares.

    Penalized weights are those of the model. They follow from the others.
    """

    def __init__(
        self, optimizer: LinearSDCA, features: Mapping[str, Any], by_column: Any, bias: Any
    ) -> None:
        self._optimizer, self._features = optimizer, features
        self._sparse: list[tuple[Any, Any]] = []
        self._dense: list[tuple[Any, Any]] = []
        batch = kinds.Features(features)
        for column in sorted(by_column, key=lambda each: each.name):
            (weights,) = by_column[column]
            if isinstance(column, kinds.CategoricalColumn):
                self._sparse.append((_unique(column.sparse_tensors(batch)), weights))
            else:
                self._dense.append((_matrix(column, batch), weights))
        self._bias = bias[0]
        self._slots: dict[Any, Any] = {}
        for _, weights in (*self._sparse, *self._dense, (None, self._bias)):
            with context.device(weights.device):
                self._slots[weights.op.name] = variables.Variable(
                    raw.Fill(weights.shape.as_list(), 0.0), name=f"{weights.op.name}_unshrunk"
                )
        self._states = sdca_states.ExampleStates(optimizer.num_shards)

    def train_op(self, labels: Any, weight_key: str | None, loss: str) -> Any:
        """Return the operation that visits the examples of a batch."""
        labels = math_ops.cast(raw.Reshape(labels, [-1]), dtypes.float32)
        ones = raw.OnesLike(labels)
        weights = ones if weight_key is None else raw.Reshape(self._features[weight_key], [-1])
        ids = raw.Reshape(self._features[self._optimizer.example_id_column], [-1])
        dense = [*self._dense, (raw.ExpandDims(ones, 1), self._bias)]
        slots = [self._slots[held.op.name] for _, held in self._sparse]
        dense_slots = [self._slots[held.op.name] for _, held in dense]
        places = [array_ops.unique(part.features)[0] for part, _ in self._sparse]
        result = raw.SdcaOptimizerV2(
            [part.examples for part, _ in self._sparse],
            [part.features for part, _ in self._sparse],
            [part.values for part, _ in self._sparse],
            [matrix for matrix, _ in dense],
            weights,
            labels,
            places,
            [raw.GatherV2(slot, place, 0) for slot, place in zip(slots, places, strict=True)],
            dense_slots,
            self._states.lookup(ids),
            loss_type=loss,
            **self._optimizer.attributes,
        )
        state, sparse_changes, dense_changes = result
        changes = [self._states.insert(ids, state)]
        for slot, place, change in zip(slots, places, sparse_changes, strict=True):
            changes.append(state_ops.scatter_add(slot, place, change))
        for slot, change in zip(dense_slots, dense_changes, strict=True):
            changes.append(state_ops.assign_add(slot, change))
        self._summarize()
        with context.control_dependencies(changes):
            return steps.get_global_step().assign_add(1).op

    def update_weights(self, train_op: Any) -> Any:
        """Return an operation that sets the weights of the model after `train_op`."""
        updates = []
        shrinkage = self._optimizer.l1 / self._optimizer.l2
        for weights in self._weights():
            with context.control_dependencies([train_op]):
                moved = array_ops.identity(self._slots[weights.op.name])
                if shrinkage:
                    moved = raw.Sign(moved) * raw.Maximum(raw.Abs(moved) - shrinkage, 0.0)
                updates.append(state_ops.assign(weights, moved))
        return control_flow_ops.group(*updates)

    def _weights(self) -> list[Any]:
        return [held for _, held in (*self._sparse, *self._dense)] + [self._bias]

    def _summarize(self) -> None:
        """Add the summaries of the duality gap, which is 0 at the optimum, and of the examples."""
        _, primal, dual, total = array_ops.unstack(self._states.sums(), 4)
        wide = [math_ops.cast(weights, dtypes.float64) for weights in self._weights()]
        l1 = self._optimizer.l1 * math_ops.add_n(
            [reduce_ops.reduce_sum(raw.Abs(each)) for each in wide]
        )
        l2 = self._optimizer.l2 * math_ops.add_n(
            [reduce_ops.reduce_sum(raw.Square(each)) for each in wide]
        )
        # Twice half the sum of squares.
        summary.scalar("approximate_duality_gap", (primal + dual + l1 + l2) / total)
        summary.scalar("examples_seen", self._states.size())


class _SparseFeatures:
    """The ids of a batch: vectors of examples, ids and values. An example has each id once."""

    def __init__(self, examples: Any, features: Any, values: Any) -> None:
        self.examples, self.features, self.values = examples, features, values


def _unique(pair: kinds.IdWeightPair) -> _SparseFeatures:
    """Return the ids of a batch, without negative ones. Values of one id are summed."""
    ids, shares = pair
    features = raw.Reshape(math_ops.cast(ids.values, dtypes.int64), [-1])
    examples = raw.Reshape(ids.indices[:, 0], [-1])
    values = raw.Fill([array_ops.size(features)], 1.0) if shares is None else shares.values
    places = raw.Reshape(raw.Where(raw.GreaterEqual(features, 0)), [-1])
    features, examples, values = (
        raw.GatherV2(each, places, 0) for each in (features, examples, values)
    )
    # A number for each pair of an example and an id. A batch without ids has the greatest id 0.
    limit = reduce_ops.reduce_max(array_ops.concat([features, [0]], 0)) + 1
    pairs, numbers = array_ops.unique(examples * limit + features)
    count = array_ops.size(pairs)
    rows = raw.FloorDiv(pairs, limit)
    sums = raw.UnsortedSegmentSum(values, numbers, count)
    return _SparseFeatures(rows, pairs - rows * limit, sums)


def _matrix(column: Any, batch: kinds.Features) -> Any:
    if not isinstance(column, kinds.DenseColumn):
        raise ValueError(f"LinearSDCA does not support column type {type(column).__name__}.")
    if len(column.variable_shape) != 1:
        raise ValueError(
            f"Column {type(column).__name__} has rank {len(column.variable_shape)}, larger than 1."
        )
    return column.dense_tensor(batch, None, True)


class _UpdateWeightsHook(hook.SessionRunHook):
    """Lets the chief set the weights of the model in each step."""

    def __init__(self, problem: _Problem, train_op: Any) -> None:
        self._problem, self._train_op = problem, train_op

    def begin(self) -> None:
        self._update = self._problem.update_weights(self._train_op)

    def before_run(self, run_context: hook.SessionRunContext) -> hook.SessionRunArgs:
        return hook.SessionRunArgs(self._update)
