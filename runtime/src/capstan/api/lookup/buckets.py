"""Tables that number every key. Unknown keys fall into buckets (python/ops/lookup_ops.py)."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from capstan.api import control_flow_ops, gather_ops, math_ops, string_ops
from capstan.api.lookup import tables
from capstan.api.lookup.initializers import TableInitializerBase
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert, sparse_tensor
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


class HasherSpec(NamedTuple):
    """The function that hashes keys: `fasthash`, `legacy`, or `stronghash` with a key."""

    hasher: str
    key: Sequence[int] | None


FastHashSpec = HasherSpec("fasthash", None)


def StrongHashSpec(key: Sequence[int]) -> HasherSpec:
    """Return the spec of a hash that depends on a key of two integers.

    Raises:
        ValueError: the key has another size.
        TypeError: the key has other elements.
    """
    if len(key) != 2:
        raise ValueError(f"`key` must have size 2, received {len(key)}")
    if not all(isinstance(part, int | np.integer) for part in key):
        raise TypeError(f"Invalid key {key}. Must be unsigned integer values.")
    return HasherSpec("stronghash", key)


class IdTableWithHashBuckets(tables.LookupInterface):
    """The numbers of a table for its keys, and numbers of buckets for all other keys.

    The buckets have the `num_oov_buckets` numbers after those of the table. `table` may be None.

    Raises:
        TypeError: the table does not map integers or strings to int64, `key_dtype` does not fit it,
            or `hasher_spec` is not a HasherSpec.
        ValueError: there is neither a table nor a bucket.
    """

    def __init__(
        self,
        table: tables.InitializableLookupTableBase | None,
        num_oov_buckets: int,
        hasher_spec: HasherSpec = FastHashSpec,
        name: str | None = None,
        key_dtype: Any = None,
    ) -> None:
        if table is None and num_oov_buckets <= 0:
            raise ValueError("`oov_buckets` must be > 0 if no `table` is supplied.")
        wanted = dtypes.as_dtype(key_dtype or (dtypes.string if table is None else table.key_dtype))
        if table is not None:
            check_id_table(table.key_dtype, table.value_dtype, wanted)
        if not (wanted.is_integer or wanted == dtypes.string):
            raise TypeError(f"Invalid `key_dtype`, expected integer or string, got {wanted}.")
        if not isinstance(hasher_spec, HasherSpec):
            raise TypeError(f"`hasher_spec` must be of type HasherSpec, got {type(hasher_spec)}.")
        super().__init__(wanted, dtypes.int64)
        self._table = table
        self._buckets = num_oov_buckets
        self._hash = _hash(hasher_spec)
        default = "hash_bucket" if table is None else table.name
        self._name = ((name or "").rstrip("/") or default).split("/")[-1]

    @property
    def name(self) -> str:
        return self._name

    @property
    def resource_handle(self) -> graphs.Tensor | None:
        """The handle of the table, or None."""
        return None if self._table is None else self._table.resource_handle

    @property
    def initializer(self) -> graphs.Operation:
        """The operation that fills the table. Without a table, it does nothing."""
        if self._table is not None:
            return self._table.initializer
        return control_flow_ops.no_op("init")

    @property
    def init(self) -> graphs.Operation:
        """The old name of `initializer`."""
        return self.initializer

    def size(self, name: str | None = None) -> Any:
        """Return the number of keys and buckets."""
        with scoped(name, f"{self.name}_Size"):
            keys = convert.constant(0, dtypes.int64) if self._table is None else self._table.size()
            return keys + self._buckets

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """Return the number of each key, a tensor or a SparseTensor.

        Raises:
            TypeError: `keys` have another dtype than those of the table.
        """
        self.check_keys(keys)
        values = keys.values if isinstance(keys, sparse_tensor.SparseTensor) else keys
        if self._table is not None and self._table.key_dtype == dtypes.int64:
            values = math_ops.cast(values, dtypes.int64)
        if self._table is not None and not self._buckets:
            return tables.with_values(keys, self._table.lookup(values, name))
        with scoped(name, f"{self.name}_Lookup", [values]):
            texts = values if values.dtype == dtypes.string else string_ops.as_string(values)
            ids = self._hash(texts, self._buckets, name="hash_bucket")
            if self._table is not None:
                known = self._table.lookup(values)
                ids = raw.AddV2(ids, self._table.size())
                is_known = raw.NotEqual(known, self._table.default_value)
                ids = gather_ops.where(is_known, known, ids)
        return tables.with_values(keys, ids)


class StaticVocabularyTable(IdTableWithHashBuckets):
    """The numbers that an initializer gives, and numbers of buckets for all other keys.

    Raises:
        TypeError: the initializer does not map integers or strings to int64, or `lookup_key_dtype`
            does not fit it.
        ValueError: there is no bucket.
    """

    def __init__(
        self,
        initializer: TableInitializerBase | None,
        num_oov_buckets: int,
        lookup_key_dtype: Any = None,
        name: str | None = None,
    ) -> None:
        if num_oov_buckets <= 0:
            raise ValueError("`num_oov_buckets` must be > 0; use StaticHashTable.")
        table = None
        if initializer is not None:
            wanted = dtypes.as_dtype(lookup_key_dtype or initializer.key_dtype)
            check_id_table(initializer.key_dtype, initializer.value_dtype, wanted)
            table = tables.StaticHashTable(initializer, -1)
        key_dtype = dtypes.string if initializer is None else lookup_key_dtype
        super().__init__(table, num_oov_buckets, name=name, key_dtype=key_dtype)


def check_id_table(
    key_dtype: dtypes.DType, value_dtype: dtypes.DType, wanted: dtypes.DType
) -> None:
    """Raise TypeError if a table does not map keys of the dtype `wanted` to int64."""
    allowed = dtypes.int64, dtypes.string
    if key_dtype not in allowed:
        raise TypeError(f"Invalid `key_dtype`, expected one of {allowed}, received {key_dtype}.")
    if key_dtype.is_integer != wanted.is_integer:
        kind = "integer" if wanted.is_integer else "non-integer"
        raise TypeError(f"Invalid `key_dtype`, expected {kind} but got {key_dtype}.")
    if value_dtype != dtypes.int64:
        raise TypeError(f"Invalid `value_dtype`: expected int64 but got {value_dtype}.")


def _hash(spec: HasherSpec) -> Callable[..., Any]:
    if spec.hasher == "fasthash":
        return string_ops.string_to_hash_bucket_fast
    if spec.hasher == "legacy":
        return string_ops.string_to_hash_bucket
    if spec.hasher == "stronghash" and spec.key is not None:
        return functools.partial(string_ops.string_to_hash_bucket_strong, key=spec.key)
    raise ValueError(f"Found unknown hasher {spec.hasher} in `hasher_spec`")
