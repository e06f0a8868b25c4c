"""`tf.contrib.linear_optimizer.SdcaModel` (contrib/linear_optimizer/python/ops/sdca_ops.py)."""

from collections.abc import Mapping
from typing import Any

from capstan.api import (
    array_ops,
    context,
    control_flow_ops,
    creation_ops,
    math_ops,
    reduce_ops,
    state_ops,
)
from capstan.api.scoped import scoped
from capstan.contrib.linear_optimizer import primal_weights, sdca_losses, sharded_table
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw
from capstan.train import summary

_GROUPS = ("sparse_features_weights", "dense_features_weights")
_FEATURES = ("sparse_features", "dense_features")
_LEAST_L2 = 1.0
"""The algorithm needs a quadratic penalty. That of the loss may be smaller."""


class SdcaModel:
    """A linear model that stochastic dual coordinate ascent trains, without a learning rate.

    `examples` has the tensors of a batch: `sparse_features`, a list of SparseFeatureColumn;
    `dense_features`, a list of float32 matrices; `example_labels` and `example_weights`, float32
    vectors; and `example_ids`, a vector of strings. `variables` has a list of variables for each of
    the two kinds of features, `sparse_features_weights` and `dense_features_weights`: vectors of
    float32. A list of variables or a PartitionedVariable stands for one vector.

    `options` has `loss_type`: logistic_loss, squared_loss, hinge_loss, smooth_hinge_loss or
    poisson_loss. It also has the penalties of the weights, for the whole data:
    `symmetric_l1_regularization * |w|` and `symmetric_l2_regularization * w**2 / 2`. Optional are
    `num_loss_partitions`, the number of workers that train at the same time, `num_table_shards`,
    the number of the tables of the examples, and `adaptive`, which is True by default: a step
    visits examples with large errors more often. The quadratic penalty of the algorithm is at
    least 1.

    The model adds the summaries `approximate_duality_gap` and `examples_seen`.

    Raises:
        ValueError: an argument has not all these parts, the loss is unknown, or a penalty is
            negative.
    """

    def __init__(
        self, examples: Mapping[str, Any], variables: Mapping[str, Any], options: Mapping[str, Any]
    ) -> None:
        if not examples or not variables or not options:
            raise ValueError("examples, variables and options must all be specified.")
        if options["loss_type"] not in sdca_losses.NAMES:
            raise ValueError(f"Unsupported loss_type: {options['loss_type']}")
        _check(examples, "example_labels", "example_weights", "example_ids")
        _check(examples, lists=_FEATURES)
        _check(variables, lists=_GROUPS)
        _check(options, "symmetric_l1_regularization", "symmetric_l2_regularization")
        for name in ("symmetric_l1_regularization", "symmetric_l2_regularization"):
            if options[name] < 0.0:
                raise ValueError(f"{name} should be non-negative. Found ({options[name]})")
        self._examples, self._options = examples, options
        self._l2 = max(options["symmetric_l2_regularization"], _LEAST_L2)
        self._weights = {
            group: [primal_weights.PrimalWeights(each) for each in variables[group]]
            for group in _GROUPS
        }
        # A fingerprint is neither of the two reserved keys.
        self._states = sharded_table.ShardedMutableDenseHashTable(
            dtypes.int64, dtypes.float32, [0.0] * 4, [0, 0], [1, 1],
            options.get("num_table_shards") or 1,
        )  # fmt: skip
        summary.scalar("approximate_duality_gap", self.approximate_duality_gap())
        summary.scalar("examples_seen", self._states.size())

    def predictions(self, examples: Mapping[str, Any]) -> Any:
        """Return the predictions for examples: sums, or probabilities or exponentials of sums.

        They are probabilities for the logistic loss, and exponentials for the Poisson loss.

        Raises:
            ValueError: `examples` has no weights or features.
        """
        _check(examples, "example_weights", lists=_FEATURES)
        return sdca_losses.prediction(self._options["loss_type"], self._linear(examples))

    def minimize(self, global_step: Any = None, name: str | None = None) -> Any:
        """Return an operation that visits the examples of a batch, and then adds 1 to the step."""
        with scoped(name, "sdca/minimize"):
            groups = self._examples["sparse_features"]
            sparse, dense = (self._weights[group] for group in _GROUPS)
            ids = raw.SdcaFprint(convert.convert_to_tensor(self._examples["example_ids"]))
            features = [array_ops.unique(group.feature_indices)[0] for group in groups]
            states, sparse_changes, dense_changes = raw.SdcaOptimizerV2(
                [group.example_indices for group in groups],
                [group.feature_indices for group in groups],
                [_values(group) for group in groups],
                [_float32(each) for each in self._examples["dense_features"]],
                _float32(self._examples["example_weights"]),
                _float32(self._examples["example_labels"]),
                features,
                [held.gathered(own) for held, own in zip(sparse, features, strict=True)],
                [held.before_penalty() for held in dense],
                self._states.lookup(ids),
                loss_type=self._options["loss_type"],
                l1=self._options["symmetric_l1_regularization"],
                l2=self._l2,
                num_loss_partitions=self._options.get("num_loss_partitions", 1),
                num_inner_iterations=1,
                adaptive=self._options.get("adaptive", True),
            )
            with context.control_dependencies([states]):
                updates = [self._states.insert(ids, states)]
                for held, own, change in zip(sparse, features, sparse_changes, strict=True):
                    updates += held.scattered(own, change)
                for held, change in zip(dense, dense_changes, strict=True):
                    updates += held.added(change)
            if global_step is None:
                return control_flow_ops.group(*updates)
            with context.control_dependencies(updates):
                return state_ops.assign_add(global_step, 1, name=name).op

    def update_weights(self, train_op: Any) -> Any:
        """Return an operation that sets the weights of the model after `train_op`.

        At least one worker, the chief, has to run it.
        """
        shrinkage = self._options["symmetric_l1_regularization"] / self._l2
        with context.control_dependencies([train_op]):
            updates = [each for held in self._every() for each in held.penalized(shrinkage)]
        return control_flow_ops.group(*updates)

    def approximate_duality_gap(self) -> Any:
        """Return a float64 scalar that is 0 at the optimum, or NaN before the first step."""
        with scoped(None, "sdca/approximate_duality_gap"):
            sums: list[Any] = []
            for states in self._states.export_sharded()[1]:
                # One table after the other: the numbers of a large one need much memory.
                with context.device(states.device), context.control_dependencies(sums):
                    sums.append(reduce_ops.reduce_sum(math_ops.cast(states, dtypes.float64), 0))
            _, primal, dual, total = array_ops.unstack(math_ops.add_n(sums), 4)
            return (primal + dual + self._l1_loss() + 2.0 * self._l2_loss(self._l2)) / total

    def unregularized_loss(self, examples: Mapping[str, Any]) -> Any:
        """Return the mean loss of examples, a float64 scalar, without the penalties.

        Raises:
            ValueError: `examples` has no labels, weights or features.
        """
        _check(examples, "example_labels", "example_weights", lists=_FEATURES)
        with scoped(None, "sdca/unregularized_loss"):
            labels, linear, weights = (
                math_ops.cast(each, dtypes.float64)
                for each in (
                    _float32(examples["example_labels"]),
                    self._linear(examples),
                    _float32(examples["example_weights"]),
                )
            )
            return sdca_losses.mean(self._options["loss_type"], labels, linear, weights)

    def regularized_loss(self, examples: Mapping[str, Any]) -> Any:
        """Return the mean loss of examples with the penalties, a float64 scalar.

        Raises:
            ValueError: as `unregularized_loss`.
        """
        loss = self.unregularized_loss(examples)
        with scoped(None, "sdca/regularized_loss"):
            weights = math_ops.cast(_float32(examples["example_weights"]), dtypes.float64)
            penalties = self._l1_loss() + self._l2_loss(
                self._options["symmetric_l2_regularization"]
            )
            return penalties / reduce_ops.reduce_sum(weights) + loss

    def _linear(self, examples: Mapping[str, Any]) -> Any:
        """Return the sum of the weights of each example, a float32 vector."""
        with scoped(None, "sdca/prediction"):
            count = array_ops.size(convert.convert_to_tensor(examples["example_weights"]))
            total = creation_ops.zeros([count], dtypes.float32)
            sparse, dense = (self._weights[group] for group in _GROUPS)
            for held, group in zip(sparse, examples["sparse_features"], strict=True):
                parts = raw.GatherV2(held.value(), group.feature_indices, 0) * _values(group)
                total += raw.UnsortedSegmentSum(parts, group.example_indices, count)
            for held, matrix in zip(dense, examples["dense_features"], strict=True):
                column = raw.ExpandDims(held.value(), 1)
                total += raw.Reshape(math_ops.matmul(_float32(matrix), column), [-1])
            return total

    def _every(self) -> list[primal_weights.PrimalWeights]:
        return [held for group in _GROUPS for held in self._weights[group]]

    def _l1_loss(self) -> Any:
        return self._options["symmetric_l1_regularization"] * self._sum(raw.Abs)

    def _l2_loss(self, l2: float) -> Any:
        return l2 * self._sum(raw.Square) / 2.0

    def _sum(self, function: Any) -> Any:
        """Return the sum of a function of all weights, in float64."""
        sums = []
        for part in (part for held in self._every() for part in held.parts):
            with context.device(part.device):
                wide = math_ops.cast(array_ops.identity(part), dtypes.float64)
                sums.append(reduce_ops.reduce_sum(function(wide)))
        return math_ops.add_n(sums)


def _check(given: Mapping[str, Any], *names: str, lists: tuple[str, ...] = ()) -> None:
    for name in (*names, *lists):
        if given.get(name) is None:
            raise ValueError(f"{name} must be specified.")
    for name in lists:
        if not isinstance(given[name], list):
            raise ValueError(f"{name} must be a list.")  # noqa: TRY004, as in TensorFlow


def _float32(value: Any) -> Any:
    return convert.convert_to_tensor(value, dtypes.float32)


def _values(group: Any) -> Any:
    """Return the values of a group of sparse features, which are 1 without values."""
    if group.feature_values is not None:
        return group.feature_values
    return creation_ops.ones_like(group.feature_indices, dtypes.float32)
