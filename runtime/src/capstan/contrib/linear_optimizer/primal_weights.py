"""The weights of a group of features, with the values that the l1 penalty has not changed."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.api import (
    array_ops,
    context,
    creation_ops,
    gather_ops,
    math_ops,
    partitioned_variables,
    reduce_ops,
    state_ops,
    variables,
)
from capstan.core import dtypes
from capstan.framework.raw import raw


class PrimalWeights:
    """A variable, a list of variables or a PartitionedVariable: parts along the first axis.

    Each part has a variable of the values before the penalty, on the same device.
    """

    def __init__(self, weights: Any) -> None:
        is_parted = isinstance(weights, list | partitioned_variables.PartitionedVariable)
        self.parts = list(weights) if is_parted else [weights]
        self._raw = [_beside(part) for part in self.parts]

    def value(self) -> Any:
        """Return the weights."""
        return _joined(self.parts)

    def before_penalty(self) -> Any:
        """Return the values before the penalty."""
        return _joined(self._raw)

    def gathered(self, ids: Any) -> Any:
        """Return the values of a vector of features, before the penalty."""
        if len(self._raw) == 1:
            with context.device(self._raw[0].device):
                return gather_ops.gather(self._raw[0], ids)
        shards, inner = self._places(ids)
        places = self._divided(raw.Range(0, array_ops.size(ids), 1), shards)
        rows = []
        for part, own in zip(self._raw, self._divided(inner, shards), strict=True):
            with context.colocate_with(part):
                rows.append(gather_ops.gather(part, own))
        return raw.DynamicStitch(places, rows)

    def scattered(self, ids: Any, changes: Any) -> list[Any]:
        """Return the operations that add changes to the values of features."""
        if len(self._raw) == 1:
            return [state_ops.scatter_add(self._raw[0], ids, changes)]
        shards, inner = self._places(ids)
        added = []
        parts = zip(
            self._raw, self._divided(inner, shards), self._divided(changes, shards), strict=True
        )
        for part, own, change in parts:
            with context.colocate_with(part):
                added.append(state_ops.scatter_add(part, own, change))
        return added

    def added(self, changes: Any) -> list[Any]:
        """Return the operations that add changes to all values."""
        if len(self._raw) == 1:
            return [state_ops.assign_add(self._raw[0], changes)]
        sizes = [part.shape.as_list()[0] for part in self._raw]
        parts = array_ops.split(changes, sizes)
        return [
            state_ops.assign_add(part, change)
            for part, change in zip(self._raw, parts, strict=True)
        ]

    def penalized(self, shrinkage: float) -> list[Any]:
        """Return the operations that set the weights: the values, moved by `shrinkage` toward 0."""
        moved = []
        for part, before in zip(self.parts, self._raw, strict=True):
            # Another device could read the values before the step that the caller waits for.
            with context.colocate_with(part):
                value = array_ops.identity(before)
                if shrinkage:
                    value = raw.Sign(value) * raw.Maximum(raw.Abs(value) - shrinkage, 0.0)
                moved.append(state_ops.assign(part, value))
        return moved

    def _places(self, ids: Any) -> tuple[Any, Any]:
        """Return the part of each feature, and its index in this part."""
        sizes = [array_ops.shape(part, out_type=dtypes.int64)[0] for part in self._raw]
        ends = reduce_ops.cumsum(array_ops.stack(sizes))
        starts = array_ops.concat([np.zeros(1, np.int64), ends[:-1]], 0)
        is_behind = raw.GreaterEqual(raw.ExpandDims(ids, 1), ends[:-1])
        shards = reduce_ops.reduce_sum(math_ops.cast(is_behind, dtypes.int32), 1)
        return shards, ids - gather_ops.gather(starts, shards)

    def _divided(self, values: Any, shards: Any) -> Sequence[Any]:
        parts: Sequence[Any] = raw.DynamicPartition(values, shards, num_partitions=len(self._raw))
        return parts


def _beside(part: Any) -> Any:
    with context.colocate_with(part):
        zeros = creation_ops.zeros_like(part.initialized_value(), dtypes.float32)
        return variables.Variable(zeros, name=f"{part.op.name}_unshrinked/SDCAOptimizer")


def _joined(parts: Sequence[Any]) -> Any:
    values = [array_ops.identity(part) for part in parts]
    return values[0] if len(values) == 1 else array_ops.concat(values, 0)
