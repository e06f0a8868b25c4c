"""Ops that split, join and change strings (python/ops/string_ops.py)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.api import deprecation, plain
from capstan.api.ragged import tensor
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert, sparse_tensor
from capstan.framework.raw import raw

__all__ = [
    "as_string", "reduce_join", "regex_replace", "string_join", "string_length", "string_split",
    "string_strip", "string_to_hash_bucket", "string_to_hash_bucket_fast",
    "string_to_hash_bucket_strong", "substr",
]  # fmt: skip

string_strip = plain.function(
    "string_strip", "StringStrip", "Return strings without the white space at both ends."
)


def lower(input: Any, encoding: str = "", name: str | None = None) -> Any:
    """Return strings in lower case. Without the encoding utf-8, only ASCII letters change."""
    return raw.StringLower(input, encoding=encoding, name=name)


def upper(input: Any, encoding: str = "", name: str | None = None) -> Any:
    """Return strings in upper case. Without the encoding utf-8, only ASCII letters change."""
    return raw.StringUpper(input, encoding=encoding, name=name)


def string_split(
    source: Any = None,
    sep: Any = None,
    skip_empty: bool = True,
    delimiter: Any = None,
    result_type: str = "SparseTensor",
    name: str | None = None,
) -> Any:
    """Return the parts of each string of a vector, with a row for each string.

    Each byte of `sep`, by default a space, separates. With an empty `sep`, every byte is a part.
    `skip_empty` drops empty parts. `delimiter` is another name of `sep`. `result_type` is
    `SparseTensor` or `RaggedTensor`.

    Raises:
        ValueError: `result_type` is another one.
    """
    separator = sep if delimiter is None else delimiter
    _check_result_type(result_type)
    with scoped(name, "StringSplit", (source,)):
        separator = " " if separator is None else separator
        parts = raw.StringSplit(source, separator, skip_empty=skip_empty)
        return _sparse(parts) if result_type == "SparseTensor" else _rows(parts)


def strings_split(
    input: Any = None,
    sep: Any = None,
    maxsplit: int = -1,
    result_type: str = "SparseTensor",
    source: Any = None,
    name: str | None = None,
) -> Any:
    """Return the parts of each string, with one more axis than `input`, which may be ragged.

    This is `tf.strings.split`. Without `sep`, white space of any length separates. With `sep`,
    each occurrence of the whole string `sep` separates, so parts may be empty. A `maxsplit` that
    is not negative limits the separations of each string. A tensor of unknown rank must be a
    vector. `source` is another name of `input`. `result_type` is `SparseTensor` or `RaggedTensor`.
    The parts of a single string are a vector, for `RaggedTensor`.

    Raises:
        ValueError: `input` is a scalar and `result_type` is `SparseTensor`, or `result_type` is
            another one.
    """
    _check_result_type(result_type)
    given = deprecation.deprecated_argument_lookup("input", input, "source", source)
    with scoped(name, "StringSplit", (given,)):
        strings = tensor.converted(given, dtypes.string, name="input")
        separator = "" if sep is None else sep
        if result_type == "RaggedTensor":
            return _split(strings, separator, maxsplit)
        rank = strings.shape.ndims
        if rank == 0:
            raise ValueError("input must have at least one axis. Pass [input] to split one string.")
        if rank in (None, 1):
            return _sparse(raw.StringSplitV2(strings, separator, maxsplit=maxsplit))
        return _split(strings, separator, maxsplit).to_sparse()


def string_split_v2(
    input: Any, sep: Any = None, maxsplit: int = -1, name: str | None = None
) -> Any:
    """Return the parts of each string as a RaggedTensor, as `strings_split` does.

    In TensorFlow 1, it is only in `python.ops.ragged.ragged_string_ops`.
    """
    return strings_split(input, sep, maxsplit, "RaggedTensor", name=name)


def _check_result_type(result_type: str) -> None:
    if result_type not in ("RaggedTensor", "SparseTensor"):
        raise ValueError("result_type must be 'RaggedTensor' or 'SparseTensor'.")


def _split(strings: Any, sep: Any, maxsplit: int) -> Any:
    if tensor.is_ragged(strings):
        return strings.with_flat_values(_split(strings.flat_values, sep, maxsplit))
    rank = strings.shape.ndims
    if rank == 0:
        return _split(raw.Pack([strings]), sep, maxsplit)[0]
    if rank in (None, 1):
        return _rows(raw.StringSplitV2(strings, sep, maxsplit=maxsplit))
    return _split(tensor.RaggedTensor.from_tensor(strings), sep, maxsplit)


def _sparse(parts: Any) -> sparse_tensor.SparseTensor:
    return sparse_tensor.SparseTensor(parts.indices, parts.values, parts.shape)


def _rows(parts: Any) -> Any:
    """Return the parts of the strings of a vector as rows."""
    return tensor.RaggedTensor.from_value_rowids(
        parts.values, parts.indices[:, 0], parts.shape[0], validate=False
    )


def substr(input: Any, pos: Any, len: Any, name: str | None = None, unit: str = "BYTE") -> Any:
    """Return the part of each string that begins at `pos` and has up to `len` units.

    A negative `pos` counts from the end. `unit` is `BYTE` or `UTF8_CHAR`. The step fails with
    InvalidArgumentError if `pos` is not in the string.
    """
    return raw.Substr(input, pos, len, unit=unit, name=name)


def string_length(input: Any, name: str | None = None, unit: str = "BYTE") -> Any:
    """Return the length of each string in `unit`: `BYTE` or `UTF8_CHAR`."""
    return raw.StringLength(input, unit=unit, name=name)


def regex_replace(
    input: Any, pattern: Any, rewrite: Any, replace_global: bool = True, name: str | None = None
) -> Any:
    """Replace the matches of a pattern of RE2 in each string, or only the first match.

    In `rewrite`, `\\1` stands for the first group and `\\0` for the match.
    """
    return raw.RegexReplace(input, pattern, rewrite, replace_global=replace_global, name=name)


def regex_full_match(input: Any, pattern: Any, name: str | None = None) -> Any:
    """Return whether each string matches a pattern of RE2 as a whole."""
    return raw.RegexFullMatch(input, pattern, name=name)


def string_join(inputs: Sequence[Any], separator: str = "", name: str | None = None) -> Any:
    """Join the strings of several tensors of one shape, element by element. Scalars broadcast."""
    return raw.StringJoin(list(inputs), separator=separator, name=name)


def reduce_join(
    inputs: Any,
    axis: Any = None,
    keep_dims: bool | None = None,
    separator: str = "",
    name: str | None = None,
    reduction_indices: Any = None,
    keepdims: bool | None = None,
) -> Any:
    """Join the strings of a tensor along axes, in the order of the axes.

    Without `axis`, join all strings, the last axis first. `reduction_indices` is another name of
    `axis`, and `keep_dims` of `keepdims`.
    """
    strings = convert.convert_to_tensor(inputs, dtypes.string, name="inputs")
    axes = reduction_indices if axis is None else axis
    if axes is None:
        count = strings.shape.ndims
        axes = raw.Rank(strings) if count is None else np.int32(count)
        axes = raw.Range(axes - np.int32(1), np.int32(-1), np.int32(-1))
    keeps = keep_dims if keepdims is None else keepdims
    return raw.ReduceJoin(strings, axes, keep_dims=bool(keeps), separator=separator, name=name)


def unsorted_segment_join(
    inputs: Any,
    segment_ids: Any,
    num_segments: Any,
    separator: str = "",
    name: str | None = None,
) -> Any:
    """Join the strings that have the same id, in the order of the rows of `inputs`.

    The shape of `segment_ids` is a prefix of the shape of `inputs`. The ids are below
    `num_segments` and not negative. A segment without strings is empty.
    """
    return raw.UnsortedSegmentJoin(
        inputs, segment_ids, num_segments, separator=separator, name=name
    )


def string_to_hash_bucket(
    string_tensor: Any = None,
    num_buckets: int | None = None,
    name: str | None = None,
    input: Any = None,
) -> Any:
    """Return the hash of each string modulo `num_buckets`, as int64.

    A new program should use `string_to_hash_bucket_fast`.
    """
    strings = string_tensor if input is None else input
    return raw.StringToHashBucket(strings, num_buckets=num_buckets, name=name)


def string_to_hash_bucket_fast(input: Any, num_buckets: int, name: str | None = None) -> Any:
    """Return the hash of each string modulo `num_buckets`, as int64. The hash is farmhash's."""
    return raw.StringToHashBucketFast(input, num_buckets=num_buckets, name=name)


def string_to_hash_bucket_strong(
    input: Any, num_buckets: int, key: Sequence[int], name: str | None = None
) -> Any:
    """Return the hash of each string modulo `num_buckets`, as int64.

    `key` is a list of two integers. Without the key, nobody can find strings with equal hashes.
    """
    return raw.StringToHashBucketStrong(input, num_buckets=num_buckets, key=list(key), name=name)


def as_string(
    input: Any,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
    name: str | None = None,
) -> Any:
    """Return each element as a string, as C's `printf` writes it with these flags."""
    return raw.AsString(
        input,
        precision=precision,
        scientific=scientific,
        shortest=shortest,
        width=width,
        fill=fill,
        name=name,
    )
