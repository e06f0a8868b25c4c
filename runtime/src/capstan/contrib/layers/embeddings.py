"""`embed_sequence` (contrib/layers/python/layers/encoders.py)."""

from typing import Any

from capstan.api import gather_ops, scope_block
from capstan.contrib.framework import variables


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
