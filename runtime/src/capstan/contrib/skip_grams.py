"""`tf.contrib.text`: pairs of a word and a word near it (contrib/text/python/ops/skip_gram_ops.py).

The random numbers are others than TensorFlow's.
"""

import csv
from typing import Any

from capstan.api import (
    array_ops,
    context,
    control_flow_ops,
    gfile,
    lookup,
    math_ops,
    random_ops,
)
from capstan.api.scoped import scoped
from capstan.contrib import lookup_tables
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw
from capstan.train import input_batches

__all__ = ["skip_gram_sample", "skip_gram_sample_with_text_vocab"]

_Pairs = tuple[Any, Any]


def skip_gram_sample(
    input_tensor: Any,
    min_skips: Any = 1,
    max_skips: Any = 5,
    start: Any = 0,
    limit: Any = -1,
    emit_self_as_target: Any = False,
    vocab_freq_table: Any = None,
    vocab_min_count: Any = None,
    vocab_subsampling: float | None = None,
    corpus_size: Any = None,
    batch_size: int | None = None,
    batch_capacity: int | None = None,
    seed: int | None = None,
    name: str | None = None,
) -> _Pairs:
    """Return vectors of tokens and of labels: each token with each of the tokens around it.

    `input_tensor` is a vector, of which the `limit` tokens from `start` on count, or all with -1. A
    window reaches `min_skips` to `max_skips` tokens to both sides; each token draws its own number.
    With `emit_self_as_target`, a token is also a label of itself.

    `vocab_freq_table` maps tokens to their numbers in a corpus of `corpus_size` tokens. Tokens that
    it lacks are left out, and so are those with a number below `vocab_min_count`. If a token's
    share of the corpus is above `vocab_subsampling`, some of its copies are left out. With
    `batch_size`, a queue runner fills a queue for `batch_capacity` pairs, by default 100 batches.

    Raises:
        ValueError: the input is not a vector, `vocab_subsampling` is not in [0, 1], or an argument
            about the corpus is given without the others that it needs.
    A step raises InvalidArgumentError if a number of skips is negative, or min is above max.
    """
    of_corpus = (vocab_min_count, vocab_subsampling, corpus_size)
    if vocab_freq_table is None and of_corpus != (None, None, None):
        raise ValueError(
            f"vocab_freq_table is not provided, but vocab_min_count={vocab_min_count}, "
            f"vocab_subsampling={vocab_subsampling}, or corpus_size={corpus_size} is not None. "
            "These settings are useless without a vocab_freq_table."
        )
    if (vocab_subsampling is None) != (corpus_size is None):
        raise ValueError(
            f"vocab_subsampling is {vocab_subsampling} while corpus_size is {corpus_size} - both "
            "must be provided in order for subsampling to work."
        )
    with scoped(name, "skip_gram_sample", [input_tensor, min_skips, max_skips, start, limit]):
        tokens = convert.convert_to_tensor(input_tensor)
        tokens.shape.assert_has_rank(1)
        tokens = _of_vocabulary(tokens, vocab_freq_table, of_corpus, seed)
        tokens = tokens[start:]
        tokens = tokens[: raw.Select(raw.Less(limit, 0), raw.Size(tokens), limit)]
        pairs = _pairs(tokens, (min_skips, max_skips), emit_self_as_target, seed)
        if batch_size is None or batch_size <= 0:
            return pairs
        capacity = batch_capacity or 100 * batch_size
        batched = input_batches.batch(list(pairs), batch_size, capacity=capacity, enqueue_many=True)
        return batched[0], batched[1]


def _of_vocabulary(tokens: Any, table: Any, of_corpus: tuple[Any, Any, Any], seed: Any) -> Any:
    """Return the tokens that a vocabulary has, without those that are too rare or too many."""
    if table is None:
        return tokens
    if not isinstance(table, lookup_tables.InitializableLookupTableBase):
        raise ValueError(  # noqa: TRY004, as in TensorFlow
            "vocab_freq_table must be a subclass of InitializableLookupTableBase (such as "
            f"HashTable) instead of type {type(table)}."
        )
    least, share, corpus_size = of_corpus
    counts = table.lookup(tokens)
    mask = raw.NotEqual(counts, table.default_value)
    if least is not None:
        mask = raw.LogicalAnd(mask, raw.GreaterEqual(counts, math_ops.cast(least, counts.dtype)))
    tokens, counts = (_masked(each, mask) for each in (tokens, counts))
    if not share:
        return tokens
    if not 0 <= share <= 1:
        raise ValueError(f"Invalid vocab_subsampling={share} - it should be within range [0, 1].")
    counts = math_ops.cast(counts, dtypes.float64)
    expected = share * math_ops.cast(corpus_size, dtypes.float64)
    kept = (math_ops.sqrt(counts / expected) + 1.0) * (expected / counts)
    drawn = random_ops.random_uniform(raw.Shape(counts), dtype=dtypes.float64, seed=seed)
    return _masked(tokens, raw.LessEqual(drawn, kept))


