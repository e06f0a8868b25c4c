"""`tf.strings.ngrams` (python/ops/ragged/ragged_string_ops.py)."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from capstan.api import array_ops
from capstan.api.ragged import tensor
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework.raw import raw


def ngrams(
    data: Any, ngram_width: int | Sequence[int], separator: str = " ", pad_values: Any = None,
    padding_width: int | None = None, preserve_short_sequences: bool = False,
    name: str | None = None,
) -> Any:  # fmt: skip
    """Return the n-grams of each row of strings: neighbours on the last axis, joined.

    For `data` [..., s], the result is a tensor [..., n]. For a RaggedTensor, it is ragged. If
    `ngram_width` is a sequence, the n-grams of its first width come first. `pad_values` is a
    string, or one for the left and one for the right. By default, `ngram_width` - 1 of them are
    added at each end of a row, and never more. With `preserve_short_sequences`, a row that is too
    short gives one n-gram of all its strings.

    Raises:
        TypeError: `pad_values` is neither a string nor a pair of strings.
        ValueError: a width is not positive, `padding_width` is given without `pad_values`, or
            `data` is a scalar or has an unknown rank.
    """
    left, right = _pads(pad_values)
    if padding_width is not None and padding_width < 1:
        raise ValueError("padding_width must be greater than 0.")
    if padding_width is not None and pad_values is None:
        raise ValueError("pad_values must be provided if padding_width is set.")
    widths = [ngram_width] if isinstance(ngram_width, int) else list(ngram_width)
    if any(width < 1 for width in widths):
        raise ValueError(f"All ngram_widths must be greater than 0. Got {ngram_width}")
    if padding_width is None:
        padding_width = 0 if pad_values is None else -1

    def joined(values: Any, splits: Any) -> Any:
        return raw.StringNGrams(
            values, splits, separator=separator, ngram_widths=widths, left_pad=left,
            right_pad=right, pad_width=padding_width,
            preserve_short_sequences=preserve_short_sequences,
        )  # fmt: skip

    with scoped(name, "StringNGrams", (data,)):
        data = tensor.converted(data, dtypes.string, name="data")
        if tensor.is_ragged(data):
            return _of_ragged(data, joined)
        rank = data.shape.ndims
        if not rank:
            raise ValueError(
                "Rank of data must be known." if rank is None else "Data must have rank>0"
            )
        sizes = array_ops.shape(data, out_type=dtypes.int64)
        size, count = sizes[-1], raw.Prod(sizes[:-1], np.array([0], np.int32))
        ends = raw.Mul(raw.Range(np.int64(0), count + 1, np.int64(1)), size)
        found, _ = joined(raw.Reshape(data, [-1]), ends)
        result = raw.Reshape(found, raw.ConcatV2([sizes[:-1], np.array([-1])], 0))
        result.set_shape([*data.shape.as_list()[:-1], None])
        return result


def _of_ragged(data: Any, joined: Callable[[Any, Any], Any]) -> Any:
    if data.ragged_rank > 1:
        return data.with_values(_of_ragged(data.values, joined))
    found, ends = joined(data.values, data.row_splits)
    return tensor.rows_of(found, ends)


def _pads(pad_values: Any) -> tuple[Any, Any]:
    if pad_values is None:
        return "", ""
    pads = pad_values if isinstance(pad_values, list | tuple) else (pad_values, pad_values)
    if not all(isinstance(pad, str | bytes) for pad in pads[:2]):
        raise TypeError("pad_values must be a string, tuple of strings, or None.")
    return pads[0], pads[1]
