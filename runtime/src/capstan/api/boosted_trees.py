"""The trees of a model, and the boundaries of its buckets (python/ops/boosted_trees_ops.py)."""

from collections.abc import Sequence
from typing import Any, ClassVar

from capstan.api import resources
from capstan.framework import collections, saveable
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


class PruningMode:
    """The numbers of the ways to prune a tree."""

    NO_PRUNING: ClassVar[int] = 0
    PRE_PRUNING: ClassVar[int] = 1
    POST_PRUNING: ClassVar[int] = 2

    @classmethod
    def from_str(cls, mode: str) -> int:
        """Return the number of "none", "pre" or "post".

        Raises:
            ValueError: the mode is another one.
        """
        numbers = {
            "none": cls.NO_PRUNING, "post": cls.POST_PRUNING, "pre": cls.PRE_PRUNING,
        }  # fmt: skip
        if mode not in numbers:
            raise ValueError(f"pruning_mode mode must be one of: {', '.join(numbers)}")
        return numbers[mode]


class TreeEnsemble:
    """The trees of a model. Savers save them, unless `is_local`.

    A local ensemble is a copy that one worker has. `name` is the name of the handle's operation,
    below the current scope. It ends in "/" if it is a scope that exists.
    """

    def __init__(
        self,
        name: str,
        stamp_token: int = 0,
        is_local: bool = False,
        serialized_proto: bytes | str = "",
    ) -> None:
        graph = graphs.get_default_graph()
        with graph.name_scope(name or "TreeEnsemble") as scope:
            self.resource_handle = raw.BoostedTreesEnsembleResourceHandleOp(
                shared_name=scope, name=scope
            )
            self.initializer = raw.BoostedTreesCreateEnsemble(
                self.resource_handle, stamp_token, serialized_proto
            )
            exists = self.is_initialized()
            if not is_local:
                saved = _TreesSaveable(self)
                graph.add_to_collection(collections.GraphKeys.SAVEABLE_OBJECTS, saved)
        resources.register_resource(
            self.resource_handle, self.initializer, exists, is_shared=not is_local
        )

    def is_initialized(self) -> Any:
        return raw.IsBoostedTreesEnsembleInitialized(self.resource_handle)

    def get_stamp_token(self) -> Any:
        """Return the number of changes of the trees."""
        return raw.BoostedTreesGetEnsembleStates(self.resource_handle).stamp_token

    def get_states(self) -> tuple[Any, Any, Any, Any, Any]:
        """Return the stamp, the numbers of trees, of final trees and of layers, and a range.

        The layers are those that were attempted. The range has the numbers of the nodes that the
        next layer splits.
        """
        states = raw.BoostedTreesGetEnsembleStates(self.resource_handle)
        stamp, trees, final, layers, nodes = (
            raw.Identity(state, name=name)
            for state, name in zip(
                states,
                (
                    *("stamp_token", "num_trees", "num_finalized_trees"),
                    *("num_attempted_layers", "last_layer_nodes_range"),
                ),
                strict=True,
            )
        )
        return stamp, trees, final, layers, nodes

    def serialize(self) -> Any:
        """Return the stamp and a serialized TreeEnsemble."""
        return raw.BoostedTreesSerializeEnsemble(self.resource_handle)

    def deserialize(self, stamp_token: Any, serialized_proto: Any) -> graphs.Operation:
        """Return an operation that replaces the trees."""
        restore: graphs.Operation = raw.BoostedTreesDeserializeEnsemble(
            self.resource_handle, stamp_token, serialized_proto
        )
        return restore


class _TreesSaveable(saveable.SaveableObject):
    def __init__(self, ensemble: TreeEnsemble) -> None:
        handle = ensemble.resource_handle
        specs = [
            saveable.SaveSpec(tensor, "", f"{handle.name}_{part}", device=handle.device)
            for tensor, part in zip(ensemble.serialize(), ("stamp", "serialized"), strict=True)
        ]
        super().__init__(handle, specs, handle.name)
        self._ensemble = ensemble

    def restore(self, restored_tensors: Sequence[graphs.Tensor], restored_shapes: Any) -> Any:
        graph = self.op.graph
        with (
            graph.control_dependencies([self._ensemble.initializer]),
            graph.colocate_with(self.op.op),
        ):
            return self._ensemble.deserialize(*restored_tensors)


class QuantileAccumulator:
    """Streams of numbers, from which the boundaries of buckets follow. Savers save the boundaries.

    There are `num_streams` streams. `epsilon` is the error of a quantile, as a share of the weight.
    """

    def __init__(
        self, epsilon: float, num_streams: int, num_quantiles: int, name: str | None = None
    ) -> None:
        self._epsilon, self._num_streams, self._num_quantiles = epsilon, num_streams, num_quantiles
        graph = graphs.get_default_graph()
        with graph.name_scope(name or "QuantileAccumulator") as scope:
            self.resource_handle = raw.BoostedTreesQuantileStreamResourceHandleOp(
                shared_name=scope, name=scope
            )
            self.initializer = raw.BoostedTreesCreateQuantileStreamResource(
                self.resource_handle, epsilon, num_streams
            )
            exists = self.is_initialized()
        resources.register_resource(self.resource_handle, self.initializer, exists)
        saved = _BoundariesSaveable(self)
        graph.add_to_collection(collections.GraphKeys.SAVEABLE_OBJECTS, saved)

    def is_initialized(self) -> Any:
        return raw.IsBoostedTreesQuantileStreamResourceInitialized(self.resource_handle)

    def add_summaries(self, float_columns: Sequence[Any], example_weights: Any) -> graphs.Operation:
        """Return an operation that adds a batch: a vector for each stream, and the weights."""
        summaries = raw.BoostedTreesMakeQuantileSummaries(
            float_columns, example_weights, self._epsilon
        )
        added: graphs.Operation = raw.BoostedTreesQuantileStreamResourceAddSummaries(
            self.resource_handle, summaries
        )
        return added

    def flush(self) -> graphs.Operation:
        """Return an operation that computes the boundaries and empties the streams."""
        flushed: graphs.Operation = raw.BoostedTreesQuantileStreamResourceFlush(
            self.resource_handle, self._num_quantiles
        )
        return flushed

    def get_bucket_boundaries(self) -> Any:
        """Return the boundaries of each stream. There are none before the first flush."""
        return raw.BoostedTreesQuantileStreamResourceGetBucketBoundaries(
            self.resource_handle, num_features=self._num_streams
        )

    def restore_boundaries(self, boundaries: Sequence[Any]) -> graphs.Operation:
        """Return an operation that sets the boundaries of each stream."""
        restored: graphs.Operation = raw.BoostedTreesQuantileStreamResourceDeserialize(
            self.resource_handle, boundaries
        )
        return restored


class _BoundariesSaveable(saveable.SaveableObject):
    def __init__(self, accumulator: QuantileAccumulator) -> None:
        handle = accumulator.resource_handle
        specs = [
            saveable.SaveSpec(
                boundaries, "", f"{handle.name}_bucket_boundaries_{index}", device=handle.device
            )
            for index, boundaries in enumerate(accumulator.get_bucket_boundaries())
        ]
        super().__init__(handle, specs, handle.name)
        self._accumulator = accumulator

    def restore(self, restored_tensors: Sequence[graphs.Tensor], restored_shapes: Any) -> Any:
        graph = self.op.graph
        with (
            graph.control_dependencies([self._accumulator.initializer]),
            graph.colocate_with(self.op.op),
        ):
            return self._accumulator.restore_boundaries(restored_tensors)
