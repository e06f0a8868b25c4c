"""Lookup tables that change, and that a Saver saves (python/ops/lookup_ops.py)."""

from collections.abc import Sequence
from typing import Any

from capstan.api.lookup import tables
from capstan.api.scoped import scoped
from capstan.core import shapes
from capstan.framework import collections, convert, saveable
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


class _Table(tables.LookupInterface):
    """A table whose keys come and go. Values have the shape of the default value."""

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        shared_name: str | None,
        name: str,
        checkpoint: bool,
    ) -> None:
        super().__init__(key_dtype, value_dtype)
        self._default_value = convert.convert_to_tensor(default_value, self._value_dtype)
        self._value_shape = self._default_value.get_shape()
        # A saved table must be the same for all workers.
        attrs = {
            "shared_name": shared_name or "",
            "use_node_name_sharing": checkpoint and shared_name is None,
            "key_dtype": self._key_dtype,
            "value_dtype": self._value_dtype,
            "name": name,
        }
        self.resource_handle = self._made(attrs)
        if checkpoint:
            self.saveable = _TableSaveable(self, name)
            self.resource_handle.graph.add_to_collection(
                collections.GraphKeys.SAVEABLE_OBJECTS, self.saveable
            )

    def _made(self, attrs: dict[str, Any]) -> graphs.Tensor:
        """Return the handle of the table, the output of the operation that makes it."""
        if self._value_shape.ndims == 0:
            handle: graphs.Tensor = raw.MutableHashTableV2(**attrs)
        else:
            handle = raw.MutableHashTableOfTensorsV2(value_shape=self._value_shape, **attrs)
        return handle

    @property
    def name(self) -> str:
        return str(self.resource_handle.op.name.split("/")[-1])

    def size(self, name: str | None = None) -> Any:
        with self._beside(name, "Size"):
            return raw.LookupTableSizeV2(self.resource_handle)

    def lookup(self, keys: Any, name: str | None = None, dynamic_default_values: Any = None) -> Any:
        """Return the values of `keys`. The axes of a value come after the axes of `keys`.

        `dynamic_default_values` has a value for each key, which is used if the table lacks the key.
        Without it, each missing key has the default value.
        """
        default = self._default_value if dynamic_default_values is None else dynamic_default_values
        with self._beside(name, "lookup_table_find", keys):
            keys = convert.convert_to_tensor(keys, self._key_dtype, "keys")
            values = raw.LookupTableFindV2(self.resource_handle, keys, default)
        values.set_shape(self._shape_of_values(keys))
        return values

    def insert(self, keys: Any, values: Any, name: str | None = None) -> graphs.Operation:
        """Return the operation that sets the values of `keys`."""
        with self._beside(name, "lookup_table_insert", keys, values):
            keys = convert.convert_to_tensor(keys, self._key_dtype, "keys")
            values = convert.convert_to_tensor(values, self._value_dtype, "values")
            insert: graphs.Operation = raw.LookupTableInsertV2(self.resource_handle, keys, values)
        return insert

    def remove(self, keys: Any, name: str | None = None) -> graphs.Operation:
        """Return the operation that forgets `keys`. A key that the table lacks is ignored.

        Raises:
            TypeError: `keys` have another dtype than those of the table.
        """
        self.check_keys(keys)
        with self._beside(name, "lookup_table_remove", keys):
            remove: graphs.Operation = raw.LookupTableRemoveV2(self.resource_handle, keys)
        return remove

    def export(self, name: str | None = None) -> tuple[Any, Any]:
        """Return all keys and their values, in any order."""
        with self._beside(name, "lookup_table_export_values"):
            keys, values = raw.LookupTableExportV2(
                self.resource_handle, Tkeys=self._key_dtype, Tvalues=self._value_dtype
            )
        keys.set_shape([None, *self._key_sizes])
        values.set_shape(shapes.concatenate((None,), self._value_shape.internal))
        return keys, values

    @property
    def _key_sizes(self) -> tuple[int | None, ...]:
        """The static shape of a key. Only dense tables have keys that are not scalars."""
        return ()

    def _shape_of_values(self, keys: graphs.Tensor) -> Any:
        """Return the static shape of the values of `keys`."""
        sizes = keys.get_shape().internal
        if sizes is not None:
            sizes = sizes[: len(sizes) - len(self._key_sizes)]
        return shapes.concatenate(sizes, self._value_shape.internal)

    def _beside(self, name: str | None, action: str, *values: Any) -> Any:
        """Enter a name scope. The table's operations run where the table is."""
        return scoped(name, f"{self.name}_{action}", (self.resource_handle, *values))


