"""A dense hash table on several parameter servers
(contrib/linear_optimizer/python/ops/sharded_mutable_dense_hashtable.py).
"""

from typing import Any

from capstan.api import array_ops, control_flow_ops, math_ops
from capstan.api.lookup import mutable
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


class ShardedMutableDenseHashTable:
    """`num_shards` tables of `tf.contrib.lookup.MutableDenseHashTable`.

    A key is an integer, or a vector. Its first element, modulo `num_shards`, chooses the table. The
    other arguments are those of a table. The tables of a `checkpoint` are saved.
    """

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        empty_key: Any,
        deleted_key: Any,
        num_shards: int = 1,
        checkpoint: bool = True,
        name: str = "ShardedMutableHashTable",
    ) -> None:
        self._key_dtype = dtypes.as_dtype(key_dtype)
        with graphs.get_default_graph().name_scope(name) as scope:
            self._name = scope
            self._shards = [
                mutable.SharedDenseHashTable(
                    key_dtype, value_dtype, default_value, empty_key, deleted_key,
                    name=f"{name}-{number}-of-{num_shards}", checkpoint=checkpoint,
                )
                for number in range(1, num_shards + 1)
            ]  # fmt: skip

    @property
    def name(self) -> str:
        """The name scope of the tables."""
        return self._name

    @property
    def table_shards(self) -> list[Any]:
        """The tables."""
        return self._shards

    def size(self, name: str | None = None) -> Any:
        """Return the number of keys, an int64 scalar."""
        with scoped(name, "sharded_mutable_hash_table_size"):
            return math_ops.add_n([shard.size() for shard in self._shards])

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """Return the value of each key, or the default value.

        Raises:
            TypeError: the keys have another type.
            ValueError: the keys have not one or two axes.
        """
        keys = self._checked(keys)
        if len(self._shards) == 1:
            return self._shards[0].lookup(keys, name=name)
        chosen = self._chosen(keys)
        places = self._parts(raw.Range(0, array_ops.shape(keys)[0], 1), chosen)
        parts = zip(self._shards, self._parts(keys, chosen), strict=True)
        return raw.DynamicStitch(places, [shard.lookup(part, name=name) for shard, part in parts])

    def insert(self, keys: Any, values: Any, name: str | None = None) -> Any:
        """Return an operation that sets the value of each key. Raises as `lookup`."""
        keys = self._checked(keys)
        if len(self._shards) == 1:
            return self._shards[0].insert(keys, values, name=name)
        chosen = self._chosen(keys)
        parts = zip(
            self._shards, self._parts(keys, chosen), self._parts(values, chosen), strict=True
        )
        return control_flow_ops.group(
            *(shard.insert(key, value, name=name) for shard, key, value in parts)
        )

    def export_sharded(self, name: str | None = None) -> tuple[list[Any], list[Any]]:
        """Return the keys of each table, and their values."""
        pairs = [shard.export(name=name) for shard in self._shards]
        return [keys for keys, _ in pairs], [values for _, values in pairs]

    def _checked(self, keys: Any) -> Any:
        keys = convert.convert_to_tensor(keys)
        if keys.dtype.base_dtype != self._key_dtype:
            raise TypeError(
                f"Signature mismatch. Keys must be dtype {self._key_dtype}, got {keys.dtype}."
            )
        if keys.shape.ndims not in (1, 2):
            raise ValueError(f"Expected a vector or matrix for keys, got {keys.shape}.")
        return keys

    def _chosen(self, keys: Any) -> Any:
        first = keys if keys.shape.ndims == 1 else keys[:, 0]
        return math_ops.cast(math_ops.abs(first) % len(self._shards), dtypes.int32)

    def _parts(self, values: Any, chosen: Any) -> Any:
        return raw.DynamicPartition(values, chosen, num_partitions=len(self._shards))
