"""Embeddings of ids (contrib/layers/python/layers/encoders.py, embedding_ops.py)."""

from typing import Any

from capstan.api import array_ops, embedding_ops, gather_ops, reduce_ops, scope_block
from capstan.api.scoped import scoped
from capstan.contrib.framework import variables
from capstan.contrib.layers import arrangements
from capstan.framework import convert, sparse_tensor
from capstan.framework.raw import raw


def embed_sequence(
    ids: Any,
    vocab_size: int | None = None,
    embed_dim: int | None = None,
    unique: bool = False,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    scope: Any = None,
    reuse: Any = None,
) -> Any:
    """Return a vector of the variable `embeddings` for each id. `unique` has no effect.

    Raises:
        ValueError: a size is missing, and the variable is not reused.
    """
    if not (reuse or (vocab_size and embed_dim)):
        raise ValueError(
            "Must specify vocab size and embedding dimension when not reusing. "
            f"Got vocab_size={vocab_size} and embed_dim={embed_dim}"
        )
    with scope_block.variable_scope(scope, "EmbedSequence", [ids], reuse=reuse):
        shape = None if None in (vocab_size, embed_dim) else [vocab_size, embed_dim]
        embeddings = variables.model_variable(
            "embeddings", shape, initializer=initializer, regularizer=regularizer,
            trainable=trainable,
        )  # fmt: skip
        return gather_ops.embedding_lookup(embeddings, ids)


def bow_encoder(
    ids: Any,
    vocab_size: int,
    embed_dim: int,
    sparse_lookup: bool = True,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    scope: Any = None,
    reuse: Any = None,
) -> Any:
    """Return the mean of the embeddings of the ids of each example.

    `ids` is a SparseTensor, or a matrix. With `sparse_lookup`, a zero in the matrix is not an id,
    and an example without ids gets the embedding of id 0.

    Raises:
        TypeError: `ids` is sparse, and `sparse_lookup` is false.
        ValueError: a size is missing.
    """
    if not vocab_size or not embed_dim:
        raise ValueError("Must specify vocab size and embedding dimension")
    is_sparse = isinstance(ids, sparse_tensor.SparseTensor)
    if is_sparse and not sparse_lookup:
        raise TypeError(f"ids are expected to be dense Tensor, got: {ids}")
    with scope_block.variable_scope(scope, "bow_encoder", [ids], reuse=reuse):
        embeddings = variables.model_variable(
            "embeddings", [vocab_size, embed_dim], initializer=initializer,
            regularizer=regularizer, trainable=trainable,
        )  # fmt: skip
        if not sparse_lookup:
            return reduce_ops.reduce_mean(gather_ops.embedding_lookup(embeddings, ids), 1)
        return embedding_ops.safe_embedding_lookup_sparse(
            [embeddings],
            ids if is_sparse else arrangements.dense_to_sparse(ids),
            combiner="mean",
            default_id=0,
        )


def embedding_lookup_unique(
    params: Any, ids: Any, partition_strategy: str = "mod", name: str | None = None
) -> Any:
    """Return what `tf.nn.embedding_lookup` returns. Each id is looked up once.

    This moves fewer rows from the parameter servers if ids are repeated. `ids` has any shape.
    """
    with scoped(name, "EmbeddingLookupUnique", (ids,)):
        ids = convert.convert_to_tensor(ids)
        unique, positions = raw.Unique(raw.Reshape(ids, [-1]))
        rows = gather_ops.embedding_lookup(params, unique, partition_strategy)
        shape = array_ops.concat([raw.Shape(ids), raw.Shape(rows)[1:]], 0)
        found = raw.Reshape(gather_ops.gather(rows, positions), shape)
        found.set_shape(ids.shape.concatenate(rows.shape[1:]))
        return found