def _masked(vector: Any, mask: Any) -> Any:
    return raw.GatherV2(vector, raw.Reshape(raw.Where(mask), [-1]), 0)


def _pairs(tokens: Any, skips: tuple[Any, Any], has_self: Any, seed: Any) -> _Pairs:
    """Return the tokens, each as often as it has labels, and their labels."""
    least, most = (convert.convert_to_tensor(each, dtypes.int32) for each in skips)
    is_sound = raw.LogicalAnd(raw.GreaterEqual(least, 0), raw.LessEqual(least, most))
    message = "Both min_skips and max_skips must be >= 0, and min_skips must be <= max_skips."
    with context.control_dependencies([control_flow_ops.Assert(is_sound, [message, least, most])]):
        most = raw.Identity(most)
    count = raw.Size(tokens)
    drawn = random_ops.random_uniform(
        array_ops.stack([count, 1]), least, most + 1, dtypes.int32, seed
    )
    # A row for each token, and a column for each distance from the token.
    distances = array_ops.expand_dims(math_ops.range(-most, most + 1), 0)
    at = array_ops.expand_dims(math_ops.range(count), 1)
    labels = at + distances
    is_inside = raw.LogicalAnd(raw.GreaterEqual(labels, 0), raw.Less(labels, count))
    is_near = raw.LessEqual(math_ops.abs(distances), drawn)
    is_wanted = raw.LogicalOr(raw.NotEqual(distances, 0), has_self)
    chosen = raw.LogicalAnd(raw.LogicalAnd(is_inside, is_near), is_wanted)
    places = math_ops.cast(raw.Where(chosen), dtypes.int32)
    own, distance = places[:, 0], places[:, 1] - most
    return raw.GatherV2(tokens, own, 0), raw.GatherV2(tokens, own + distance, 0)


def skip_gram_sample_with_text_vocab(
    input_tensor: Any,
    vocab_freq_file: str,
    vocab_token_index: int = 0,
    vocab_token_dtype: Any = dtypes.string,
    vocab_freq_index: int = 1,
    vocab_freq_dtype: Any = dtypes.float64,
    vocab_delimiter: str = ",",
    vocab_min_count: Any = 0,
    vocab_subsampling: float | None = None,
    corpus_size: Any = None,
    min_skips: Any = 1,
    max_skips: Any = 5,
    start: Any = 0,
    limit: Any = -1,
    emit_self_as_target: Any = False,
    batch_size: int | None = None,
    batch_capacity: int | None = None,
    seed: int | None = None,
    name: str | None = None,
) -> _Pairs:
    """Return what `skip_gram_sample` returns, with the vocabulary of a file.

    A line of the file has columns between delimiters: one for the token, and one for its number in
    the corpus. The default for `corpus_size` is the sum of the numbers.

    Raises:
        ValueError: the columns are the same, or a line lacks one, or a number is negative, or
            `corpus_size` is below the sum.
    """
    if vocab_token_index < 0 or vocab_freq_index < 0:
        raise ValueError(
            f"vocab_token_index={vocab_token_index} and vocab_freq_index={vocab_freq_index} must "
            "both be >= 0."
        )
    if vocab_token_index == vocab_freq_index:
        raise ValueError(
            "vocab_token_index and vocab_freq_index should be different, but are both "
            f"{vocab_token_index}."
        )
    columns = (vocab_token_index, vocab_freq_index)
    counts = _counts(vocab_freq_file, vocab_delimiter, columns, dtypes.as_dtype(vocab_freq_dtype))
    total = sum(counts)
    if corpus_size and total - corpus_size > 1e-6:
        raise ValueError(
            f"`corpus_size`={corpus_size} must be greater than or equal to the sum of all the "
            f"frequency counts ({total}) of `vocab_freq_file` ({vocab_freq_file})."
        )
    initializer = lookup.TextFileInitializer(
        vocab_freq_file, vocab_token_dtype, vocab_token_index, vocab_freq_dtype, vocab_freq_index,
        len(counts), vocab_delimiter,
    )  # fmt: skip
    return skip_gram_sample(
        input_tensor, min_skips, max_skips, start, limit, emit_self_as_target,
        lookup_tables.HashTable(initializer, -1), vocab_min_count, vocab_subsampling,
        None if vocab_subsampling is None else corpus_size or total, batch_size, batch_capacity,
        seed, name,
    )  # fmt: skip


def _counts(file: str, delimiter: str, columns: tuple[int, int], kind: dtypes.DType) -> list[float]:
    """Return the numbers of the tokens in a file."""
    found = []
    with gfile.GFile(file, mode="r") as lines:
        for row in csv.reader(lines, delimiter=delimiter):
            if max(columns) >= len(row):
                raise ValueError(
                    f"Row in vocab file only has {len(row)} columns, so vocab_token_index="
                    f"{columns[0]} or vocab_freq_index={columns[1]} is out of bounds. Row content: "
                    f"{row}"
                )
            count = kind.as_numpy_dtype(row[columns[1]])
            if count < 0:
                raise ValueError(
                    f"Row in vocab file has negative frequency of {count}. Row content: {row}"
                )
            found.append(count)
    return found
