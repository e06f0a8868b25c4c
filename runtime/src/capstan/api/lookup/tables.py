"""Lookup tables that are filled once (python/ops/lookup_ops.py)."""

import abc
import secrets
from typing import Any

from capstan.api.lookup.initializers import TableInitializerBase
from capstan.api.scoped import scoped
from capstan.core import dtypes, tensor_shape
from capstan.framework import convert, sparse_tensor
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


class LookupInterface(abc.ABC):
    """A table from keys to values that outlives a step. `resource_handle` is its handle."""

    def __init__(self, key_dtype: Any, value_dtype: Any) -> None:
        self._key_dtype = dtypes.as_dtype(key_dtype)
        self._value_dtype = dtypes.as_dtype(value_dtype)

    @property
    def key_dtype(self) -> dtypes.DType:
        return self._key_dtype

    @property
    def value_dtype(self) -> dtypes.DType:
        return self._value_dtype

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """The name of the operation that makes the table, without its scope."""

    @abc.abstractmethod
    def size(self, name: str | None = None) -> Any:
        """Return the number of keys, an int64 scalar."""

    @abc.abstractmethod
    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """Return the values of `keys`, a tensor or a SparseTensor."""

    def __getitem__(self, keys: Any) -> Any:
        return self.lookup(keys)

    def check_keys(self, keys: Any) -> None:
        """Raise TypeError if `keys` have another dtype than those of the table."""
        if keys.dtype.base_dtype != self._key_dtype:
            raise TypeError(
                f"Dtype of argument `keys` must be {self._key_dtype}, received: {keys.dtype}"
            )


def with_values(keys: Any, values: Any) -> Any:
    """Return `values`, sparse in the places of `keys` if `keys` is a SparseTensor."""
    if isinstance(keys, sparse_tensor.SparseTensor):
        return sparse_tensor.SparseTensor(keys.indices, values, keys.dense_shape)
    return values


class InitializableLookupTableBase(LookupInterface):
    """A table that its initializer fills. `tf.tables_initializer` runs all initializers."""

    def __init__(self, default_value: Any, initializer: TableInitializerBase) -> None:
        super().__init__(initializer.key_dtype, initializer.value_dtype)
        self._default_value = convert.convert_to_tensor(default_value, self._value_dtype)
        self._default_value.get_shape().merge_with(tensor_shape.TensorShape([]))
        # The table and its initializer stay outside of conditionals and loops.
        with graphs.get_default_graph().control_dependencies(None):
            self.resource_handle = self._create_resource()
            self._init_op = initializer.initialize(self)

    @abc.abstractmethod
    def _create_resource(self) -> graphs.Tensor:
        """Return the handle of the table, the output of the operation that makes it."""

    @property
    def name(self) -> str:
        return str(self.resource_handle.op.name.split("/")[-1])

    @property
    def default_value(self) -> graphs.Tensor:
        """The value of keys that the table lacks."""
        return self._default_value

    @property
    def initializer(self) -> graphs.Operation:
        """The operation that fills the table."""
        return self._init_op

    @property
    def init(self) -> graphs.Operation:
        """The old name of `initializer`."""
        return self._init_op

    def size(self, name: str | None = None) -> Any:
        with scoped(name, f"{self.name}_Size", [self.resource_handle]):
            return raw.LookupTableSizeV2(self.resource_handle)

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """Return the values of `keys`, a tensor or a SparseTensor.

        A key that the table lacks has the default value. A step before the initializer fails with
        FailedPreconditionError.

        Raises:
            TypeError: `keys` have another dtype than those of the table.
        """
        self.check_keys(keys)
        dense = keys.values if isinstance(keys, sparse_tensor.SparseTensor) else keys
        inputs = (self.resource_handle, dense, self._default_value)
        with scoped(name, f"{self.name}_Lookup", inputs):
            values = raw.LookupTableFindV2(*inputs)
        values.set_shape(dense.get_shape())
        return with_values(keys, values)

    def export(self, name: str | None = None) -> tuple[Any, Any]:
        """Return all keys and their values, two vectors."""
        with scoped(name, f"{self.name}_Export", [self.resource_handle]):
            keys, values = raw.LookupTableExportV2(
                self.resource_handle, Tkeys=self._key_dtype, Tvalues=self._value_dtype
            )
        for tensor in (keys, values):
            tensor.set_shape([None])
        return keys, values


class StaticHashTable(InitializableLookupTableBase):
    """A table that is filled once.

    Tables that read the same columns of one file share one table of the task. Every other
    StaticHashTable has a table of its own.
    """

    def __init__(
        self, initializer: TableInitializerBase, default_value: Any, name: str | None = None
    ) -> None:
        self._dtypes = initializer.key_dtype, initializer.value_dtype
        self._shared_name = initializer.shared_name or f"hash_table_{secrets.token_hex(16)}"
        self._name = name or "hash_table"
        super().__init__(default_value, initializer)

    def _create_resource(self) -> graphs.Tensor:
        key_dtype, value_dtype = self._dtypes
        handle: graphs.Tensor = raw.HashTableV2(
            shared_name=self._shared_name,
            key_dtype=key_dtype,
            value_dtype=value_dtype,
            name=self._name,
        )
        return handle


class HashTable(StaticHashTable):
    """`tf.contrib.lookup.HashTable`. All sessions share the table that has a `shared_name`."""

    def __init__(
        self,
        initializer: TableInitializerBase,
        default_value: Any,
        shared_name: str | None = None,
        name: str | None = None,
    ) -> None:
        self._given_name = shared_name
        super().__init__(initializer, default_value, name)

    def _create_resource(self) -> graphs.Tensor:
        self._shared_name = self._given_name or ""
        return super()._create_resource()
