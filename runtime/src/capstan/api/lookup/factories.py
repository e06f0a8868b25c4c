"""Functions that make the tables of vocabularies (python/ops/lookup_ops.py)."""

from typing import Any

from capstan.api import control_flow_ops, math_ops
from capstan.api.lookup import buckets, tables
from capstan.api.lookup.initializers import (
    KeyValueTensorInitializer,
    TextFileIdTableInitializer,
    TextFileIndex,
    TextFileStringTableInitializer,
)
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import collections, convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


def tables_initializer(name: str = "init_all_tables") -> graphs.Operation:
    """Return an operation that fills all tables of the default graph that were made so far."""
    fills = graphs.get_default_graph().get_collection(collections.GraphKeys.TABLE_INITIALIZERS)
    if fills:
        return control_flow_ops.group(*fills, name=name)
    return control_flow_ops.no_op(name=name)


def initialize_all_tables(name: str = "init_all_tables") -> graphs.Operation:
    """Return an operation that fills all tables. The new name is `tf.tables_initializer`."""
    return tables_initializer(name)


def index_table_from_file(
    vocabulary_file: Any = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: int = -1,
    hasher_spec: buckets.HasherSpec = buckets.FastHashSpec,
    key_dtype: Any = dtypes.string,
    name: str | None = None,
    key_column_index: int = TextFileIndex.WHOLE_LINE,
    value_column_index: int = TextFileIndex.LINE_NUMBER,
    delimiter: str = "\t",
) -> Any:
    """Return a table from the words of a file to the numbers of their lines.

    Other words fall into `num_oov_buckets` buckets, whose numbers come next. Without buckets, they
    have the number `default_value`.

    Raises:
        ValueError: the file has no name, or a number is out of range.
        TypeError: `key_dtype` is neither an integer nor a string.
    """
    _check_file(vocabulary_file)
    _check_buckets(num_oov_buckets)
    if vocab_size is not None and vocab_size < 1:
        raise ValueError(
            f"`vocab_size` must be greater than 0, got {vocab_size} for vocabulary_file: "
            f"{vocabulary_file}."
        )
    key_dtype = dtypes.as_dtype(key_dtype)
    _check_dtype(key_dtype, "Dtype for `keys` should be either integer or string.")
    with scoped(name, "string_to_index"):
        with _outer("hash_table"):
            contents = TextFileIdTableInitializer(
                vocabulary_file,
                key_column_index,
                value_column_index,
                vocab_size,
                delimiter,
                "table_init",
                dtypes.int64 if key_dtype.is_integer else key_dtype,
            )
            table = tables.StaticHashTable(contents, default_value)
        return _with_buckets(table, num_oov_buckets, hasher_spec, key_dtype)


def index_table_from_tensor(
    vocabulary_list: Any,
    num_oov_buckets: int = 0,
    default_value: int = -1,
    hasher_spec: buckets.HasherSpec = buckets.FastHashSpec,
    dtype: Any = dtypes.string,
    name: str | None = None,
) -> Any:
    """Return a table from the elements of a vector to their positions.

    Other keys fall into `num_oov_buckets` buckets, whose numbers come next. Without buckets, they
    have the number `default_value`.

    Raises:
        ValueError: there is no list, it does not have `dtype`, or a number is out of range.
        TypeError: `dtype` is neither an integer nor a string.
    """
    if vocabulary_list is None:
        raise ValueError("`vocabulary_list` must be specified.")
    _check_buckets(num_oov_buckets)
    dtype = dtypes.as_dtype(dtype)
    _check_dtype(dtype, "`dtype` must either be integer or string.")
    with scoped(name, "string_to_index"):
        keys = convert.convert_to_tensor(vocabulary_list)
        if keys.dtype.is_integer != dtype.is_integer:
            kind = "integer" if dtype.is_integer else "non-integer"
            raise ValueError(f"Invalid `dtype`: Expected {kind}, got {keys.dtype}.")
        if not dtype.is_integer and keys.dtype.base_dtype != dtype:
            raise ValueError(f"Invalid `dtype`: Expected {dtype}, got {keys.dtype}.")
        numbers = raw.Range(0, raw.Size(keys), 1)
        values = math_ops.cast(numbers, dtypes.int64)
        with _outer("hash_table"):
            table_keys = math_ops.cast(keys, dtypes.int64) if keys.dtype.is_integer else keys
            contents = KeyValueTensorInitializer(
                table_keys, values, table_keys.dtype.base_dtype, dtypes.int64, "table_init"
            )
            table = tables.StaticHashTable(contents, default_value)
        return _with_buckets(table, num_oov_buckets, hasher_spec, dtype)


def index_to_string_table_from_file(
    vocabulary_file: Any,
    vocab_size: int | None = None,
    default_value: Any = "UNK",
    name: str | None = None,
    key_column_index: int = TextFileIndex.LINE_NUMBER,
    value_column_index: int = TextFileIndex.WHOLE_LINE,
    delimiter: str = "\t",
) -> tables.StaticHashTable:
    """Return a table from the numbers of the lines of a file to their words.

    Raises:
        ValueError: the file has no name, or `vocab_size` is not positive.
    """
    _check_file(vocabulary_file)
    if vocab_size is not None and vocab_size < 1:
        raise ValueError(f"`vocab_size` must be greater than 0, got {vocab_size}.")
    with scoped(name, "index_to_string"):
        contents = TextFileStringTableInitializer(
            vocabulary_file,
            key_column_index,
            value_column_index,
            vocab_size,
            delimiter,
            "table_init",
        )
        return tables.StaticHashTable(contents, default_value)


def index_to_string_table_from_tensor(
    vocabulary_list: Any, default_value: Any = "UNK", name: str | None = None
) -> tables.StaticHashTable:
    """Return a table from positions in a vector to its strings.

    Raises:
        ValueError: there is no list.
    """
    if vocabulary_list is None:
        raise ValueError("`vocabulary_list` argument must be specified.")
    with scoped(name, "index_to_string"):
        strings = convert.convert_to_tensor(vocabulary_list, dtypes.string)
        numbers = raw.Range(0, raw.Size(strings), 1)
        keys = math_ops.cast(numbers, dtypes.int64)
        contents = KeyValueTensorInitializer(
            keys, strings, dtypes.int64, dtypes.string, "table_init"
        )
        return tables.StaticHashTable(contents, default_value)


def _outer(name: str) -> Any:
    return scoped(None, name)


def _with_buckets(
    table: tables.StaticHashTable,
    num_oov_buckets: int,
    hasher_spec: buckets.HasherSpec,
    key_dtype: dtypes.DType,
) -> Any:
    if not num_oov_buckets:
        return table
    return buckets.IdTableWithHashBuckets(table, num_oov_buckets, hasher_spec, key_dtype=key_dtype)


def _check_file(vocabulary_file: Any) -> None:
    if vocabulary_file is None or (isinstance(vocabulary_file, str) and not vocabulary_file):
        raise ValueError("`vocabulary_file` must be specified and must not be empty.")


def _check_buckets(num_oov_buckets: int) -> None:
    if num_oov_buckets < 0:
        raise ValueError(f"num_oov_buckets must be greater or equal than 0, got {num_oov_buckets}.")


def _check_dtype(dtype: dtypes.DType, message: str) -> None:
    if not (dtype.is_integer or dtype.base_dtype == dtypes.string):
        raise TypeError(message)
