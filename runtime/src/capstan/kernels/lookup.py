"""Kernels of lookup tables. A reference or a handle of a table is the `LookupTable` itself."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from capstan.core import dtypes, shapes
from capstan.core.arrays import Array
from capstan.kernels import resources, vocabulary_files
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid
from capstan.resources import lookup_table

_TableType = TypeVar("_TableType", bound=lookup_table.LookupTable)


def _table(kind: type[lookup_table.LookupTable]) -> Callable[[NodeContext], Function]:
    def make(node: NodeContext) -> Function:
        table = _named(node, kind, _value_shape(node))
        return lambda: table

    return make


def _named(node: NodeContext, kind: type[_TableType], shape: tuple[int, ...]) -> _TableType:
    """Return the table that a node names, and make it if it does not exist."""
    keys, values = node.attrs["key_dtype"], node.attrs["value_dtype"]

    def verify(found: _TableType) -> None:
        if (found.key_dtype, found.value_dtype) != (keys, values):
            raise invalid(
                f"Conflicting key/value dtypes {dtypes.cpp_name(keys)}->"
                f"{dtypes.cpp_name(values)} with {dtypes.cpp_name(found.key_dtype)}-"
                f"{dtypes.cpp_name(found.value_dtype)} for table {found.name}"
            )

    return resources.named(
        node,
        lookup_table.KIND,
        lambda name: kind(name, keys, values, shape),
        verify,
        may_be_private=not node.attrs["use_node_name_sharing"],
    )


def _dense_table(node: NodeContext) -> Function:
    shape = tuple(node.attrs["value_shape"].internal or ())
    buckets = int(node.attrs["initial_num_buckets"])
    if buckets < 4 or buckets & (buckets - 1):
        raise invalid(f"Number of buckets must be at least 4 and a power of 2, got: {buckets}")
    table = _named(node, lookup_table.DenseHashTable, shape)

    def reserve(empty_key: Array, deleted_key: Array) -> Any:
        table.reserve(np.asarray(empty_key), np.asarray(deleted_key))
        return table

    return reserve


def _value_shape(node: NodeContext) -> tuple[int, ...]:
    if "value_shape" not in node.attrs:
        return ()
    shape = node.attrs["value_shape"].internal
    if len(shape) != 1:
        raise invalid(f"Default value must be a vector, got shape {shapes.show(shape)}")
    return tuple(shape)


def behind(handle: Any) -> lookup_table.LookupTable:
    """Return the table behind a handle.

    Raises:
        InvalidArgumentError: the handle is that of another resource.
    """
    table = resources.behind(handle)
    if not isinstance(table, lookup_table.LookupTable):
        raise invalid(f"The handle is that of a {type(table).__name__}, not of a lookup table")
    return table


def _with_table(
    run: Callable[..., Any], types: Callable[[lookup_table.LookupTable], Sequence[Sequence[Any]]]
) -> Callable[[NodeContext], Function]:
    """Return the `make` of a kernel that calls `run` with the table and the other inputs.

    `types` returns the dtypes of the inputs after the handle, and of the outputs, for a table.
    """

    def make(node: NodeContext) -> Function:
        def call(handle: Any, *inputs: Array) -> Any:
            table = behind(handle)
            resources.check_signature(node, *types(table))
            return run(table, *inputs)

        return call

    return make


def _pairs(table: lookup_table.LookupTable) -> Sequence[Sequence[dtypes.DType]]:
    return (table.key_dtype, table.value_dtype), ()


def _found(table: lookup_table.LookupTable) -> Sequence[Sequence[dtypes.DType]]:
    return (table.key_dtype, table.value_dtype), (table.value_dtype,)


def _exported(table: lookup_table.LookupTable) -> Sequence[Sequence[dtypes.DType]]:
    return (), (table.key_dtype, table.value_dtype)


def _size(table: lookup_table.LookupTable) -> Any:
    return np.int64(len(table))


def _initialize(table: lookup_table.LookupTable, keys: Array, values: Array) -> None:
    if keys.ndim != 1:
        raise invalid(f"Keys must be a vector, but received shape{shapes.show(keys.shape)}")
    if keys.shape != values.shape:
        raise invalid(f"Keys and values must have the same size {keys.size} vs {values.size}")
    if not keys.size:
        raise invalid("keys and values cannot be empty tensors.")
    table.initialize(keys.tolist(), values)


def _initialize_from_file(node: NodeContext) -> Function:
    columns = vocabulary_files.Columns(
        int(node.attrs["key_index"]),
        int(node.attrs["value_index"]),
        node.attrs["delimiter"],
        int(node.attrs["offset"]),
    )
    count = int(node.attrs["vocab_size"])

    def initialize(handle: Any, filename: Any) -> None:
        table = behind(handle)
        name = np.asarray(filename, object)
        if name.ndim:
            raise invalid(f"filename should be a single string, but got {shapes.show(name.shape)}")
        columns.check(table.key_dtype, table.value_dtype)
        file = name.item().decode()
        table.initialize(
            *vocabulary_files.read(file, columns, count, table.key_dtype, table.value_dtype)
        )

    return initialize


for _version in ("", "V2"):
    register(Kernel(f"HashTable{_version}", _table(lookup_table.HashTable)))
    for _name in ("MutableHashTable", "MutableHashTableOfTensors"):
        register(Kernel(_name + _version, _table(lookup_table.MutableHashTable)))
    for _name, _run, _types in (
        ("LookupTableFind", lambda table, *inputs: table.find(*inputs), _found),
        ("LookupTableSize", _size, lambda table: ((), (dtypes.int64,))),
        ("LookupTableExport", lambda table: table.export(), _exported),
        ("LookupTableInsert", lambda table, *inputs: table.insert(*inputs), _pairs),
        ("LookupTableImport", lambda table, *inputs: table.replace(*inputs), _pairs),
        ("InitializeTable", _initialize, _pairs),
    ):
        register(Kernel(_name + _version, _with_table(_run, _types)))
    register(Kernel(f"InitializeTableFromTextFile{_version}", _initialize_from_file))
register(Kernel("MutableDenseHashTableV2", _dense_table))
register(
    Kernel(
        "LookupTableRemoveV2",
        _with_table(lambda table, keys: table.remove(keys), lambda table: ((table.key_dtype,), ())),
    )
)
