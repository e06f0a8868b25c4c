"""Kernels that parse Examples into ragged tensors too (core/kernels/example_parsing_ops.cc)."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from capstan.core import attr_value, dtypes
from capstan.core.arrays import Array
from capstan.kernels import (
    example_columns,
    example_wire,
    parsing,
    ragged,
    sequence_parsing,
    single_example,
)
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid
from capstan.kernels.sequence_parsing import SequenceExample


def _keys(tensor: Array, name: str, count: int) -> list[str]:
    """Return the names of features.

    Raises:
        InvalidArgumentError: there is not one name for each feature.
    """
    if tensor.ndim != 1 or len(tensor) != count:
        raise invalid(
            f"Expected len({name}) == {count}, the number of types, but got {tensor.size}"
        )
    return [attr_value.text(key) for key in parsing.texts_of(tensor)]


def _no_splits(types: Sequence[dtypes.DType]) -> list[Array]:
    """Return the splits of one example, of which a client uses only the values."""
    return [np.zeros(0, each.as_numpy_dtype) for each in types]


def _parse_example(node: NodeContext) -> Function:
    attrs = node.attrs
    sparse_types, ragged_types = attrs["sparse_types"], attrs["ragged_value_types"]
    split_types, count = attrs["ragged_split_types"], len(sparse_types)
    packed, loops = parsing.packed_columns(node, count), example_wire.Loops()
    types = [*sparse_types, *ragged_types]

    def of_batch(serialized: Array, names: Array, keys: list[str], specs: Any) -> list[Any]:
        texts, labels = parsing.texts_of(serialized), parsing.texts_of(names)
        if labels and len(labels) != len(texts):
            raise invalid(f"Expected len(names) == {len(texts)}, but got {len(labels)}")
        columns, dense = parsing.batch(texts, labels, keys, types, specs, packed, loops)
        return [
            *parsing.by_part(example_columns.sparse(columns[:count])),
            *dense,
            *(column.values for column in columns[count:]),
            *map(_splits, (column.counts for column in columns[count:]), split_types),
        ]

    def of_one(serialized: Array, keys: list[str], specs: Any) -> list[Any]:
        features = parsing.features_of(serialized.item())
        found = [
            single_example.sparse(features, key, dtype)
            for key, dtype in zip(keys, types, strict=True)
        ]
        dense = [single_example.dense(features, spec) for spec in specs]
        values = [each for _, each, _ in found[count:]]
        return [*parsing.by_part(found[:count]), *dense, *values, *_no_splits(split_types)]

    def parse(serialized: Array, names: Array, *others: Array) -> Any:
        counts = count, len(attrs["Tdense"]), len(ragged_types)
        sparse_keys, dense_keys, ragged_keys = (
            _keys(tensor, f"{kind}_keys", size)
            for tensor, kind, size in zip(
                others, ("sparse", "dense", "ragged"), counts, strict=False
            )
        )
        specs = parsing.dense_specs(node, dense_keys, others[3:])
        given = np.asarray(serialized, object)
        if given.ndim > 1:
            raise invalid(f"Expected serialized to be a scalar or vector, but it has {given.shape}")
        keys = [*sparse_keys, *ragged_keys]
        results = of_batch(given, names, keys, specs) if given.ndim else of_one(given, keys, specs)
        return results[0] if len(results) == 1 else tuple(results)

    return parse


def _splits(counts: Sequence[int] | Array, dtype: dtypes.DType) -> Array:
    return ragged.ends(np.asarray(counts, np.int64), dtype.as_numpy_dtype)


_PARTS = ("context", "feature_list")


def _parse_sequence_example(node: NodeContext) -> Function:
    attrs = node.attrs
    counts = {
        f"{part}_{kind}_keys": len(attrs[name])
        for part, dense in zip(_PARTS, ("Tcontext_dense", "feature_list_dense_types"), strict=True)
        for kind, name in (
            ("sparse", f"{part}_sparse_types"),
            ("dense", dense),
            ("ragged", f"{part}_ragged_value_types"),
        )
    }

    def parse(serialized: Array, names: Array, *others: Array) -> Any:
        given = np.asarray(serialized, object)
        if given.ndim > 1:
            raise invalid(f"Expected serialized to be a scalar or vector, but it has {given.shape}")
        texts, shown = parsing.texts_of(given), parsing.texts_of(names)
        if shown and len(shown) != len(texts):
            raise invalid("example_names must be empty or have the correct number of elements")
        labels = list(map(attr_value.text, shown)) or ["<unknown>"] * len(texts)
        batch = [SequenceExample(*pair) for pair in zip(texts, labels, strict=True)]
        keys = [
            _keys(tensor, name, count)
            for tensor, (name, count) in zip(others, counts.items(), strict=False)
        ]
        missing, defaults = others[6], others[7:]
        if missing.shape != (len(keys[4]),):
            raise invalid(
                "Expected len(feature_list_dense_missing_assumed_empty) to match "
                "Nfeature_list_dense"
            )
        results = [
            *_context(attrs, batch, keys[:3], defaults),
            *_lists(attrs, batch, keys[3:], missing.tolist()),
        ]
        if not given.ndim:
            results = [own(result) for own, result in zip(_alone(attrs), results, strict=True)]
        return results[0] if len(results) == 1 else tuple(results)

    return parse


def _context(
    attrs: Any, batch: list[SequenceExample], keys: Sequence[list[str]], defaults: Sequence[Array]
) -> Iterator[Any]:
    """Yield the outputs for the features of the contexts."""
    types = attrs["context_sparse_types"]
    rows = [
        [row for found in batch for row in found.context_values(key, dtype)]
        for key, dtype in zip(keys[0], types, strict=True)
    ]
    yield from sequence_parsing.sparse_columns(iter(rows), types, rank=2)
    dense = zip(
        keys[1], attrs["Tcontext_dense"], attrs["context_dense_shapes"], defaults, strict=True
    )
    for key, dtype, declared, default in dense:
        shape = tuple(declared.internal)
        tensors = [found.dense(key, dtype, shape, default).reshape(shape) for found in batch]
        yield sequence_parsing.stacked(tensors, shape, dtype)
    columns = [
        example_columns.column_of(
            dtype, [row for found in batch for row in found.context_values(key, dtype)]
        )
        for key, dtype in zip(keys[2], attrs["context_ragged_value_types"], strict=True)
    ]
    yield from (column.values for column in columns)
    counts = [column.counts for column in columns]
    yield from map(_splits, counts, attrs["context_ragged_split_types"])


def _lists(
    attrs: Any, batch: list[SequenceExample], keys: Sequence[list[str]], may_lack: list[bool]
) -> Iterator[Any]:
    """Yield the outputs for the lists of features."""
    types = attrs["feature_list_sparse_types"]
    rows = [
        [found.rows(key, dtype) for found in batch]
        for key, dtype in zip(keys[0], types, strict=True)
    ]
    yield from sequence_parsing.sparse_lists(rows, types)
    dense = [
        sequence_parsing.padded(
            [found.dense_rows(key, dtype, shape, may_lack=lacks) for found in batch], shape, dtype
        )
        for key, dtype, shape, lacks in zip(
            keys[1],
            attrs["feature_list_dense_types"],
            [tuple(each.internal) for each in attrs["feature_list_dense_shapes"]],
            may_lack,
            strict=True,
        )
    ]
    yield from (values for values, _ in dense)
    yield from (lengths for _, lengths in dense)
    lists = [
        [found.rows(key, dtype) for found in batch]
        for key, dtype in zip(keys[2], attrs["feature_list_ragged_value_types"], strict=True)
    ]
    columns = [
        example_columns.column_of(dtype, [row for each in examples for row in each])
        for examples, dtype in zip(lists, attrs["feature_list_ragged_value_types"], strict=True)
    ]
    split_types = attrs["feature_list_ragged_split_types"]
    yield from (column.values for column in columns)
    yield from map(_splits, [[len(each) for each in examples] for examples in lists], split_types)
    yield from map(_splits, [column.counts for column in columns], split_types)


def _alone(attrs: Any) -> list[Callable[[Any], Any]]:
    """Return how each output of a batch of one example becomes the output of a scalar."""
    context, lists = (
        (len(attrs[f"{part}_sparse_types"]), len(attrs[f"{part}_ragged_value_types"]))
        for part in _PARTS
    )
    return [
        *_sparse_alone(context[0]),
        *[_first] * len(attrs["Tcontext_dense"]),
        *[_same] * context[1],
        *[_none] * context[1],
        *_sparse_alone(lists[0]),
        *[_first] * (2 * len(attrs["feature_list_dense_types"])),
        *[_same] * lists[1],
        *[_none] * lists[1],
        *[_same] * lists[1],
    ]


def _sparse_alone(count: int) -> list[Callable[[Any], Any]]:
    return [*[_without_example] * count, *[_same] * count, *[_without_first] * count]


def _same(values: Any) -> Any:
    return values


def _first(rows: Any) -> Any:
    return rows[0, ...]


def _none(splits: Any) -> Any:
    """Return no splits. A client takes only the values of one example."""
    return splits[:0]


def _without_example(indices: Any) -> Any:
    return indices[:, 1:]


def _without_first(shape: Any) -> Any:
    return shape[1:]


register(Kernel("ParseExampleV2", _parse_example, gives_packed=True))
register(Kernel("ParseSequenceExampleV2", _parse_sequence_example))
