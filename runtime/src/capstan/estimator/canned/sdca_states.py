"""The states of the examples of stochastic dual coordinate ascent, in tables by the ids.

A state is the dual variable, the primal loss, the dual loss and the weight of an example.
"""

from typing import Any

from capstan.api import array_ops, context, control_flow_ops, math_ops, reduce_ops
from capstan.api.lookup import mutable
from capstan.core import dtypes
from capstan.framework.raw import raw


class ExampleStates:
    """Tables on `num_shards` parameter servers. Checkpoints have the states."""

    def __init__(self, num_shards: int) -> None:
        self._tables = [
            mutable.MutableHashTable(
                dtypes.string, dtypes.float32, [0.0] * 4, name=f"sdca_example_states_{index}"
            )
            for index in range(num_shards)
        ]

    def lookup(self, ids: Any) -> Any:
        """Return the states of examples, a row for each. New examples have zeros."""
        if len(self._tables) == 1:
            return self._tables[0].lookup(ids)
        parts = raw.DynamicPartition(ids, self._shards(ids), num_partitions=len(self._tables))
        places = self._places(ids)
        rows = [table.lookup(part) for table, part in zip(self._tables, parts, strict=True)]
        return raw.DynamicStitch(places, rows)

    def insert(self, ids: Any, states: Any) -> Any:
        """Return an operation that sets the states of examples."""
        if len(self._tables) == 1:
            return self._tables[0].insert(ids, states)
        shards, count = self._shards(ids), len(self._tables)
        keys, rows = (
            raw.DynamicPartition(each, shards, num_partitions=count) for each in (ids, states)
        )
        triples = zip(self._tables, keys, rows, strict=True)
        return control_flow_ops.group(*(table.insert(key, row) for table, key, row in triples))

    def size(self) -> Any:
        """Return the number of examples with a state."""
        return math_ops.add_n([table.size() for table in self._tables])

    def sums(self) -> Any:
        """Return the sums of the four numbers over all examples, in float64."""
        sums: list[Any] = []
        for table in self._tables:
            # One table after the other: the numbers of a large one need much memory.
            with context.control_dependencies(sums):
                _, states = table.export()
                sums.append(reduce_ops.reduce_sum(math_ops.cast(states, dtypes.float64), 0))
        return math_ops.add_n(sums)

    def _shards(self, ids: Any) -> Any:
        bucket = raw.StringToHashBucketFast(ids, num_buckets=len(self._tables))
        return math_ops.cast(bucket, dtypes.int32)

    def _places(self, ids: Any) -> Any:
        every = raw.Range(0, array_ops.size(ids), 1)
        return raw.DynamicPartition(every, self._shards(ids), num_partitions=len(self._tables))
