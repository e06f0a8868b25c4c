"""`tf.contrib.lookup`: the functions whose parameters differ from those of `tf.lookup`.

Source: tensorflow/contrib/lookup/lookup_ops.py.
"""

from typing import Any

from capstan.api.lookup import factories, mutable
from capstan.api.lookup.buckets import FastHashSpec as FastHashSpec
from capstan.api.lookup.buckets import HasherSpec as HasherSpec
from capstan.api.lookup.buckets import IdTableWithHashBuckets as IdTableWithHashBuckets
from capstan.api.lookup.buckets import StrongHashSpec as StrongHashSpec
from capstan.api.lookup.factories import index_table_from_file as index_table_from_file
from capstan.api.lookup.factories import (
    index_to_string_table_from_file as index_to_string_table_from_file,
)
from capstan.api.lookup.initializers import KeyValueTensorInitializer as KeyValueTensorInitializer
from capstan.api.lookup.initializers import TableInitializerBase as TableInitializerBase
from capstan.api.lookup.initializers import TextFileIdTableInitializer as TextFileIdTableInitializer
from capstan.api.lookup.initializers import TextFileIndex as TextFileIndex
from capstan.api.lookup.initializers import TextFileInitializer as TextFileInitializer
from capstan.api.lookup.initializers import (
    TextFileStringTableInitializer as TextFileStringTableInitializer,
)
from capstan.api.lookup.tables import HashTable as HashTable
from capstan.api.lookup.tables import InitializableLookupTableBase as InitializableLookupTableBase
from capstan.api.lookup.tables import LookupInterface as LookupInterface
from capstan.core import dtypes
from capstan.framework import graph as graphs

MutableDenseHashTable = mutable.SharedDenseHashTable
MutableHashTable = mutable.SharedMutableHashTable


def index_table_from_tensor(
    mapping: Any,
    num_oov_buckets: int = 0,
    default_value: int = -1,
    hasher_spec: HasherSpec = FastHashSpec,
    dtype: Any = dtypes.string,
    name: str | None = None,
) -> Any:
    """Return a table from the elements of a vector to their positions."""
    return factories.index_table_from_tensor(
        mapping, num_oov_buckets, default_value, hasher_spec, dtype, name
    )


def index_to_string_table_from_tensor(
    mapping: Any, default_value: Any = "UNK", name: str | None = None
) -> Any:
    """Return a table from positions in a vector to its strings."""
    return factories.index_to_string_table_from_tensor(mapping, default_value, name)


def string_to_index_table_from_file(
    vocabulary_file: Any = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: int = -1,
    hasher_spec: HasherSpec = FastHashSpec,
    name: str | None = None,
) -> Any:
    """Return a table from words to lines. The new name is `index_table_from_file`."""
    return index_table_from_file(
        vocabulary_file, num_oov_buckets, vocab_size, default_value, hasher_spec, name=name
    )


def string_to_index_table_from_tensor(
    mapping: Any,
    num_oov_buckets: int = 0,
    default_value: int = -1,
    hasher_spec: HasherSpec = FastHashSpec,
    name: str | None = None,
) -> Any:
    """Return a table from words to positions. The new name is `index_table_from_tensor`."""
    return index_table_from_tensor(mapping, num_oov_buckets, default_value, hasher_spec, name=name)


def string_to_index(
    tensor: Any, mapping: Any, default_value: int = -1, name: str | None = None
) -> graphs.Tensor:
    """Return the position of each string in `mapping`. `tf.tables_initializer` must have run."""
    found: graphs.Tensor = index_table_from_tensor(mapping, 0, default_value).lookup(tensor, name)
    return found


def index_to_string(
    tensor: Any, mapping: Any, default_value: Any = "UNK", name: str | None = None
) -> graphs.Tensor:
    """Return the string of `mapping` at each position. `tf.tables_initializer` must have run."""
    found: graphs.Tensor = index_to_string_table_from_tensor(mapping, default_value).lookup(
        tensor, name
    )
    return found