class _TableSaveable(saveable.SaveableObject):
    def __init__(self, table: _Table, name: str) -> None:
        keys, values = table.export()
        specs = [
            saveable.SaveSpec(tensor, "", f"{name}-{part}", device=table.resource_handle.device)
            for tensor, part in ((keys, "keys"), (values, "values"))
        ]
        super().__init__(table, specs, name)

    def restore(self, restored_tensors: Sequence[graphs.Tensor], restored_shapes: Any) -> Any:
        handle = self.op.resource_handle
        with handle.graph.colocate_with(handle.op):
            return raw.LookupTableImportV2(handle, *restored_tensors)


class MutableHashTable(_Table):
    """A table whose keys come and go.

    With `checkpoint`, every Saver for all variables saves the table under `name`.
    """

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        name: str = "MutableHashTable",
        checkpoint: bool = True,
    ) -> None:
        super().__init__(key_dtype, value_dtype, default_value, None, name, checkpoint)


class SharedMutableHashTable(_Table):
    """`tf.contrib.lookup.MutableHashTable`, which takes a `shared_name`.

    Tables with the same `shared_name` on one task are one table, in all sessions.
    """

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        shared_name: str | None = None,
        name: str = "MutableHashTable",
        checkpoint: bool = True,
    ) -> None:
        super().__init__(key_dtype, value_dtype, default_value, shared_name, name, checkpoint)


class SharedDenseHashTable(_Table):
    """`tf.contrib.lookup.MutableDenseHashTable`: a table that does not take two of the keys.

    `empty_key` and `deleted_key` are never used as keys. They are scalars, or vectors: the last
    axis of keys is then a key. `initial_num_buckets` is a power of 2 from 4 on, and has no effect.
    `export` returns only the keys that were inserted, while TensorFlow's also returns `empty_key`
    for each empty bucket. Tables with the same `shared_name` on one task are one table.
    """

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        empty_key: Any,
        deleted_key: Any,
        initial_num_buckets: int | None = None,
        shared_name: str | None = None,
        name: str = "MutableDenseHashTable",
        checkpoint: bool = True,
    ) -> None:
        self._reserved = empty_key, deleted_key
        self._buckets = {"initial_num_buckets": initial_num_buckets} if initial_num_buckets else {}
        super().__init__(key_dtype, value_dtype, default_value, shared_name, name, checkpoint)

    def _made(self, attrs: dict[str, Any]) -> graphs.Tensor:
        keys = [
            convert.convert_to_tensor(key, self._key_dtype, name)
            for key, name in zip(self._reserved, ("empty_key", "deleted_key"), strict=True)
        ]
        self._empty_key = keys[0]
        given = {name: value for name, value in attrs.items() if name != "key_dtype"}
        handle: graphs.Tensor = raw.MutableDenseHashTableV2(
            *keys, value_shape=self._value_shape, **given, **self._buckets
        )
        return handle

    @property
    def _key_sizes(self) -> tuple[int | None, ...]:
        return self._empty_key.shape.internal or ()


class DenseHashTable(SharedDenseHashTable):
    """`tf.lookup.experimental.DenseHashTable`, which has no `shared_name`."""

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        empty_key: Any,
        deleted_key: Any,
        initial_num_buckets: int | None = None,
        name: str = "MutableDenseHashTable",
        checkpoint: bool = True,
    ) -> None:
        super().__init__(
            key_dtype, value_dtype, default_value, empty_key, deleted_key, initial_num_buckets,
            None, name, checkpoint,
        )  # fmt: skip

    insert_or_assign = SharedDenseHashTable.insert
    erase = SharedDenseHashTable.remove
