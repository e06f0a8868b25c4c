"""The operations with which a step of boosted trees collects statistics and grows the trees.

With several batches for a layer, accumulators on the parameter servers collect the statistics of
all workers. The chief grows the trees when there are enough. With all data in one batch, each step
grows a layer. Source: tensorflow_estimator/python/estimator/canned/boosted_trees.py.
"""

import abc
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from capstan.api import (
    accumulators,
    array_ops,
    boosted_trees,
    cond_ops,
    context,
    control_flow_ops,
    reduce_ops,
)
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw


class TreeOptions(NamedTuple):
    """The arguments of a model that its trees depend on."""

    n_trees: int
    max_depth: int
    learning_rate: float
    l1: float
    l2: float
    tree_complexity: float
    min_node_weight: float
    center_bias: bool
    pruning_mode: str
    quantile_sketch_epsilon: float

    @property
    def max_splits(self) -> int:
        """The greatest number of splits of a tree."""
        return (1 << self.max_depth) - 1


class Grower(abc.ABC):
    """Grows the trees from the statistics of batches.

    `features` has the numbers of the features in each group with one number of buckets.

    Raises:
        ValueError: the pruning mode is unknown, or does not fit the complexity of a tree.
    """

    def __init__(
        self,
        ensemble: boosted_trees.TreeEnsemble,
        quantiles: boosted_trees.QuantileAccumulator | None,
        options: TreeOptions,
        features: Sequence[Sequence[int]],
    ) -> None:
        self._ensemble, self._quantiles, self._options = ensemble, quantiles, options
        self._features = features
        self._pruning = boosted_trees.PruningMode.from_str(options.pruning_mode)
        is_pruned = self._pruning != boosted_trees.PruningMode.NO_PRUNING
        if options.tree_complexity > 0 and not is_pruned:
            raise ValueError("Tree complexity have no effect unless pruning mode is chosen.")
        if options.tree_complexity <= 0 and is_pruned:
            raise ValueError("For pruning, tree_complexity must be positive.")

    @abc.abstractmethod
    def accumulate_quantiles(self, numbers: Sequence[Any], weights: Any, ready: Any) -> Any:
        """Return an operation that adds numbers, and sets the variable `ready` at their end."""

    @abc.abstractmethod
    def center_bias(self, needed: Any, gradients: Any, hessians: Any) -> Any:
        """Return an operation that moves the bias, and sets the variable `needed`."""

    @abc.abstractmethod
    def grow(self, stats: Sequence[Sequence[Any]], nodes: Any) -> Any:
        """Return an operation that splits `nodes` by the statistics of each group of features."""

    def chief_init_op(self) -> Any:
        """Return an operation that a chief runs before its first step."""
        return control_flow_ops.no_op()

    def _center(self, needed: Any, gradients: Any, hessians: Any) -> tuple[Any, Any]:
        """Return whether the bias must move again, and the operation that notes this."""
        continues = raw.BoostedTreesCenterBias(
            self._ensemble.resource_handle,
            gradients,
            hessians,
            self._options.l1,
            self._options.l2,
        )
        return continues, needed.assign(continues).op

    def _split(self, stats: Sequence[Sequence[Any]], nodes: Any) -> Any:
        options = self._options
        columns = [
            raw.BoostedTreesCalculateBestGainsPerFeature(
                nodes,
                group,
                options.l1,
                options.l2,
                options.tree_complexity,
                options.min_node_weight,
                max_splits=options.max_splits,
            )
            for group in stats
        ]
        splits = ([each for part in parts for each in part] for parts in zip(*columns, strict=True))
        return raw.BoostedTreesUpdateEnsemble(
            self._ensemble.resource_handle,
            [feature for group in self._features for feature in group],
            *splits,
            options.max_depth,
            options.learning_rate,
            pruning_mode=self._pruning,
        )


class InMemoryGrower(Grower):
    """Grows a layer in each step, from a batch with all examples."""

    def accumulate_quantiles(self, numbers: Sequence[Any], weights: Any, ready: Any) -> Any:
        assert self._quantiles is not None
        with context.control_dependencies([self._quantiles.add_summaries(numbers, weights)]):
            flush = self._quantiles.flush()
        with context.control_dependencies([flush]):
            return ready.assign(True).op

    def center_bias(self, needed: Any, gradients: Any, hessians: Any) -> Any:
        means = (reduce_ops.reduce_mean(each, 0, keepdims=True) for each in (gradients, hessians))
        _, noted = self._center(needed, *means)
        return noted

    def grow(self, stats: Sequence[Sequence[Any]], nodes: Any) -> Any:
        return self._split(stats, nodes)


