"""The kernel of the datasets that parse Examples (parse_example_dataset_op.cc)."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from capstan.core import attr_value, cancellation, dtypes
from capstan.kernels import datasets, example_columns, example_wire, parsing, ragged
from capstan.kernels.example_columns import Column, Dense
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.resources import dataset_threads, ragged_variant, tensor_variant, variant
from capstan.resources.dataset import Captured, Element


class _Parser:
    """Parses vectors of Examples, as the function of a dataset. Thread-safe.

    The components of its elements have the order of the names of the features. A sparse tensor is a
    vector of three variants, and a ragged tensor is one variant.
    """

    may_block = False
    ops: frozenset[str] = frozenset()
    over_blocks = None

    def __init__(self, node: NodeContext, defaults: Sequence[Any]) -> None:
        attrs = node.attrs
        self._sparse, self._ragged, dense = (
            [attr_value.text(key) for key in attrs.get(f"{kind}_keys", ())]
            for kind in ("sparse", "ragged", "dense")
        )
        self._types = [*attrs["sparse_types"], *attrs.get("ragged_value_types", ())]
        self._split_types: Sequence[dtypes.DType] = attrs.get("ragged_split_types", ())
        self._specs: Sequence[Dense] = parsing.dense_specs(node, dense, defaults)
        self._loops = example_wire.Loops()
        keys = [*self._sparse, *self._ragged, *dense]
        self._order = sorted(range(len(keys)), key=lambda number: keys[number].encode())

    def bound(
        self, cancelled: cancellation.Cancellation | None = None
    ) -> Callable[..., tuple[Any, ...]]:
        return self._parse

    def _parse(self, serialized: Any) -> Element:
        keys = [*self._sparse, *self._ragged]
        texts = parsing.texts_of(serialized)
        columns, dense = parsing.batch(texts, (), keys, self._types, self._specs, loops=self._loops)
        count = len(self._sparse)
        found = [
            *map(_sparse, example_columns.sparse(columns[:count])),
            *map(_ragged, columns[count:], self._split_types),
            *dense,
        ]
        return tuple([found[number] for number in self._order])


def _sparse(parts: tuple[Any, Any, Any]) -> Any:
    held = np.empty(3, object)
    held[:] = [tensor_variant.TensorVariant(part) for part in parts]
    return held


def _ragged(column: Column, dtype: dtypes.DType) -> Any:
    splits = ragged.ends(column.counts, dtype.as_numpy_dtype)
    return variant.scalar(ragged_variant.RaggedVariant((splits,), column.values))


def _dataset(node: NodeContext) -> Function:
    spec = datasets.spec_of(node)

    def make(source: Any, calls: Any, *defaults: Any) -> Any:
        parser = _Parser(node, tuple(map(datasets.owned, defaults)))
        parallel = datasets.parallelism(calls)
        found = datasets.dataset_in(source)
        return variant.scalar(dataset_threads.ParallelMap(spec, found, Captured(parser), parallel))

    return make


for _op in (
    "ParseExampleDataset",
    "ParseExampleDatasetV2",
    "ExperimentalParseExampleDataset",
):
    register(Kernel(_op, _dataset))
