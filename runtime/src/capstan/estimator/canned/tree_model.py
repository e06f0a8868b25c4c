"""The graphs of boosted trees: training, and the logits of examples for the other modes.

Source: tensorflow_estimator/python/estimator/canned/boosted_trees.py.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from capstan.api import (
    array_ops,
    boosted_trees,
    cond_ops,
    context,
    control_flow_ops,
)
from capstan.estimator import estimator_spec, mode_keys
from capstan.estimator.canned import tree_cache, tree_features, tree_growers
from capstan.framework import gradients
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

    @property
    def groups(self) -> tuple[list[int], list[list[int]]]:
        """The numbers of buckets of the groups of features, and the features of each group."""
        return self.columns.groups(self._num_quantiles)

    def _training(
        self, parts: "Parts", features: Any, labels: Any, config: Any, scope: str
    ) -> estimator_spec.EstimatorSpec:
        self._check(config)
        dimension, options = self.head.logits_dimension, self.options
        ready = tree_cache.variable(parts.quantiles is None, "are_boundaries_ready")
        batch_size = raw.Shape(labels)[0]
        no_states = (
            raw.Fill([batch_size], 0),
            raw.Fill([batch_size], _NO_NODE),
            raw.Fill([batch_size, dimension], 0.0),
        )
        cache = tree_cache.Cache(dimension) if self.train_in_memory else None
        cached = cache.read(no_states) if cache else no_states
        seen, loaded = _copied(parts.ensemble, config, scope)
        with context.control_dependencies(loaded):
            stamp, trees, finalized, layers, nodes_of_layer = seen.get_states()
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
        growth = _Growth(
            self,
            parts,
            grower,
            tree_cache.variable(options.center_bias, "center_bias_needed"),
            ready,
            nodes_of_layer,
            (tree_ids, node_ids, logits),
            cache,
        )
        weights = tree_features.weights(features, self.weight_column)
        spec: estimator_spec.EstimatorSpec = self.head.create_estimator_spec(
            features=features,
            mode=_TRAIN,
            labels=labels,
            train_op_fn=lambda loss: growth.train_op(loss, labels, weights),
            logits=logits,
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
        sizes, groups = self.groups
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


@dataclass(frozen=True)
class _Growth:
    """How the trees of a model grow in a step.

    `reached` has the tree, the node and the logits of each example.
    """

    model: TreeModel
    parts: Parts
    grower: Any
    needs_bias: Any
    are_boundaries_ready: Any
    nodes_of_layer: Any
    reached: tuple[Any, Any, Any]
    cache: tree_cache.Cache | None

    def train_op(self, loss: Any, labels: Any, weights: Any) -> Any:
        """Return an operation that grows the trees, once the boundaries of buckets are known."""
        slopes, curves = self._derivatives(loss, self.reached[2], labels)
        if self.parts.quantiles is None:
            return self._grown(slopes, curves)
        ready = self.are_boundaries_ready
        with context.name_scope("UpdateQuantile"):
            return cond_ops.cond(
                ready.value(),
                lambda: self._grown(slopes, curves),
                lambda: self.grower.accumulate_quantiles(self.parts.numbers, weights, ready),
            )

    def _grown(self, slopes: Any, curves: Any) -> Any:
        changes = []
        if self.cache:
            changes.append(self.cache.write(self.needs_bias, *self.reached))
        stats = self._stats(self.parts.buckets, self.reached[1], slopes, curves)
        if self.model.options.center_bias:
            update = cond_ops.cond(
                self.needs_bias.value(),
                lambda: self.grower.center_bias(self.needs_bias, slopes, curves),
                lambda: self.grower.grow(stats, self.nodes_of_layer),
            )
        else:
            update = self.grower.grow(stats, self.nodes_of_layer)
        with context.control_dependencies([update]):
            step = steps.get_global_step().assign_add(1)
        return control_flow_ops.group(*changes, update, step.op)

    def _derivatives(self, loss: Any, logits: Any, labels: Any) -> tuple[Any, Any]:
        if self.model.derivatives is not None:
            return self.model.derivatives(logits, labels)
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
                    max_splits=self.model.options.max_splits,
                    num_buckets=size,
                )
            )
            for size, group in zip(*self.model.groups, strict=True)
        ]


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
