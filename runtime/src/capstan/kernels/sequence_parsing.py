"""The kernels that read SequenceExamples (core/kernels/example_parsing_ops.cc)."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from capstan.core import attr_value, dtypes, shapes
from capstan.core.arrays import Array
from capstan.kernels import example_columns, parsing
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid, string


def _parse_single_sequence_example(node: NodeContext) -> Function:
    attrs = node.attrs
    context_types, list_types = attrs["context_sparse_types"], attrs["feature_list_sparse_types"]
    dense_context, dense_lists = (
        [tuple(shape.internal) for shape in attrs[name]]
        for name in ("context_dense_shapes", "feature_list_dense_shapes")
    )
    counts = len(context_types), len(dense_context), len(list_types), len(dense_lists)

    def parse(serialized: Array, missing: Array, *others: Array) -> Any:
        rest = iter(others)
        keys = [
            [attr_value.text(string(key, "key")) for key in itertools.islice(rest, count)]
            for count in counts
        ]
        defaults = list(itertools.islice(rest, len(dense_context)))
        names = np.asarray(next(rest), object).ravel().tolist()
        found = SequenceExample(
            string(serialized, "serialized"), attr_value.text(names[0]) if names else "<unknown>"
        )
        may_lack = set(map(attr_value.text, np.asarray(missing, object).ravel().tolist()))
        outputs = [
            *sparse_columns(
                map(found.context_values, keys[0], context_types), context_types, rank=1
            ),
            *map(found.dense, keys[1], attrs["Tcontext_dense"], dense_context, defaults),
            *sparse_columns(map(found.rows, keys[2], list_types), list_types, rank=2),
        ]
        for key, dtype, shape in zip(
            keys[3], attrs["feature_list_dense_types"], dense_lists, strict=True
        ):
            outputs.append(found.dense_rows(key, dtype, shape, may_lack=key in may_lack))
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    return parse


def _parse_sequence_example(node: NodeContext) -> Function:
    attrs = node.attrs
    context_types, list_types = attrs["context_sparse_types"], attrs["feature_list_sparse_types"]
    dense_context, dense_lists = (
        [tuple(shape.internal) for shape in attrs[name]]
        for name in ("context_dense_shapes", "feature_list_dense_shapes")
    )
    keys = {
        part: [attr_value.text(key) for key in attrs[f"{part}_keys"]]
        for part in ("context_sparse", "context_dense", "feature_list_sparse", "feature_list_dense")
    }
    missing = attrs["feature_list_dense_missing_assumed_empty"]
    may_lack = set(map(attr_value.text, missing))

    def parse(serialized: Array, names: Array, *defaults: Array) -> Any:
        texts: list[bytes] = serialized.tolist()
        shown = list(map(attr_value.text, names.tolist())) or ["<unknown>"] * len(texts)
        if len(shown) != len(texts):
            raise invalid(f"Expected {len(texts)} names of examples, but got {len(shown)}")
        batch = [SequenceExample(*pair) for pair in zip(texts, shown, strict=True)]
        sparse = [
            [row for found in batch for row in found.context_values(key, dtype)]
            for key, dtype in zip(keys["context_sparse"], context_types, strict=True)
        ]
        outputs = [*sparse_columns(iter(sparse), context_types, rank=2)]
        for key, dtype, shape, default in zip(
            keys["context_dense"], attrs["Tcontext_dense"], dense_context, defaults, strict=True
        ):
            rows = [found.dense(key, dtype, shape, default).reshape(shape) for found in batch]
            outputs.append(stacked(rows, shape, dtype))
        lists = [
            [found.rows(key, dtype) for found in batch]
            for key, dtype in zip(keys["feature_list_sparse"], list_types, strict=True)
        ]
        outputs += sparse_lists(lists, list_types)
        dense = [
            padded(
                [found.dense_rows(key, dtype, shape, may_lack=key in may_lack) for found in batch],
                shape,
                dtype,
            )
            for key, dtype, shape in zip(
                keys["feature_list_dense"],
                attrs["feature_list_dense_types"],
                dense_lists,
                strict=True,
            )
        ]
        outputs += [*(values for values, _ in dense), *(lengths for _, lengths in dense)]
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    return parse


def stacked(rows: Sequence[Array], shape: tuple[int, ...], dtype: dtypes.DType) -> Array:
    """Return rows of the same shape as one tensor."""
    result = np.empty((len(rows), *shape), dtype.as_numpy_dtype)
    for index, row in enumerate(rows):
        result[index] = row
    return result


def padded(
    lists: Sequence[Array], shape: tuple[int, ...], dtype: dtypes.DType
) -> tuple[Array, Array]:
    """Return lists of rows as one tensor, in which zeros or "" follow a short list."""
    lengths = np.array([len(each) for each in lists], np.int64)
    size = (len(lists), max(lengths.tolist(), default=0), *shape)
    result = np.full(size, b"" if dtype is dtypes.string else 0, dtype.as_numpy_dtype)
    for index, each in enumerate(lists):
        result[index, : len(each)] = each
    return result, lengths


def sparse_lists(
    lists: Sequence[Sequence[Sequence[Sequence[Any]]]], types: Sequence[dtypes.DType]
) -> list[Array]:
    """Return the indices, values and shapes of sparse tensors by example, time and place."""
    parts = []
    for batch, dtype in zip(lists, types, strict=True):
        places = [
            (example, time) for example, rows in enumerate(batch) for time in range(len(rows))
        ]
        rows = [row for each in batch for row in each]
        [(inner, values, shape)] = example_columns.sparse([example_columns.column_of(dtype, rows)])
        outer = np.array(places, np.int64).reshape(-1, 2)
        indices = np.concatenate([outer[inner[:, 0]], inner[:, 1:]], 1)
        longest = max(map(len, batch), default=0)
        parts.append((indices, values, np.array([len(batch), longest, shape[1]], np.int64)))
    return [part[index] for index in range(3) for part in parts]


def sparse_columns(
    rows: Iterator[Sequence[Sequence[Any]]], types: Sequence[dtypes.DType], *, rank: int
) -> list[Array]:
    """Return the indices, the values and the shapes of sparse tensors of this rank."""
    parts = [
        part
        for each, dtype in zip(rows, types, strict=True)
        for part in example_columns.sparse([example_columns.column_of(dtype, each)])
    ]
    return [
        *(indices[:, 2 - rank :] for indices, _, _ in parts),
        *(values for _, values, _ in parts),
        *(shape[2 - rank :] for _, _, shape in parts),
    ]


class SequenceExample:
    """A SequenceExample. `name` is its name in the messages of errors."""

    def __init__(self, serialized: bytes, name: str) -> None:
        from google.protobuf import message

        from capstan.core import example_messages

        try:
            parsed = example_messages.SequenceExample.FromString(serialized)
        except message.DecodeError:
            text = serialized.decode(errors="backslashreplace")
            raise invalid(f"Could not parse example input, value: '{text}'") from None
        self._context: Mapping[str, Any] = parsed.context.feature
        self._lists: Mapping[str, Any] = parsed.feature_lists.feature_list
        self._name = name

    def context_values(self, key: str, dtype: dtypes.DType) -> Sequence[Sequence[Any]]:
        """Return the values of a feature as the only row."""
        is_there = key in self._context and self._context[key].WhichOneof("kind") is not None
        where = f"Context feature: {key}"
        return [self._values(self._context[key], dtype, where) if is_there else ()]

    def dense(self, key: str, dtype: dtypes.DType, shape: tuple[int, ...], default: Array) -> Array:
        """Return a feature as a tensor, or its default."""
        if key not in self._context:
            if not np.size(default):
                raise invalid(
                    f"Name: {self._name}, Context feature '{key}' is required but could not be "
                    "found."
                )
            return np.asarray(default)
        values = self._values(self._context[key], dtype, f"Context feature: {key}")
        row: Array = self._array([values], key, dtype, shape)[0, ...]
        return row

    def rows(self, key: str, dtype: dtypes.DType) -> Sequence[Sequence[Any]]:
        """Return the values of each feature of a list. A feature of no type has none."""
        features = self._lists[key].feature if key in self._lists else ()
        return [
            ()
            if feature.WhichOneof("kind") is None
            else self._values(feature, dtype, f"Feature list: {key}, Index: {index}")
            for index, feature in enumerate(features)
        ]

    def dense_rows(
        self, key: str, dtype: dtypes.DType, shape: tuple[int, ...], *, may_lack: bool
    ) -> Array:
        """Return the features of a list as the slices of a tensor."""
        if key not in self._lists and not may_lack:
            raise invalid(
                f"Name: {self._name}, Feature list '{key}' is required but could not be found.  "
                "Did you mean to include it in feature_list_dense_missing_assumed_empty or "
                "feature_list_dense_defaults?"
            )
        return self._array(self.rows(key, dtype), key, dtype, shape)

    def _array(
        self,
        rows: Sequence[Sequence[Any]],
        key: str,
        dtype: dtypes.DType,
        shape: tuple[int, ...],
    ) -> Array:
        array = np.empty((len(rows), math.prod(shape)), dtype.as_numpy_dtype)
        for index, values in enumerate(rows):
            if len(values) != array.shape[1]:
                kind = example_columns.COUNTED[dtype]
                raise invalid(
                    f"Name: {self._name}, Key: {key}, Index: {index}.  Number of {kind} values != "
                    f"expected.  values size: {len(values)} but output shape: {shapes.show(shape)}"
                )
            array[index] = values
        return array.reshape(len(rows), *shape)

    def _values(self, feature: Any, dtype: dtypes.DType, where: str) -> Sequence[Any]:
        kind = feature.WhichOneof("kind")
        if kind is None or parsing.LISTS[kind] is not dtype:
            raise invalid(
                f"Name: {self._name}, {where}.  Data types don't match. Expected type: "
                f"{example_columns.CPP_NAMES[dtype]}  Feature is: {feature}"
            )
        values: Sequence[Any] = getattr(feature, kind).value
        return values


register(Kernel("ParseSequenceExample", _parse_sequence_example))
register(Kernel("ParseSingleSequenceExample", _parse_single_sequence_example))
