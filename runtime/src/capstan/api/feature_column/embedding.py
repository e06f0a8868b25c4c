"""Columns of vectors that a model learns for ids (python/feature_column/feature_column_v2.py)."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from capstan.api import embedding_ops, init_ops, variable_scope
from capstan.api.feature_column import columns, composed, sequence
from capstan.core import dtypes
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


@dataclass(frozen=True)
class EmbeddingColumn(columns.DenseColumn, columns.SequenceDenseColumn):
    categorical_column: columns.CategoricalColumn
    dimension: int
    combiner: str
    initializer: Any
    max_norm: float | None
    trainable: bool

    @property
    def name(self) -> str:
        return f"{self.categorical_column.name}_embedding"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return self.categorical_column.parse_example_spec

    @property
    def variable_shape(self) -> tuple[int, ...]:
        return (self.dimension,)

    @property
    def ckpt_to_load_from(self) -> str | None:
        """The checkpoint that has the initial vectors, or None."""
        return getattr(self.initializer, "checkpoint", None)

    @property
    def tensor_name_in_ckpt(self) -> str | None:
        """The tensor of the initial vectors in the checkpoint, or None."""
        return getattr(self.initializer, "tensor", None)

    def transformed(self, features: columns.Features) -> Any:
        return features.get(self.categorical_column)

    def dense_tensor(self, features: columns.Features, collections: Any, trainable: bool) -> Any:
        sequence.check_no_sequence("embedding_column", self)
        return self._found(features, collections, trainable)

    def sequence_dense_tensor(
        self, features: columns.Features, collections: Any, trainable: bool
    ) -> columns.SequencePair:
        sequence.check_sequence("embedding_column", self)
        ids, _ = self.categorical_column.sparse_tensors(features)
        vectors = self._found(features, collections, trainable)
        return columns.SequencePair(vectors, sequence.lengths(ids))

    def _found(self, features: columns.Features, collections: Any, trainable: bool) -> Any:
        """Return the combined vectors of the ids along the last axis of the column."""
        ids, weights = self.categorical_column.sparse_tensors(features)
        table = self._table(collections, self.trainable and trainable)
        return embedding_ops.safe_embedding_lookup_sparse(
            table,
            ids,
            weights,
            combiner=self.combiner,
            name=f"{self.name}_weights",
            max_norm=self.max_norm,
        )

    def _table(self, collections: Any, trainable: bool) -> Any:
        """Return the variable that has a vector for each id."""
        return variable_scope.get_variable(
            "embedding_weights",
            (self.categorical_column.num_buckets, self.dimension),
            dtypes.float32,
            self.initializer,
            trainable=trainable,
            collections=collections,
        )


@dataclass(frozen=True)
class SharedEmbeddingColumn(EmbeddingColumn):
    """A column whose table also belongs to the other columns of `collection`."""

    collection: str

    @property
    def name(self) -> str:
        return f"{self.categorical_column.name}_shared_embedding"

    @property
    def scope_name(self) -> str:
        return self.collection

    @property
    def shared_embedding_collection_name(self) -> str:
        """The collection and the scope of the table."""
        return self.collection

    def _table(self, collections: Any, trainable: bool) -> Any:
        graph = graphs.get_default_graph()
        known = graph.get_collection(self.collection)
        if len(known) > 1:
            raise ValueError(
                f"Collection {self.collection} can only contain one variable. Suggested fix A: "
                "Choose a unique name for this collection. Suggested fix B: Do not add any "
                f"variables to this collection. The feature_column library already adds a variable "
                f"under the hood. Given: {known}"
            )
        if known:
            shape = [self.categorical_column.num_buckets, self.dimension]
            if known[0].get_shape().as_list() != shape:
                raise ValueError(
                    f"Shared embedding collection {self.collection} contains variable "
                    f"{known[0].name} of unexpected shape {known[0].get_shape()}. Expected shape "
                    f"is {tuple(shape)}. Suggested fix A: Choose a unique name for this "
                    "collection. Suggested fix B: Do not add any variables to this collection. "
                    "The feature_column library already adds a variable under the hood."
                )
            return known[0]
        table = super()._table(collections, trainable)
        graph.add_to_collection(self.collection, table)
        return table


def embedding_column(
    categorical_column: columns.CategoricalColumn,
    dimension: int,
    combiner: str = "mean",
    initializer: Any = None,
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
    use_safe_embedding_lookup: bool = True,
) -> EmbeddingColumn:
    """Return the column of vectors of size `dimension`, which a model learns for each id.

    The vectors of the ids of an example are combined by "mean", "sum" or "sqrtn". The initial
    vectors are those of the tensor `tensor_name_in_ckpt` in the checkpoint `ckpt_to_load_from`, or
    come from `initializer`, by default a truncated normal distribution. An example without ids has
    the vector 0, with either value of `use_safe_embedding_lookup`.

    Raises:
        ValueError: `dimension` is below 1, `initializer` is not callable, or only one of the two
            arguments for the checkpoint is given.
    """
    start = _initializer(
        dimension, initializer, ckpt_to_load_from, tensor_name_in_ckpt,
        f" Embedding of column_name: {categorical_column.name}",
    )  # fmt: skip
    return EmbeddingColumn(categorical_column, dimension, combiner, start, max_norm, trainable)


def shared_embedding_columns(
    categorical_columns: Iterable[columns.CategoricalColumn],
    dimension: int,
    combiner: str = "mean",
    initializer: Any = None,
    shared_embedding_collection_name: str | None = None,
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
    use_safe_embedding_lookup: bool = True,
) -> list[SharedEmbeddingColumn]:
    """Return a column for each of `categorical_columns`. All of them look into one table.

    For example, the advertisement that is shown and those that the user clicked on before are ids
    of one kind. The arguments have the meaning that they have for `embedding_column`. The table is
    in the collection and the scope `shared_embedding_collection_name`, by default the names of the
    columns and `shared_embedding`. The columns of a model must be in one graph.

    Raises:
        ValueError: a column is of another kind or has another number of ids, or as
            `embedding_column`.
    """
    given = list(categorical_columns)
    start = _initializer(dimension, initializer, ckpt_to_load_from, tensor_name_in_ckpt, "")
    in_order = sorted(given, key=lambda column: column.name)
    for column in in_order:
        _check_alike(in_order[0], column)
    names = "_".join(column.name for column in in_order)
    collection = shared_embedding_collection_name or f"{names}_shared_embedding"
    return [
        SharedEmbeddingColumn(column, dimension, combiner, start, max_norm, trainable, collection)
        for column in given
    ]


def _check_alike(first: Any, column: Any) -> None:
    """Raise ValueError unless two columns can share a table."""
    if not isinstance(column, columns.CategoricalColumn):
        raise ValueError(  # noqa: TRY004 - TensorFlow's
            "All categorical_columns must be subclasses of _CategoricalColumn. Given: "
            f"{column}, of type: {type(column)}"
        )
    one, other = _innermost(first), _innermost(column)
    if not isinstance(other, type(one)):
        raise ValueError(  # noqa: TRY004 - TensorFlow's
            "To use shared_embedding_column, all categorical_columns must have the same type, or "
            f"be weighted_categorical_column of the same type. Given column: {one} of type: "
            f"{type(one)} does not match given column: {other} of type: {type(other)}"
        )
    if first.num_buckets != column.num_buckets:
        raise ValueError(
            "To use shared_embedding_column, all categorical_columns must have the same number of "
            f"buckets. Given column: {one} with buckets: {first.num_buckets} does  not match "
            f"column: {other} with buckets: {column.num_buckets}"
        )


def _innermost(column: Any) -> Any:
    """Return the column of ids that a weighted column or one of sequences is made of."""
    while isinstance(
        column, composed.WeightedCategoricalColumn | sequence.SequenceCategoricalColumn
    ):
        column = column.categorical_column
    return column


def _initializer(
    dimension: int, initializer: Any, checkpoint: str | None, tensor: str | None, where: str
) -> Any:
    """Return the initializer of a table.

    Raises:
        ValueError: an argument is wrong, as `embedding_column` says.
    """
    if not dimension or dimension < 1:
        raise ValueError(f"Invalid dimension {dimension}.")
    if (checkpoint is None) != (tensor is None):
        raise ValueError(
            "Must specify both `ckpt_to_load_from` and `tensor_name_in_ckpt` or none of them."
        )
    if initializer is not None and not callable(initializer):
        raise ValueError(f"initializer must be callable if specified.{where}")
    if checkpoint is not None and tensor is not None:
        return Restored(checkpoint, tensor)
    if initializer is not None:
        return initializer
    return init_ops.truncated_normal_initializer(0.0, 1 / math.sqrt(dimension))


@dataclass(frozen=True)
class Restored:
    """The initializer that reads a tensor, or the part of a partitioned one, of a checkpoint."""

    checkpoint: str
    tensor: str

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        sizes = [int(size) for size in shape]
        spec = ""
        if partition_info is not None:
            whole = " ".join(str(size) for size in partition_info.full_shape)
            pairs = zip(partition_info.var_offset, sizes, strict=True)
            spec = f"{whole} " + ":".join(f"{start},{size}" for start, size in pairs)
        found = raw.RestoreV2(
            self.checkpoint, [self.tensor], [spec], dtypes=[dtypes.as_dtype(dtype)]
        )
        (value,) = found if isinstance(found, list | tuple) else (found,)
        return raw.Reshape(value, sizes)
