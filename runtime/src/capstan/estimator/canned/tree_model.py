"""The graphs of boosted trees: training, and the logits of examples for the other modes.

Source: tensorflow_estimator/python/estimator/canned/boosted_trees.py.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from capstan.api import (
    array_ops,
    boosted_trees,
    cond_ops,
    context,
    control_flow_ops,
    variables,
)
from capstan.core import tensor_shape
from capstan.estimator import estimator_spec, mode_keys
from capstan.estimator.canned import tree_features, tree_growers
from capstan.framework import collections, gradients
from capstan.framework import graph as graphs
from capstan.framework.raw import raw
from capstan.train import hook, steps, summary

_TRAIN = mode_keys.ModeKeys.TRAIN
_NO_NODE = -1

Derivatives = Callable[[Any, Any], tuple[Any, Any]]
"""Returns the gradients and hessians of the loss from logits and labels."""


@dataclass(frozen=True)
class TreeModel:
    """What a model of boosted trees is made of."""

    head: Any
    columns: tree_features.TreeColumns
    options: tree_growers.TreeOptions
    n_batches_per_layer: Any
    derivatives: Derivatives | None = None
    weight_column: Any = None
    train_in_memory: bool = False

    def model_fn(self, features: Any, labels: Any, mode: str, config: Any) -> Any:
        """Build the model of an Estimator."""
        with graphs.get_default_graph().name_scope("boosted_trees") as scope:
            parts = self.parts(features, scope)
            if mode == _TRAIN:
                return self._training(parts, features, labels, config, scope)
            return self.head.create_estimator_spec(
                features=features,
                mode=mode,
                labels=labels,
                train_op_fn=lambda _: control_flow_ops.no_op(),
                logits=parts.logits(self.head.logits_dimension),
            )

    def parts(self, features: Mapping[str, Any], scope: str) -> "Parts":
        """Return the trees, and the buckets of a batch."""
        ensemble = boosted_trees.TreeEnsemble(scope)
        if not self.columns.numeric:
            return Parts(ensemble, None, [], self.columns.buckets(features, [], []))
        eps = self.options.quantile_sketch_epsilon
        quantiles = boosted_trees.QuantileAccumulator(
            eps, self.columns.stream_count, self._num_quantiles, "QuantileAccumulator"
        )
        numbers = self.columns.numbers(features)
        boundaries = quantiles.get_bucket_boundaries()
        buckets = self.columns.buckets(features, numbers, boundaries)
        return Parts(ensemble, quantiles, numbers, buckets)

    @property
    def _num_quantiles(self) -> int:
        return int(1.0 / self.options.quantile_sketch_epsilon)

    def _training(
        self, parts: "Parts", features: Any, labels: Any, config: Any, scope: str
    ) -> estimator_spec.EstimatorSpec:
        self._check(config)
        dimension, options = self.head.logits_dimension, self.options
        ready = _variable(parts.quantiles is None, "are_boundaries_ready")
        batch_size = raw.Shape(labels)[0]
        no_states = (
            raw.Fill([batch_size], 0),
            raw.Fill([batch_size], _NO_NODE),
            raw.Fill([batch_size, dimension], 0.0),
        )
        cache = _Cache(dimension) if self.train_in_memory else None
        cached = cache.read(no_states) if cache else no_states
        seen, loaded = _copied(parts.ensemble, config, scope)
        with context.control_dependencies(loaded):
            states = seen.get_states()
            stamp, trees, finalized, layers, nodes_of_layer = states
            partial, tree_ids, node_ids = raw.BoostedTreesTrainingPredict(
                seen.resource_handle,
                *cached[:2],
                parts.buckets,
                logits_dimension=dimension,
            )
        logits = cached[2] + partial
        grower = self._grower(parts, stamp, is_chief=config.is_chief)
        for name, value in (
            *(("num_trees", trees), ("num_finalized_trees", finalized)),
            ("num_attempted_layers", layers),
        ):
            summary.scalar(f"ensemble/{name}", value)
        needs_bias = _variable(options.center_bias, "center_bias_needed")
        weights = tree_features.weights(features, self.weight_column)

        def train_op(loss: Any) -> Any:
            slopes, curves = self._derivatives(loss, logits, labels)

            def grow() -> Any:
                changes = []
                if cache:
                    changes.append(cache.write(needs_bias, tree_ids, node_ids, logits))
                stats = self._stats(parts.buckets, node_ids, slopes, curves)
                if options.center_bias:
                    update = cond_ops.cond(
                        needs_bias.value(),
                        lambda: grower.center_bias(needs_bias, slopes, curves),
                        lambda: grower.grow(stats, nodes_of_layer),
                    )
                else:
                    update = grower.grow(stats, nodes_of_layer)
                with context.control_dependencies([update]):
                    step = steps.get_global_step().assign_add(1)
                return control_flow_ops.group(*changes, update, step.op)

            if parts.quantiles is None:
                return grow()
            with context.name_scope("UpdateQuantile"):
                return cond_ops.cond(
                    ready.value(),
                    grow,
                    lambda: grower.accumulate_quantiles(parts.numbers, weights, ready),
                )

        spec: estimator_spec.EstimatorSpec = self.head.create_estimator_spec(
            features=features, mode=_TRAIN, labels=labels, train_op_fn=train_op, logits=logits
        )
        stop = _StopAtAttemptsHook(finalized, layers, options.n_trees, options.max_depth)
        return spec._replace(
            training_hooks=(*spec.training_hooks, stop),
            training_chief_hooks=(
                _InitializerHook(grower.chief_init_op()),
                *spec.training_chief_hooks,
            ),
        )

    def _grower(self, parts: "Parts", stamp: Any, *, is_chief: bool) -> Any:
        """Return the object that lets trees grow, from one batch or from several."""
        sizes, groups = self.columns.groups(self._num_quantiles)
        given = parts.ensemble, parts.quantiles, self.options, groups
        if self.train_in_memory:
            return tree_growers.InMemoryGrower(*given)
        return tree_growers.AccumulatorGrower(
            *given, stamp, self.n_batches_per_layer, sizes, is_chief=is_chief
        )

    def _check(self, config: Any) -> None:
        if not self.train_in_memory:
            return
        if self.n_batches_per_layer != 1:
            raise AssertionError(
                "When train_in_memory is enabled, input_fn should return the entire dataset as a "
                "single batch, and n_batches_per_layer should be set as 1."
            )
        if not config.is_chief or config.num_worker_replicas > 1 or config.num_ps_replicas > 0:
            raise ValueError("train_in_memory is supported only for non-distributed training.")

    def _derivatives(self, loss: Any, logits: Any, labels: Any) -> tuple[Any, Any]:
        if self.derivatives is not None:
            return self.derivatives(logits, labels)
        slopes = gradients.gradients(loss, logits, name="Gradients")[0]
        return slopes, gradients.gradients(slopes, logits, name="Hessians")[0]

    def _stats(self, buckets: Any, node_ids: Any, slopes: Any, curves: Any) -> list[list[Any]]:
        """Return the statistics of each feature in each group of features."""
        return [
            array_ops.unstack(
                raw.BoostedTreesMakeStatsSummary(
                    node_ids,
                    slopes,
                    curves,
                    [buckets[feature] for feature in group],
                    max_splits=self.options.max_splits,
                    num_buckets=size,
                )
            )
            for size, group in zip(*self.columns.groups(self._num_quantiles), strict=True)
        ]


class Parts(NamedTuple):
    """The trees of a model, the streams of its numbers, and the features of a batch."""

    ensemble: boosted_trees.TreeEnsemble
    quantiles: boosted_trees.QuantileAccumulator | None
    numbers: list[Any]
    buckets: list[Any]

    def logits(self, dimension: int) -> Any:
        return raw.BoostedTreesPredict(
            self.ensemble.resource_handle, self.buckets, logits_dimension=dimension
        )


class _Cache:
    """The tree, node and logits of each example after the step before.

    They are empty before the first step: their initial values must not read the data, because the
    input may begin after the variables have their values. Checkpoints do not have them.
    """

    def __init__(self, dimension: int) -> None:
        ids, logits = raw.Fill([0], 0), raw.Fill([0, dimension], 0.0)
        self._variables = [
            _variable(
                _of_any_shape(value), f"{name}_cache", [collections.GraphKeys.LOCAL_VARIABLES]
            )
            for name, value in (("tree_ids", ids), ("node_ids", ids), ("logits", logits))
        ]

    def read(self, no_states: Sequence[Any]) -> list[Any]:
        """Return the states, or `no_states` in the first step of a session."""
        held = [variable.value() for variable in self._variables]
        is_new = raw.Equal(array_ops.size(held[0]), 0)
        states: list[Any] = cond_ops.cond(is_new, lambda: list(no_states), lambda: held)
        for state, new in zip(states, no_states, strict=True):
            state.set_shape(new.shape)
        return states

    def write(self, needs_bias: Any, *states: Any) -> Any:
        """Return an operation that keeps the states, unless the bias still moves."""

        def keep() -> Any:
            pairs = zip(self._variables, states, strict=True)
            return control_flow_ops.group(*(kept.assign(state).op for kept, state in pairs))

        return cond_ops.cond(needs_bias.value(), control_flow_ops.no_op, keep)


def _of_any_shape(value: Any) -> Any:
    return raw.PlaceholderWithDefault(value, shape=tensor_shape.TensorShape(None))


def _variable(value: Any, name: str, keys: Sequence[str] | None = None) -> Any:
    return variables.Variable(
        value,
        trainable=False,
        collections=keys,
        validate_shape=False,
        name=name,
        use_resource=True,
    )


def _copied(
    ensemble: boosted_trees.TreeEnsemble, config: Any, scope: str
) -> tuple[boosted_trees.TreeEnsemble, list[Any]]:
    """Return the trees as a worker sees them in a step, and the operations that read them.

    Several workers each have a copy, so that the trees do not grow in the middle of a step.
    """
    if config.num_worker_replicas <= 1:
        return ensemble, []
    with context.device(control_flow_ops.no_op().device):
        copy = boosted_trees.TreeEnsemble(f"{scope}_local", is_local=True)
    return copy, [copy.deserialize(*ensemble.serialize())]


class _StopAtAttemptsHook(hook.SessionRunHook):
    """Stops when there are enough trees, or if twice as many layers did not suffice."""

    def __init__(self, finalized: Any, layers: Any, n_trees: int, max_depth: int) -> None:
        self._fetches = [finalized, layers]
        self._n_trees, self._n_layers = n_trees, 2 * n_trees * max_depth

    def before_run(self, run_context: hook.SessionRunContext) -> hook.SessionRunArgs:
        return hook.SessionRunArgs(self._fetches)

    def after_run(self, run_context: hook.SessionRunContext, run_values: Any) -> None:
        finalized, layers = run_values.results
        # The step read the numbers before it changed them.
        if finalized >= self._n_trees - 1 or layers > self._n_layers - 1:
            finalized, layers = run_context.session.run(self._fetches)
        if finalized >= self._n_trees or layers > self._n_layers:
            run_context.request_stop()


class _InitializerHook(hook.SessionRunHook):
    """Runs an operation in each new session."""

    def __init__(self, init_op: Any) -> None:
        self._init_op = init_op

    def after_create_session(self, session: Any, coord: Any) -> None:
        session.run(self._init_op)