class AccumulatorGrower(Grower):
    """Collects the statistics of `n_batches_per_layer` batches of all workers for each layer.

    `stamp` is the number of changes of the trees that a worker has seen. The accumulators drop the
    statistics of older trees. `buckets` has the number of buckets in each group of features.
    """

    def __init__(
        self,
        ensemble: boosted_trees.TreeEnsemble,
        quantiles: boosted_trees.QuantileAccumulator | None,
        options: TreeOptions,
        features: Sequence[Sequence[int]],
        stamp: Any,
        n_batches_per_layer: Any,
        buckets: Sequence[int],
        *,
        is_chief: bool,
    ) -> None:
        super().__init__(ensemble, quantiles, options, features)
        self._stamp, self._batches, self._is_chief = stamp, n_batches_per_layer, is_chief
        self._stats = [
            _accumulator(
                (len(group), options.max_splits, size, 2),
                f"numeric_stats_summary_accumulator_{index}",
            )
            for index, (group, size) in enumerate(zip(features, buckets, strict=True))
        ]
        self._bias = _accumulator((2, 1), "bias_accumulator") if options.center_bias else None
        self._counter = _accumulator((), "quantile_summary_accum")
        begun = [*self._stats, self._counter] + ([self._bias] if self._bias else [])
        self._chief_init = [each.set_global_step(stamp) for each in begun]

    def chief_init_op(self) -> Any:
        return control_flow_ops.group(*self._chief_init)

    def accumulate_quantiles(self, numbers: Sequence[Any], weights: Any, ready: Any) -> Any:
        assert self._quantiles is not None
        quantiles, counter = self._quantiles, self._counter
        # The counter must not see a batch before the streams have it.
        with context.control_dependencies([quantiles.add_summaries(numbers, weights)]):
            added = counter.apply_grad(convert.constant(0.0), self._stamp)
        if not self._is_chief:
            return added

        def flush() -> Any:
            with context.control_dependencies([counter.take_grad(1)]):
                flushed = quantiles.flush()
            with context.control_dependencies([flushed]):
                return control_flow_ops.group(ready.assign(True).op)

        with context.control_dependencies([added]):
            return self._when_enough(counter.num_accumulated(), flush)

    def center_bias(self, needed: Any, gradients: Any, hessians: Any) -> Any:
        bias = self._bias
        assert bias is not None
        means = reduce_ops.reduce_mean(array_ops.stack([gradients, hessians]), axis=1)
        with context.control_dependencies([bias.apply_grad(means, self._stamp)]):
            if not self._is_chief:
                return control_flow_ops.no_op()

            def begin_trees() -> Any:
                step = self._stamp + 1
                return control_flow_ops.group(*(each.set_global_step(step) for each in self._stats))

            def center() -> Any:
                taken = array_ops.split(bias.take_grad(1), 2)
                continues, noted = self._center(needed, *taken)
                with context.control_dependencies([noted]):
                    return cond_ops.cond(continues, control_flow_ops.no_op, begin_trees)

            return self._when_enough(bias.num_accumulated(), center)

    def grow(self, stats: Sequence[Sequence[Any]], nodes: Any) -> Any:
        applied = [
            accumulator.apply_grad(array_ops.stack(group), self._stamp)
            for accumulator, group in zip(self._stats, stats, strict=True)
        ]
        with context.control_dependencies(applied):
            if not self._is_chief:
                return control_flow_ops.no_op()
            counts = array_ops.stack([each.num_accumulated() for each in self._stats])

            def split() -> Any:
                taken = [array_ops.unstack(each.take_grad(1)) for each in self._stats]
                return self._split(taken, nodes)

            return self._when_enough(reduce_ops.reduce_min(counts), split)

    def _when_enough(self, count: Any, act: Callable[[], Any]) -> Any:
        """Return an operation that acts if `count` batches are enough for a layer."""
        enough = raw.GreaterEqual(count, self._batches)
        return cond_ops.cond(enough, act, control_flow_ops.no_op)


def _accumulator(shape: Sequence[int], name: str) -> accumulators.ConditionalAccumulator:
    return accumulators.ConditionalAccumulator(dtypes.float32, shape, shared_name=name)
